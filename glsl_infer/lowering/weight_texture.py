"""Weights in a texture, 16 bits each, so that one draw of many quads serves all slices of a layer.

The upper half of the texture has the high bytes and the lower half the low ones, a row for each output slice; a texel
belongs to four output channels. A row has the columns of weights, then one of scales, two of biases and, where the
residual has a factor, two of that; then two of each number that the activation or the range has for a channel. With
n = 256 * high + low, and for the numbers that take two columns, of whose second only the high byte counts,
n = 65536 * high + 256 * low + next:

    weight = (n - 32768) * scale          scale = n * units[0]
    bias = (n - 8388608) * units[1]       factor = (n - 8388608) * units[2]
    number = (n - 8388608) * units[4], the second one's unit is units[5] and so on

The scale is one for each output channel: the least multiple of the layer's unit by which 16 bits reach the channel's
largest weight. Bias and factor have 24 bits, for they may be large where the weights are small.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from glsl_infer.program.layout import MAX_TEXTURE_SIZE

_SCALE, _NUMBER = 1, 2
"""Columns of a scale, and of any other number."""

MOST_NUMBERS = 4
"""Most numbers for each channel besides: they have a vec4 of units."""

_MIDDLE, _MOST = 1 << 15, (1 << 15) - 1
_LONG_MIDDLE, _LONG_MOST = 1 << 23, (1 << 23) - 1
_MOST_SCALE = (1 << 16) - 1

MOST_COLUMNS = 520
"""The widest kernels that were compiled for VideoCore IV: 1x1 over 128 slices has 512, over 256 it has no registers."""

_LEAST = 1e-30
"""What stands for a largest number of 0, so that units are ordinary floats."""


@dataclass(frozen=True)
class Constants:
    """What the slices of a layer multiply by and add, in units of texels and of the stored output.

    Attributes:
        weights: (slices, columns, 4).
        bias: (slices, 4).
        factor: of the residual, (slices, 4); None where it has none.
        numbers: those of the activation and of the range that differ between slices, each (slices, 4).
    """

    weights: NDArray[np.floating]
    bias: NDArray[np.floating]
    factor: NDArray[np.floating] | None = None
    numbers: tuple[NDArray[np.floating], ...] = ()


@dataclass(frozen=True)
class WeightTexture:
    """Weights as a texture has them.

    Attributes:
        columns: of weights, for a slice.
        texels: uint8 (2 * slices, width, 4).
        units: float32 (4,): of scales, of biases, of factors; the last is the width of a texel in texture coordinates.
            Of layers with numbers (8,): those of the numbers follow, and 0 where there are fewer than four.
    """

    columns: int
    texels: NDArray[np.uint8]
    units: NDArray[np.float32]

    template = "convolution_texture.frag"

    @property
    def has_factor(self) -> bool:
        """Whether the residual has a factor."""
        return int(self.texels.shape[1]) == width(self.columns, factor=True, numbers=numbers_of(self.units))

    def unpack(self) -> Constants:
        """Return the numbers that it stands for."""
        high, low = np.split(self.texels.astype(np.int64), 2)
        units = self.units.astype(np.float64)
        at = self.columns + _SCALE
        scales = (256 * high[:, at - 1] + low[:, at - 1]) * units[0]

        def number(first: int) -> NDArray[np.int64]:
            long: NDArray[np.int64] = 65536 * high[:, first] + 256 * low[:, first] + high[:, first + 1]
            return long - _LONG_MIDDLE

        behind = at + _NUMBER * (1 + self.has_factor)
        return Constants(
            (256 * high[:, : self.columns] + low[:, : self.columns] - _MIDDLE) * scales[:, None],
            number(at) * units[1],
            number(at + _NUMBER) * units[2] if self.has_factor else None,
            tuple(number(behind + _NUMBER * k) * units[4 + k] for k in range(numbers_of(self.units))),
        )


def width(columns: int, *, factor: bool, numbers: int = 0) -> int:
    """Return the width of the texture for so many columns of weights, and so many numbers for each channel."""
    return columns + _SCALE + _NUMBER * (1 + factor + numbers)


def no_units(numbers: int) -> NDArray[np.float32]:
    """Return the units of a texture with so many numbers for each channel, all 0."""
    return np.zeros(8 if numbers else 4, np.float32)


def numbers_of(units: NDArray[np.float32]) -> int:
    """Return how many numbers for each channel have a unit."""
    return int(np.count_nonzero(units[4:]))


def units_of(member: bytes) -> NDArray[np.float32]:
    """Return units from their member of a bundle.

    Raises:
        ValueError: they are neither four floats nor eight.
    """
    units = np.frombuffer(member, "<f4")
    if len(units) not in (4, 8):
        raise ValueError(f"a texture of weights has {len(units)} units")
    return units


def fits(slices: int, columns: int) -> bool:
    """Return whether so many slices of so many columns can have a texture; see ``MOST_COLUMNS``."""
    return 2 * slices <= MAX_TEXTURE_SIZE and columns <= MOST_COLUMNS


def pack(constants: Constants) -> WeightTexture:
    """Return the texture that is nearest to some numbers."""
    weights = constants.weights.astype(np.float64)
    largest = np.abs(weights).max(axis=1)
    units = no_units(len(constants.numbers))
    units[0] = unit_of(largest.max() / _MOST, _MOST_SCALE)
    scales = np.clip(np.ceil(largest / _MOST / float(units[0])), 1, _MOST_SCALE).astype(np.int64)
    columns = [*np.moveaxis(_rounded(weights / (scales * float(units[0]))[:, None], _MOST) + _MIDDLE, 1, 0), scales]
    long_numbers = [(1, constants.bias), (2, constants.factor), *enumerate(constants.numbers, 4)]
    for place, rows in long_numbers:
        if rows is not None:
            units[place] = unit_of(np.abs(rows).max(), _LONG_MOST)
            long = _rounded(rows.astype(np.float64) / float(units[place]), _LONG_MOST) + _LONG_MIDDLE
            columns += [long >> 8, (long & 255) << 8]
    numbers = np.stack(columns, axis=1)
    units[3] = 1.0 / numbers.shape[1]
    return WeightTexture(weights.shape[1], np.concatenate([numbers >> 8, numbers & 255]).astype(np.uint8), units)


def read(texels: bytes, units: bytes, slices: int, columns: int) -> WeightTexture:
    """Return a texture from its two members of a bundle.

    Raises:
        ValueError: they are no such texture.
    """
    rows, of = np.frombuffer(texels, np.uint8).reshape(2 * slices, -1, 4), units_of(units)
    if rows.shape[1] not in (width(columns, factor=factor, numbers=numbers_of(of)) for factor in (False, True)):
        raise ValueError(f"a texture of weights is {rows.shape[1]} texels wide")
    return WeightTexture(columns, rows, of)


def unit_of(largest: float, count: int) -> np.float32:
    """Return a float32 of which ``count`` reach ``largest``, never less."""
    unit: np.float32 = np.nextafter(np.float32(max(largest, _LEAST) / count), np.float32(np.inf))
    return unit


def _rounded(numbers: NDArray[np.float64], most: int) -> NDArray[np.int64]:
    return np.clip(np.floor(numbers + 0.5), -most, most).astype(np.int64)
