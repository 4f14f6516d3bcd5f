"""How numbers are stored in RGBA8 texels: 8 bits for feature maps, 16-bit fixed point for vectors.

Everything here is plain arithmetic on arrays; the same formulas stand in shaders/fixed_point.glsl.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from glsl_infer.support import blocks
from glsl_infer.support.ndarray import NDArray

if TYPE_CHECKING:
    from glsl_infer.graph import Array

FIXED_LIMIT = 32767 / 256
"""Largest stored value of the 16-bit format, in units of its scale."""

SMALLEST_SCALE = 2.0**-80
"""Of vectors and weights: a shader multiplies it by a row's unit, which has to stay above a 32-bit float's 2**-126."""


def to_bytes(values: Array, scales: Array | float = 1.0, zeros: Array | float = 0.0) -> NDArray[np.uint8]:
    """Return the bytes that a store to RGBA8 leaves: value / scale * 255 + zero, rounded half up, within 0 to 255.

    ``scales`` and ``zeros`` are one number, or one for each entry of the last axis; see ``layout.Range``.
    """
    steps = np.asarray(np.asarray(values, np.float64) / scales)
    steps *= 255.0  # in place where it can be: new arrays took a good part of the exact reference's time
    steps = np.asarray(steps + zeros)
    # The nudge decides ties that float64 itself has missed by its last bit: averages of bytes have many.
    steps += 0.5 + 1e-9
    return np.clip(np.floor(steps, out=steps), 0.0, 255.0, out=steps).astype(np.uint8)


def store8(values: Array, scales: Array | float = 1.0, zeros: Array | float = 0.0) -> NDArray[np.float64]:
    """Round values to those that a byte can hold; see ``to_bytes``."""
    bytes_ = to_bytes(values, scales, zeros).astype(np.float64)
    stored: NDArray[np.float64] = np.asarray(scales, np.float64) * (bytes_ - np.asarray(zeros, np.float64)) / 255.0
    return stored


FINE_LIMIT = 255 * 256
"""The largest integer of a feature map in 16 bits: its high byte is that of the same map in 8."""


def to_fine(values: Array, scales: Array | float = 1.0, zeros: Array | float = 0.0) -> NDArray[np.int64]:
    """Return the integers n of a feature map in 16 bits, 0 to ``FINE_LIMIT``: ``to_bytes`` in steps of 1/256."""
    steps = (np.asarray(values, np.float64) / scales * 255.0 + zeros) * 256.0
    return np.clip(np.floor(steps + (0.5 + 1e-9)), 0, FINE_LIMIT).astype(np.int64)


def store_map(
    values: Array, scales: Array | float = 1.0, zeros: Array | float = 0.0, bits: int = 8
) -> NDArray[np.float64]:
    """Round values to those that a feature map of 8 or 16 bits can hold."""
    return blocks.entrywise(lambda part: _store_map(part, scales, zeros, bits), np.asarray(values), np.float64)


def _store_map(values: Array, scales: Array | float, zeros: Array | float, bits: int) -> NDArray[np.float64]:
    if bits == 8:
        return store8(values, scales, zeros)
    integers = to_fine(values, scales, zeros).astype(np.float64)
    return np.asarray(np.asarray(scales, np.float64) * (integers / 256.0 - np.asarray(zeros, np.float64)) / 255.0)


def split_fine(integers: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Return the (high, low) bytes of the integers of a feature map in 16 bits, as a new last axis."""
    return np.stack([integers // 256, integers % 256], axis=-1).astype(np.uint8)


def join_fine(pairs: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return the integers whose (high, low) bytes are the last axis; inverse of ``split_fine``."""
    joined: NDArray[np.int64] = 256 * pairs[..., 0].astype(np.int64) + pairs[..., 1]
    return joined


def fixed16(values: Array, scale: float) -> NDArray[np.int64]:
    """Return the integers n = floor(value / scale * 256 + 1/2), saturated to [-32768, 32767]."""
    scaled = np.floor(np.asarray(values, np.float64) / scale * 256.0 + 0.5)
    return np.clip(scaled, -32768, 32767).astype(np.int64)


def store16(values: Array, scale: float) -> NDArray[np.float64]:
    """Round values to the 16-bit fixed-point grid: multiples of scale/256 over [-128, 128) * scale."""

    def stored(part: Array) -> NDArray[np.float64]:
        return fixed16(part, scale).astype(np.float64) * (scale / 256.0)

    return blocks.entrywise(stored, np.asarray(values), np.float64)


def split_fixed16(integers: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Return the (high, low) bytes of 16-bit integers, as a new last axis: high is floor(n / 256) + 128."""
    high = integers // 256
    return np.stack([high + 128, integers - 256 * high], axis=-1).astype(np.uint8)


def join_fixed16(pairs: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return the integers whose (high, low) bytes are the last axis; inverse of ``split_fixed16``."""
    high, low = pairs[..., 0].astype(np.int64), pairs[..., 1].astype(np.int64)
    joined: NDArray[np.int64] = (high - 128) * 256 + low
    return joined


def power_of_two_scale(bound: float) -> float:
    """Return the smallest power of two ``s`` with bound / s <= 32767/256, ``SMALLEST_SCALE`` at least; 2**-20 of 0."""
    if bound <= 0:
        return 2.0**-20
    return max(2.0 ** math.ceil(math.log2(bound / FIXED_LIMIT)), SMALLEST_SCALE)


def plain(value: Any) -> Any:
    """Return NumPy scalars, tuples and arrays as the plain numbers and lists that JSON holds."""
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, np.generic):
        return value.item()
    return value
