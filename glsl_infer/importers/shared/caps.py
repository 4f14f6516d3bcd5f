"""What a model file may take of the machine, looked at before anything is unpacked; and what its numbers may be.

A packed file of some megabytes can hold gigabytes, and a few words of a config ask for any number of weights. Every
importer calls these functions with what it knows of sizes before it reads or makes the numbers.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from glsl_infer.errors import InputError, ModelError

DEFAULT_MB = 2000
VARIABLE = "GLSL_INFER_MAX_WEIGHTS"
"""The environment variable with another cap, in MB: ``--max-weights`` sets it, for processes that a command starts."""

MOST_OPERATORS = 16_384
"""Of a file. Each is looked at dozens of times before it is known how many layers are left; more than eight times as
many as a model may have are not looked at."""

MOST_MB = 1_000_000
_MOST_MEMBERS = 10_000


def most_bytes() -> int:
    """Return how many bytes the weights of a model may take in all.

    Raises:
        InputError: the environment variable holds no such number.
    """
    given = os.environ.get(VARIABLE, str(DEFAULT_MB))
    if not given.isdecimal() or not 0 < int(given) <= MOST_MB:
        raise InputError(f"{VARIABLE}={given}; give megabytes, from 1 to {MOST_MB}")
    return int(given) * 1_000_000


class Weights:
    """Counts the bytes of a model's weights, and stops where they are more than is allowed.

    Args:
        source: the file or the model, for the message.
    """

    def __init__(self, source: object) -> None:
        self._source, self._most, self._bytes = source, most_bytes(), 0

    def add(self, count: int, what: str = "") -> None:
        """Count some more bytes, before they are read or made.

        Args:
            count: how many.
            what: whose they are, a layer's or a member's name.

        Raises:
            ModelError: all together are too many.
        """
        self._bytes += count
        if self._bytes > self._most:
            where = f", at '{what}'" if what else ""
            raise ModelError(
                f"{self._source}: its weights take more than {self._most // 1_000_000:,} MB{where}; --max-weights MB "
                "allows more, on a machine that has it"
            )


def check_zip(source: object, members: Sequence[zipfile.ZipInfo]) -> None:
    """Refuse a zip file whose directory says that it unpacks to more than weights may take, or names a member twice.

    Raises:
        ModelError: it does.
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
    """Refuse weights that are no finite numbers: everything behind them would be none either.

    Args:
        layer: its name.
        weights: by name. Infinite numbers in a ``constant`` mask what a softmax leaves out.

    Raises:
        ModelError: by the layer's name.
    """
    for name, numbers in weights.items():
        values = np.asarray(numbers)
        if values.dtype.kind != "f" or np.isfinite(values).all():
            continue
        nan, without_end = int(np.isnan(values).sum()), int(np.isinf(values).sum())
        if nan or (without_end and name != "constant"):
            raise ModelError.layer(
                layer,
                f"weights '{name}' of which {nan} of {values.size} are NaN and {without_end} are infinite",
                "train it again, or save it from before that happened",
            )
