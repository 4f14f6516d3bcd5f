"""Read NumPy arrays from ``*.npy`` and ``*.npz`` files.

Pickled objects are refused, because they can execute code. So are archives larger than ``MOST_BYTES`` when unpacked.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from glsl_infer.errors import InputError
from glsl_infer.support.files import reading
from glsl_infer.support.ndarray import NDArray

MOST_BYTES = 4 << 30
"""Largest unpacked size of an archive, in bytes. A compressed file of 4 MB can expand to gigabytes of zeros."""


def load_array(path: Path) -> NDArray[Any]:
    """Load the array of an ``*.npy`` file.

    Raises:
        InputError: the path is not a regular file.
        OSError, ValueError, EOFError: the file cannot be read, or is damaged.
    """
    with reading(path) as file:
        array: NDArray[Any] = np.load(file, allow_pickle=False)
        return array


def in_shape(array: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """Reshape an array if its shape differs from ``shape`` by axes of size 1, or is (pixels, channels) of ``shape``.

    Any other array is returned unchanged.
    """
    sides, target, as_pixels = (
        [size for size in sizes if size != 1] for sizes in (array.shape, shape, (math.prod(shape[:-1]), *shape[-1:]))
    )
    return array.reshape(shape) if sides in (target, as_pixels) else array


def from_file(array: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """Return an array of a file as ``in_shape`` does. The channels can be the first axis, as in ONNX, or the last."""
    result = in_shape(array, shape)
    sides, target = ([size for size in sizes if size != 1] for sizes in (array.shape, shape))
    if result.shape == shape or shape[-1] == 1 or sides != [target[-1], *target[:-1]]:
        return result
    return np.moveaxis(array.reshape(sides), 0, -1).reshape(shape)


def load_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Load all arrays of an ``*.npz`` file, by name.

    Raises:
        InputError: the file cannot be read, is damaged, or unpacks to more than ``MOST_BYTES``.
    """
    try:
        with reading(path) as file:
            import zipfile

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
    except Exception as error:  # zipfile and NumPy raise a dozen types for damaged archives
        raise InputError(f"{path}: no *.npz file of NumPy ({error}); write it with numpy.savez") from None
