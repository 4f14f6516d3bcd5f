"""Arrays of NumPy in files, *.npy and *.npz: never pickled objects, and never more than a machine may hold."""

from __future__ import annotations

import math
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from glsl_infer.errors import InputError
from glsl_infer.support.files import reading
from glsl_infer.support.ndarray import NDArray

MOST_BYTES = 4 << 30
"""Bytes that the arrays of a file may unpack to: a packed file of 4 MB can hold zeros for gigabytes."""


def load_array(path: Path) -> NDArray[Any]:
    """Return the array of an *.npy file.

    Raises:
        InputError: it is no regular file.
        OSError, ValueError, EOFError: it cannot be read, or is damaged.
    """
    with reading(path) as file:
        array: NDArray[Any] = np.load(file, allow_pickle=False)
        return array


def in_shape(array: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """Return an array in a shape that differs from its own by axes of 1, or that folds a line (length, channels).

    Any other array is returned as it is.
    """
    own, wanted, line = (
        [size for size in sizes if size != 1] for sizes in (array.shape, shape, (math.prod(shape[:-1]), *shape[-1:]))
    )
    return array.reshape(shape) if own in (wanted, line) else array


def load_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Return all arrays of an *.npz file, by name.

    Raises:
        InputError: it cannot be read, is damaged, or unpacks to more than ``MOST_BYTES``.
    """
    try:
        with reading(path) as file:
            with zipfile.ZipFile(file) as archive:
                unpacked = sum(member.file_size for member in archive.infolist())
            if unpacked > MOST_BYTES:
                raise InputError(f"{path}: its arrays have {unpacked:,} bytes; at most {MOST_BYTES:,} are read")
            file.seek(0)
            with np.load(file, allow_pickle=False) as arrays:
                return dict(arrays)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from None
    except (InputError, MemoryError):
        raise
    except Exception as error:  # a damaged zip has a dozen ways to fail
        raise InputError(f"{path}: no *.npz file of NumPy ({error}); write it with numpy.savez") from None
