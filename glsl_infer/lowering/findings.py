"""Arrays derived from calibration images, which a file can keep so that a later export needs no images."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = tuple[NDArray[Any], ...]
Findings = Mapping[str, Arrays]
"""By the name of a layer and of the result, such as ``conv1 rounded``."""


def small(integers: NDArray[np.int64]) -> NDArray[Any]:
    """Return integers from -32768 to 32767 as int8 if they fit, else as int16."""
    return integers.astype(np.int8 if np.abs(integers).max(initial=0) < 128 else np.int16)


def mark(integers: NDArray[np.int64]) -> NDArray[np.uint32]:
    """Return a checksum (1,) of integers, stored with results that are valid only for these integers."""
    return np.array([zlib.crc32(np.ascontiguousarray(integers, "<i8").tobytes())], np.uint32)


TYPES = ("|i1", "<i2", "<u4", "<f4", "<f8")
"""Types of the stored arrays."""
