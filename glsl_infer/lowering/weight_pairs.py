"""Weights in a texture with a row for every two output channels: for layers that store 16 bits.

What stores 16 bits draws each slice twice, two channels at a time. With a row of its own for each half, a draw
multiplies no weights of the other one. The upper half of the texture has the rows of channels 0 and 1 of every slice,
the lower half those of channels 2 and 3.

Of two columns that meet lanes of one texel, a texel has (first, second channel, first, second channel); the odd one of
three has a neighbour of 0. With 16 bits, a texel of low bytes follows each. Then two texels each have a bias (first
bytes, second bytes; third bytes, scales), the factor of a residual if it has one, and every number of the activation
or the range (first bytes, second bytes; third bytes, and two of no use). Numbers of three bytes are those of
``weight_bytes``, and

    scale = byte * units[0]     weight = (high - 128 + low / 256) * scale     bias = n * units[1] * scale
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from glsl_infer.lowering.conv_columns import Columns
from glsl_infer.lowering.taps import Product
from glsl_infer.lowering.weight_bytes import Integers, WeightBytes, bytes_of, constants_of, long_of, longs_of, scales_of
from glsl_infer.lowering.weight_texture import Constants, numbers_of
from glsl_infer.program.layout import MAX_TEXTURE_SIZE

EACH = 2
"""Texels of a bias with its scale, of a factor, and of another number."""

_MIDDLE, _MOST = 128 * 256, 127 * 256 + 255
_LANES = (slice(0, 2), slice(2, 4))


@dataclass(frozen=True)
class WeightPairs:
    """Weights as such a texture has them.

    Attributes:
        bits: of a weight, 8 or 16.
        integers: see ``WeightBytes.integers``; weights in 256ths of their scale.
        has_factor: whether the residual has a factor.
        units: float32 (5,) or (9,): as of ``WeightTexture``, and the bits of a weight, by which a reader knows it.
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
        """As of ``WeightBytes``: the higher bytes of weights, and three of biases, (slices, columns + 3, 4)."""
        whole, _, (bias, *_) = self.integers
        return np.concatenate([(whole + _MIDDLE) >> 8, np.stack(bytes_of(bias), axis=1)], axis=1).astype(np.uint8)

    def unpack(self) -> Constants:
        """Return the numbers that it stands for."""
        whole, scales, longs = self.integers
        return constants_of(whole / 256.0, scales, longs, self.units, has_factor=self.has_factor)


def pairs_of(products: Sequence[Product]) -> list[Sequence[Product]]:
    """Return the products of a tap, two to a texel of weights; the last may be alone."""
    return [products[first : first + 2] for first in range(0, len(products), 2)]


def texels_of(columns: Columns) -> int:
    """Return how many texels the weights of a row take, in 8 bits."""
    return sum(len(pairs_of(products)) for *_, products in columns.taps(range(columns.slots)))


def fits(columns: Columns) -> bool:
    """Return whether a layer can have such a texture."""
    return not columns.depthwise and 2 * columns.slices <= MAX_TEXTURE_SIZE


def of_bytes(weights: WeightBytes, columns: Columns) -> WeightPairs:
    """Return the texture of pairs with the numbers of one that has a row for each slice."""
    whole, scales, longs = weights.integers
    return _laid_out(8, columns, (256 * whole, scales, longs), weights.units, has_factor=weights.has_factor)


def of_constants(constants: Constants, columns: Columns) -> WeightPairs:
    """Return the texture of pairs that is nearest to some numbers, in 16 bits."""
    weights, bias = (part.astype(np.float64) for part in (constants.weights, constants.bias))
    scales, units = scales_of(weights, bias, len(constants.numbers), _MOST / 256.0)
    steps = scales * float(units[0])
    whole = np.clip(np.rint(weights / steps[:, None] * 256.0), -_MOST, _MOST).astype(np.int64)
    longs = longs_of(bias / steps, constants, units)
    return _laid_out(16, columns, (whole, scales, longs), units, has_factor=constants.factor is not None)


def read(texels: bytes, units: bytes, columns: Columns) -> WeightPairs | None:
    """Return a texture from its two members of a bundle; None if its units are those of another kind.

    Raises:
        ValueError: it has another size than its units say.
    """
    of = np.frombuffer(units, "<f4")
    if len(of) not in (5, 9):
        return None
    bits, count, numbers = int(of[-1]), texels_of(columns), numbers_of(of[:-1])
    width = len(texels) // (8 * columns.slices)
    behind = width - count * bits // 8 - EACH * (1 + numbers)
    if bits not in (8, 16) or behind not in (0, EACH) or len(texels) != 8 * columns.slices * width:
        raise ValueError(f"a texture of weights in pairs has {len(texels)} bytes")
    rows = np.frombuffer(texels, np.uint8).reshape(-1, width, 4)
    return WeightPairs(bits, _integers(bits, rows, columns), bool(behind), of, rows)


def _laid_out(
    bits: int,
    columns: Columns,
    integers: tuple[Integers, Integers, tuple[Integers, ...]],
    units: NDArray[np.float32],
    *,
    has_factor: bool,
) -> WeightPairs:
    whole, scales, longs = integers
    first, second = _places(columns)
    padded = np.concatenate([whole, np.zeros_like(whole[:, :1])], axis=1) + _MIDDLE  # -1 is a column of 0
    halves = []
    for lanes in _LANES:
        both = np.concatenate([padded[:, first, lanes], padded[:, second, lanes]], axis=2)
        weights = np.stack([both >> 8, both & 255], axis=2)[:, :, : bits // 8].reshape(len(whole), -1, 4)
        behind = []
        for at, long in enumerate(longs):
            high, middle, low = (part[:, lanes] for part in bytes_of(long))
            last = scales[:, lanes] if at == 0 else np.zeros_like(low)
            behind += [np.concatenate([high, middle], axis=1), np.concatenate([low, last], axis=1)]
        halves.append(np.concatenate([weights, np.stack(behind, axis=1)], axis=1))
    texels = np.concatenate(halves).astype(np.uint8)
    units = np.append(units, np.float32(bits))
    units[3] = 1.0 / texels.shape[1]
    return WeightPairs(bits, integers, has_factor, units, texels)


def _integers(bits: int, rows: NDArray[np.uint8], columns: Columns) -> tuple[Integers, Integers, tuple[Integers, ...]]:
    """Return the integers that rows hold; the reverse of ``_laid_out``."""
    first, second = _places(columns)
    used = second >= 0
    halves = rows.astype(np.int64).reshape(2, columns.slices, -1, 4)
    count = len(first) * bits // 8
    whole = np.zeros((columns.slices, columns.count, 4), np.int64)
    behind = halves[:, :, count:].reshape(2, columns.slices, -1, EACH, 2, 2)  # ..., number, texel, byte, channel
    for half, lanes in zip(halves, _LANES):
        texels = half[:, :count].reshape(columns.slices, len(first), bits // 8, 4)
        both = 256 * texels[:, :, 0] + (texels[:, :, 1] if bits == 16 else 0) - _MIDDLE
        whole[:, first, lanes] = both[:, :, :2]
        whole[:, second[used], lanes] = both[:, used, 2:]
    parts = np.concatenate([*behind], axis=-1)  # (slices, number, texel, byte, channel of four)
    longs = long_of(parts[:, :, 0, 0], parts[:, :, 0, 1], parts[:, :, 1, 0])
    return whole, parts[:, 0, 1, 1], tuple(np.moveaxis(longs, 1, 0))


def _places(columns: Columns) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return for each texel of weights its first column and its second, -1 where that is missing."""
    pairs = [pair for *_, products in columns.taps(range(columns.slots)) for pair in pairs_of(products)]
    first, second = ([pair[side].column if side < len(pair) else -1 for pair in pairs] for side in range(2))
    return np.array(first, np.int64), np.array(second, np.int64)
