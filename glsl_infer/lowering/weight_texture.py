"""Weights with 16 bits in a texture, so that one draw with many quads serves all slices of a layer.

The upper half of the texture has the high bytes and the lower half the low bytes, with a row for each output slice. A
texel belongs to four output channels. A row has the columns of weights, one column of scales, two of biases, two of the
residual's factor if any, and two for each per-channel constant of the activation or the range. In columns of weights
and scales n = 256 * high + low. Constants of two columns, where only the high byte of the second is used, have n =
65536 * high + 256 * low + next:

    weight = (n - 32768) * scale          scale = n * units[0]
    bias = (n - 8388608) * units[1]       factor = (n - 8388608) * units[2]
    constant k = (n - 8388608) * units[4 + k]       units[3] = 1 / width

Each output channel has a scale, the smallest multiple of the layer's unit with which 16 bits reach its largest weight.
Bias and factor have 24 bits, because they can be large compared with the weights.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from glsl_infer.program.layout import MAX_TEXTURE_SIZE

_SCALE_COLUMNS = 1
_CONSTANT_COLUMNS = 2

MOST_NUMBERS = 4
"""Largest number of per-channel constants: their units are one vec4."""

_WEIGHT_ZERO = 1 << 15
"""Both bytes of a weight of 0."""

_WEIGHT_MAX = (1 << 15) - 1
"""Largest integer of a weight."""

_INT24_ZERO = 1 << 23
"""Three bytes of a constant of 0."""

_INT24_MAX = (1 << 23) - 1
"""Largest integer of a constant."""

_SCALE_MAX = (1 << 16) - 1
"""Largest integer of a scale."""

MOST_SLICES = MAX_TEXTURE_SIZE // 2
"""Largest number of output slices: each has a row of high bytes and one of low bytes."""

MOST_COLUMNS = 520
"""Largest kernel compiled for VideoCore IV: 1x1 over 128 slices has 512 columns. Over 256 slices it needs too many
registers."""

_MIN_MAXIMUM = 1e-30
"""Smallest maximum, so that units are normal floats."""


@dataclass(frozen=True)
class Constants:
    """Factors and addends of a layer's slices, in units of texels and of the stored output.

    Attributes:
        weights: (slices, columns, 4).
        bias: (slices, 4).
        factor: of the residual, (slices, 4); None for a factor of 1.
        numbers: parameters of the activation and the range that differ between slices, (slices, 4) each.
    """

    weights: NDArray[np.floating]
    bias: NDArray[np.floating]
    factor: NDArray[np.floating] | None = None
    numbers: tuple[NDArray[np.floating], ...] = ()


@dataclass(frozen=True)
class WeightTexture:
    """A texture of 16-bit weights.

    Attributes:
        columns: columns of weights of a slice.
        texels: uint8 (2 * slices, width, 4).
        units: float32 (4,): units of scales, biases and factors, and the width of a texel in texture coordinates. With
            per-channel constants (8,): their units follow, padded with 0.
    """

    columns: int
    texels: NDArray[np.uint8]
    units: NDArray[np.float32]

    template = "convolution_texture.frag"

    @property
    def has_factor(self) -> bool:
        """True if the residual has a factor."""
        return int(self.texels.shape[1]) == width(self.columns, factor=True, numbers=numbers_of(self.units))

    def unpack(self) -> Constants:
        """Decode the constants."""
        high, low = np.split(self.texels.astype(np.int64), 2)
        units = self.units.astype(np.float64)
        end = self.columns + _SCALE_COLUMNS
        scales = (256 * high[:, end - 1] + low[:, end - 1]) * units[0]

        def number(column: int) -> NDArray[np.int64]:
            integer: NDArray[np.int64] = 65536 * high[:, column] + 256 * low[:, column] + high[:, column + 1]
            return integer - _INT24_ZERO

        first_number = end + _CONSTANT_COLUMNS * (1 + self.has_factor)
        return Constants(
            (256 * high[:, : self.columns] + low[:, : self.columns] - _WEIGHT_ZERO) * scales[:, None],
            number(end) * units[1],
            number(end + _CONSTANT_COLUMNS) * units[2] if self.has_factor else None,
            tuple(number(first_number + _CONSTANT_COLUMNS * k) * units[4 + k] for k in range(numbers_of(self.units))),
        )


def width(columns: int, *, factor: bool, numbers: int = 0) -> int:
    """Return the width of the texture."""
    return columns + _SCALE_COLUMNS + _CONSTANT_COLUMNS * (1 + factor + numbers)


def no_units(numbers: int) -> NDArray[np.float32]:
    """Return units of 0, for a texture with ``numbers`` per-channel constants."""
    return np.zeros(8 if numbers else 4, np.float32)


def numbers_of(units: NDArray[np.float32]) -> int:
    """Return the number of per-channel constants with a unit."""
    return int(np.count_nonzero(units[4:]))


def units_of(member: bytes) -> NDArray[np.float32]:
    """Decode units from their member of a bundle.

    Raises:
        ValueError: there are neither four nor eight.
    """
    units = np.frombuffer(member, "<f4")
    if len(units) not in (4, 8):
        raise ValueError(f"a texture of weights has {len(units)} units")
    return units


def pack(constants: Constants) -> WeightTexture:
    """Return the nearest texture."""
    weights = constants.weights.astype(np.float64)
    largest = np.abs(weights).max(axis=1)
    units = no_units(len(constants.numbers))
    units[0] = unit_of(largest.max() / _WEIGHT_MAX, _SCALE_MAX)
    scales = np.clip(np.ceil(largest / _WEIGHT_MAX / float(units[0])), 1, _SCALE_MAX).astype(np.int64)
    columns = [
        *np.moveaxis(_rounded(weights / (scales * float(units[0]))[:, None], _WEIGHT_MAX) + _WEIGHT_ZERO, 1, 0),
        scales,
    ]
    long_numbers = [(1, constants.bias), (2, constants.factor), *enumerate(constants.numbers, 4)]
    for unit_index, rows in long_numbers:
        if rows is not None:
            units[unit_index] = unit_of(np.abs(rows).max(), _INT24_MAX)
            integers = _rounded(rows.astype(np.float64) / float(units[unit_index]), _INT24_MAX) + _INT24_ZERO
            columns += [integers >> 8, (integers & 255) << 8]
    encoded = np.stack(columns, axis=1)
    units[3] = 1.0 / encoded.shape[1]
    return WeightTexture(weights.shape[1], np.concatenate([encoded >> 8, encoded & 255]).astype(np.uint8), units)


def read(texels: bytes, units: bytes, slices: int, columns: int) -> WeightTexture:
    """Decode a texture from its two members of a bundle.

    Raises:
        ValueError: the size of the texture is wrong.
    """
    rows, units_array = np.frombuffer(texels, np.uint8).reshape(2 * slices, -1, 4), units_of(units)
    if rows.shape[1] not in (
        width(columns, factor=factor, numbers=numbers_of(units_array)) for factor in (False, True)
    ):
        raise ValueError(f"a texture of weights is {rows.shape[1]} texels wide")
    return WeightTexture(columns, rows, units_array)


def unit_of(largest: float, count: int) -> np.float32:
    """Return the smallest float32 with which ``count`` units reach at least ``largest``."""
    unit: np.float32 = np.nextafter(np.float32(max(largest, _MIN_MAXIMUM) / count), np.float32(np.inf))
    return unit


def _rounded(values: NDArray[np.float64], most: int) -> NDArray[np.int64]:
    return np.clip(np.floor(values + 0.5), -most, most).astype(np.int64)
