"""What was found with typical pictures, as arrays that a file can keep, so that others need no pictures."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = tuple[NDArray[Any], ...]
Findings = Mapping[str, Arrays]
"""By the layer's name, and what it is of it."""


def small(numbers: NDArray[np.int64]) -> NDArray[Any]:
    """Return integers from -32768 to 32767 in as few bytes as hold them."""
    return numbers.astype(np.int8 if np.abs(numbers).max(initial=0) < 128 else np.int16)


def mark(numbers: NDArray[np.int64]) -> NDArray[np.uint32]:
    """Return a number (1,) that is another for other integers: what was found for them alone says so by it."""
    return np.array([zlib.crc32(np.ascontiguousarray(numbers, "<i8").tobytes())], np.uint32)


TYPES = ("|i1", "<i2", "<u4", "<f4", "<f8")
"""Types of numbers that are kept."""
