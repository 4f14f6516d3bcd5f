"""Encoding of values in RGBA8 texels: 8 bits for feature maps, 16-bit fixed point for vectors.

All functions are plain array arithmetic. shaders/fixed_point.glsl has the same formulas.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from glsl_infer.support import blocks
from glsl_infer.support.ndarray import NDArray

if TYPE_CHECKING:
    from glsl_infer.graph import Array

FIXED_LIMIT = 32767 / 256
"""Largest value of the 16-bit format, in units of its scale."""

SMALLEST_SCALE = 2.0**-80
"""Smallest scale of vectors and weights. A shader multiplies it by the scale of a row, and the product must stay above
2**-126, the smallest normal float."""


def encode_8_bits(values: Array, scales: Array | float = 1.0, zeros: Array | float = 0.0) -> NDArray[np.uint8]:
    """Return the bytes stored in RGBA8: value / scale * 255 + zero, rounded half up and clipped to 0 to 255.

    ``scales`` and ``zeros`` are scalars, or have one element for each entry of the last axis; ``layout.Range`` defines
    them.
    """
    steps = np.asarray(np.asarray(values, np.float64) / scales)
    steps *= 255.0  # in place: allocating arrays took a large part of the exact reference's time
    steps = np.asarray(steps + zeros)
    # 1e-9 corrects ties that rounding in float64 moved below one half; averages of bytes have many.
    steps += 0.5 + 1e-9
    return np.clip(np.floor(steps, out=steps), 0.0, 255.0, out=steps).astype(np.uint8)


def round_to_8_bits(values: Array, scales: Array | float = 1.0, zeros: Array | float = 0.0) -> NDArray[np.float64]:
    """Round values to those that a byte can encode, as ``encode_8_bits``."""
    bytes_ = encode_8_bits(values, scales, zeros).astype(np.float64)
    stored: NDArray[np.float64] = np.asarray(scales, np.float64) * (bytes_ - np.asarray(zeros, np.float64)) / 255.0
    return stored


LIMIT_16_BITS = 255 * 256
"""Largest integer of a 16-bit feature map. Its high byte is the byte of the 8-bit map."""


def encode_16_bits(values: Array, scales: Array | float = 1.0, zeros: Array | float = 0.0) -> NDArray[np.int64]:
    """Return the integers n of a 16-bit feature map, 0 to ``LIMIT_16_BITS``: ``encode_8_bits`` with steps of 1/256."""
    steps = (np.asarray(values, np.float64) / scales * 255.0 + zeros) * 256.0
    return np.clip(np.floor(steps + (0.5 + 1e-9)), 0, LIMIT_16_BITS).astype(np.int64)


def round_to_map(
    values: Array, scales: Array | float = 1.0, zeros: Array | float = 0.0, bits: int = 8
) -> NDArray[np.float64]:
    """Round values to those that a feature map of 8 or 16 bits can encode."""
    return blocks.entrywise(lambda block: _round_to_map(block, scales, zeros, bits), np.asarray(values), np.float64)


def _round_to_map(values: Array, scales: Array | float, zeros: Array | float, bits: int) -> NDArray[np.float64]:
    if bits == 8:
        return round_to_8_bits(values, scales, zeros)
    integers = encode_16_bits(values, scales, zeros).astype(np.float64)
    return np.asarray(np.asarray(scales, np.float64) * (integers / 256.0 - np.asarray(zeros, np.float64)) / 255.0)


def split_16_bits(integers: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Return the (high, low) bytes of the integers of a 16-bit feature map, as a new last axis."""
    return np.stack([integers // 256, integers % 256], axis=-1).astype(np.uint8)


def join_16_bits(pairs: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return the integers with these (high, low) bytes on the last axis; inverse of ``split_16_bits``."""
    integers: NDArray[np.int64] = 256 * pairs[..., 0].astype(np.int64) + pairs[..., 1]
    return integers


def encode_fixed16(values: Array, scale: float) -> NDArray[np.int64]:
    """Return the integers n = floor(value / scale * 256 + 1/2), saturated to [-32768, 32767]."""
    scaled = np.floor(np.asarray(values, np.float64) / scale * 256.0 + 0.5)
    return np.clip(scaled, -32768, 32767).astype(np.int64)


def round_to_fixed16(values: Array, scale: float) -> NDArray[np.float64]:
    """Round values to 16-bit fixed point: multiples of scale/256 in [-128, 128) * scale."""

    def stored(block: Array) -> NDArray[np.float64]:
        return encode_fixed16(block, scale).astype(np.float64) * (scale / 256.0)

    return blocks.entrywise(stored, np.asarray(values), np.float64)


def split_fixed16(integers: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Return the (high, low) bytes of 16-bit integers, as a new last axis; high is floor(n / 256) + 128."""
    high = integers // 256
    return np.stack([high + 128, integers - 256 * high], axis=-1).astype(np.uint8)


def join_fixed16(pairs: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return the integers with these (high, low) bytes on the last axis; inverse of ``split_fixed16``."""
    high, low = pairs[..., 0].astype(np.int64), pairs[..., 1].astype(np.int64)
    integers: NDArray[np.int64] = (high - 128) * 256 + low
    return integers


def power_of_two_scale(bound: float) -> float:
    """Return the smallest power of two ``s`` with bound / s <= 32767/256, at least ``SMALLEST_SCALE``; 2**-20 for 0."""
    if bound <= 0:
        return 2.0**-20
    return max(2.0 ** math.ceil(math.log2(bound / FIXED_LIMIT)), SMALLEST_SCALE)
