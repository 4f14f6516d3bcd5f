"""Weights in a texture with a row for every two output channels, for layers with 16-bit outputs.

A 16-bit slice has two draws of two channels. With a row for each draw, a draw does not multiply the weights of the
other one. The upper half of the texture has the rows of channels 0 and 1 of each slice, the lower half those of
channels 2 and 3.

A texel has the weights of two columns that multiply lanes of the same texel: (first, second channel, first, second
channel). If a tap has three columns, the last one is paired with 0. With 16 bits, each texel is followed by one with
the low bytes. Then two texels each have the bias (first bytes, second bytes; third bytes, scales), the residual's
factor if any, and each per-channel constant (first bytes, second bytes; third bytes, unused). Three-byte constants are
encoded as in ``weight_bytes``, and

    scale = byte * units[0]     weight = (high - 128 + low / 256) * scale     bias = n * units[1] * scale
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from glsl_infer.lowering.conv_columns import Columns
from glsl_infer.lowering.taps import Product
from glsl_infer.lowering.weight_bytes import (
    Integers,
    WeightBytes,
    constants_of,
    encode_int24s,
    join_int24,
    scales_of,
    split_int24,
)
from glsl_infer.lowering.weight_texture import Constants, numbers_of
from glsl_infer.program.layout import MAX_TEXTURE_SIZE

TEXELS_PER_CONSTANT = 2
"""Texels of the bias with its scale, of the factor, and of another constant."""

_WEIGHT_ZERO = 128 * 256
"""Both bytes of a weight of 0."""

_WEIGHT_MAX = 127 * 256 + 255
"""Largest integer of a weight."""

_LANES = (slice(0, 2), slice(2, 4))


@dataclass(frozen=True)
class WeightPairs:
    """A texture of weights in rows of two channels.

    Attributes:
        bits: of a weight, 8 or 16.
        integers: as in ``WeightBytes.integers``, with weights in 1/256 of their scale.
        has_factor: whether the residual has a factor.
        units: float32 (5,) or (9,): as in ``WeightTexture``, followed by the bits of a weight, which identify this
            format.
        texels: uint8 (2 * slices, width, 4).
    """

    bits: int
    integers: tuple[Integers, Integers, tuple[Integers, ...]]
    has_factor: bool
    units: NDArray[np.float32]
    texels: NDArray[np.uint8]

    template = "convolution_pairs.frag"

    @property
    def high_bytes(self) -> NDArray[np.uint8]:
        """High bytes of the weights and three columns of biases, (slices, columns + 3, 4), as in ``WeightBytes``."""
        integers, _, (bias, *_) = self.integers
        return np.concatenate([(integers + _WEIGHT_ZERO) >> 8, np.stack(split_int24(bias), axis=1)], axis=1).astype(
            np.uint8
        )

    def unpack(self) -> Constants:
        """Decode the constants."""
        integers, scales, int24s = self.integers
        return constants_of(integers / 256.0, scales, int24s, self.units, has_factor=self.has_factor)


def pairs_of(products: Sequence[Product]) -> list[Sequence[Product]]:
    """Return the products of a tap in pairs, one for each texel of weights; the last can be single."""
    return [products[first : first + 2] for first in range(0, len(products), 2)]


def texels_of(columns: Columns) -> int:
    """Return the number of texels of a row's weights with 8 bits."""
    return sum(len(pairs_of(products)) for *_, products in columns.taps(range(columns.slots)))


def fits(columns: Columns) -> bool:
    """Return whether a layer can have such a texture."""
    return not columns.depthwise and 2 * columns.slices <= MAX_TEXTURE_SIZE


def of_bytes(weights: WeightBytes, columns: Columns) -> WeightPairs:
    """Convert a texture with a row for each slice."""
    integers, scales, int24s = weights.integers
    return _encode(8, columns, (256 * integers, scales, int24s), weights.units, has_factor=weights.has_factor)


def of_constants(constants: Constants, columns: Columns) -> WeightPairs:
    """Return the nearest texture with 16-bit weights."""
    weights, bias = (array.astype(np.float64) for array in (constants.weights, constants.bias))
    scales, units = scales_of(weights, bias, len(constants.numbers), _WEIGHT_MAX / 256.0)
    steps = scales * float(units[0])
    integers = np.clip(np.rint(weights / steps[:, None] * 256.0), -_WEIGHT_MAX, _WEIGHT_MAX).astype(np.int64)
    int24s, units = encode_int24s(bias / steps, constants, units)
    return _encode(16, columns, (integers, scales, int24s), units, has_factor=constants.factor is not None)


def read(texels: bytes, units: bytes, columns: Columns) -> WeightPairs | None:
    """Decode a texture from its two members of a bundle; None if its units belong to another format.

    Raises:
        ValueError: the size of the texture does not fit its units.
    """
    units_array = np.frombuffer(units, "<f4")
    if len(units_array) not in (5, 9):
        return None
    bits, count, numbers = int(units_array[-1]), texels_of(columns), numbers_of(units_array[:-1])
    width = len(texels) // (8 * columns.slices)
    constant_texels = width - count * bits // 8 - TEXELS_PER_CONSTANT * (1 + numbers)
    if (
        bits not in (8, 16)
        or constant_texels not in (0, TEXELS_PER_CONSTANT)
        or len(texels) != 8 * columns.slices * width
    ):
        raise ValueError(f"a texture of weights in pairs has {len(texels)} bytes")
    rows = np.frombuffer(texels, np.uint8).reshape(-1, width, 4)
    return WeightPairs(bits, _decode(bits, rows, columns), bool(constant_texels), units_array, rows)


def _encode(
    bits: int,
    columns: Columns,
    integers: tuple[Integers, Integers, tuple[Integers, ...]],
    units: NDArray[np.float32],
    *,
    has_factor: bool,
) -> WeightPairs:
    """Return the texture of integers as of ``WeightBytes.integers``, with weights in 1/256 of their scale.

    Args:
        bits: of a weight, 8 or 16.
        columns: layout of the kernel's columns.
        integers: weights, scales, and three-column constants.
        units: units of scales and constants.
        has_factor: whether the residual has a factor.
    """
    weights_of_layer, scales, int24s = integers
    first, second = _column_pairs(columns)
    # Index -1 is a column of 0.
    padded = np.concatenate([weights_of_layer, np.zeros_like(weights_of_layer[:, :1])], axis=1) + _WEIGHT_ZERO
    halves = []
    for lanes in _LANES:
        pairs = np.concatenate([padded[:, first, lanes], padded[:, second, lanes]], axis=2)
        weights = np.stack([pairs >> 8, pairs & 255], axis=2)[:, :, : bits // 8].reshape(len(weights_of_layer), -1, 4)
        constant_texels = []
        for index, int24 in enumerate(int24s):
            high, middle, low = (byte_column[:, lanes] for byte_column in split_int24(int24))
            last = scales[:, lanes] if index == 0 else np.zeros_like(low)
            constant_texels += [np.concatenate([high, middle], axis=1), np.concatenate([low, last], axis=1)]
        halves.append(np.concatenate([weights, np.stack(constant_texels, axis=1)], axis=1))
    texels = np.concatenate(halves).astype(np.uint8)
    units = np.append(units, np.float32(bits))
    units[3] = 1.0 / texels.shape[1]
    return WeightPairs(bits, integers, has_factor, units, texels)


def _decode(bits: int, rows: NDArray[np.uint8], columns: Columns) -> tuple[Integers, Integers, tuple[Integers, ...]]:
    """Return the integers in the rows; the inverse of ``_encode``."""
    first, second = _column_pairs(columns)
    has_second = second >= 0
    halves = rows.astype(np.int64).reshape(2, columns.slices, -1, 4)
    count = len(first) * bits // 8
    weights = np.zeros((columns.slices, columns.count, 4), np.int64)
    constant_texels = halves[:, :, count:].reshape(
        2, columns.slices, -1, TEXELS_PER_CONSTANT, 2, 2
    )  # ..., number, texel, byte, channel
    for half, lanes in zip(halves, _LANES):
        texels = half[:, :count].reshape(columns.slices, len(first), bits // 8, 4)
        pairs = 256 * texels[:, :, 0] + (texels[:, :, 1] if bits == 16 else 0) - _WEIGHT_ZERO
        weights[:, first, lanes] = pairs[:, :, :2]
        weights[:, second[has_second], lanes] = pairs[:, has_second, 2:]
    constants = np.concatenate([*constant_texels], axis=-1)  # (slices, number, texel, byte, channel of four)
    int24s = join_int24(constants[:, :, 0, 0], constants[:, :, 0, 1], constants[:, :, 1, 0])
    return weights, constants[:, 0, 1, 1], tuple(np.moveaxis(int24s, 1, 0))


def _column_pairs(columns: Columns) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the first and the second column of each texel of weights; -1 for a missing one."""
    pairs = [pair for *_, products in columns.taps(range(columns.slots)) for pair in pairs_of(products)]
    first, second = ([pair[side].column if side < len(pair) else -1 for pair in pairs] for side in range(2))
    return np.array(first, np.int64), np.array(second, np.int64)
