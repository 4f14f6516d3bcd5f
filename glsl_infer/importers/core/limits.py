"""Limits of memory for a model file, checked before anything is unpacked, and the check for finite weights.

A compressed file of a few megabytes can unpack to gigabytes, and a short config can request any number of weights.
Every importer calls these functions with the sizes in the file, before it reads or creates the arrays.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from glsl_infer.errors import InputError, ModelError
from glsl_infer.support.files import not_a_file

DEFAULT_MB = 2000
VARIABLE = "GLSL_INFER_MAX_WEIGHTS"
"""The environment variable with another limit, in MB. ``--max-weights`` sets it for child processes of a command."""

MOST_OPERATORS = 16_384
"""Largest number of operators in a file. The importer visits each operator dozens of times before the number of layers
is determined. The limit is eight times the largest number of layers of a model."""

MOST_MB = 1_000_000
_MOST_MEMBERS = 10_000


def most_bytes() -> int:
    """Return the largest number of bytes for all weights of a model.

    Raises:
        InputError: the environment variable does not have a valid number.
    """
    megabytes = os.environ.get(VARIABLE, str(DEFAULT_MB))
    if not megabytes.isdecimal() or not 0 < int(megabytes) <= MOST_MB:
        raise InputError(f"{VARIABLE}={megabytes}; give megabytes, from 1 to {MOST_MB}")
    return int(megabytes) * 1_000_000


class Weights:
    """Counter of the bytes of a model's weights, with a limit.

    Args:
        source: the file or the model, for the message.
    """

    def __init__(self, source: object) -> None:
        self._source, self._most, self._bytes = source, most_bytes(), 0

    def add(self, count: int, what: str = "") -> None:
        """Count more bytes, before they are read or created.

        Args:
            count: the number of bytes.
            what: name of the layer or the member, for the message.

        Raises:
            ModelError: the sum is over the limit.
        """
        self._bytes += count
        if self._bytes > self._most:
            where = f", at '{what}'" if what else ""
            raise ModelError(
                f"{self._source}: its weights take more than {self._most // 1_000_000:,} MB{where}; --max-weights MB "
                "allows more, on a machine that has it"
            )


def check_zip(source: object, members: Sequence[zipfile.ZipInfo]) -> None:
    """Refuse a ZIP file that would unpack to more bytes than weights may take, or has a member twice.

    Raises:
        ModelError: the file is refused.
    """
    if len(members) > _MOST_MEMBERS:
        raise ModelError(f"{source}: has {len(members):,} members; at most {_MOST_MEMBERS:,} are looked at")
    names = [member.filename for member in members]
    if len(set(names)) < len(names):
        raise ModelError(f"{source}: has a member twice, so that readers may differ in which they take; save it again")
    weights = Weights(source)
    for member in members:
        weights.add(member.file_size, member.filename)


def check_finite(layer: str, weights: Mapping[str, NDArray[np.generic]]) -> None:
    """Refuse weights with values that are not finite: the values of every later layer would not be finite either.

    Args:
        layer: its name.
        weights: by name. Infinite values in ``constant`` are allowed: they mask entries of a softmax.

    Raises:
        ModelError: some weights are not finite. The message names the layer.
    """
    for name, weight in weights.items():
        values = np.asarray(weight)
        if values.dtype.kind != "f" or np.isfinite(values).all():
            continue
        nan, without_end = int(np.isnan(values).sum()), int(np.isinf(values).sum())
        if nan or (without_end and name != "constant"):
            raise ModelError.layer(
                layer,
                f"weights '{name}' of which {nan} of {values.size} are NaN and {without_end} are infinite",
                "train it again, or save it from before that happened",
            )


def read_bytes(path: Path, suffix: str, largest: int) -> bytes:
    """Return all bytes of a file.

    Args:
        path: of the file.
        suffix: extension of such files, for messages, such as ``.onnx``.
        largest: largest size in bytes.

    Raises:
        ModelError: the file is missing, is not a regular file, is too large, or cannot be read.
    """
    try:
        if kind := not_a_file(path):
            raise ModelError(f"{path}: is {kind}, no {suffix} file")
        if path.stat().st_size > largest:
            raise ModelError(f"{path}: has {path.stat().st_size} bytes; at most {largest} are read")
        return path.read_bytes()
    except FileNotFoundError:
        raise ModelError(f"{path}: no such file") from None
    except OSError as error:
        raise ModelError(f"{path}: cannot be read ({error.strerror})") from None
