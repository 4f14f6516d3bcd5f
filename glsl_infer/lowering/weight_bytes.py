"""Weights in a texture, 8 bits each: half the fetches of 16 bits (``weight_texture``), for layers that can do with it.

A row of texels for each output slice; a texel belongs to four output channels. A row has the columns of weights, then
three of biases, one of scales and, where the residual has a factor, three of that; then three of each number that the
activation or the range has for a channel. A number of three columns is
n = 65536 * first + 256 * second + third - 8388608.

    scale = byte * units[0]               bias = n * units[1] * scale
    weight = (byte - 128) * scale         factor = n * units[2]
    number = n * units[4], the second one's unit is units[5] and so on

Weights are rounded so that the sum of each filter's stays what it was. What rounding adds to an output is then noise
around 0, however bright its input is; ``noise`` says how much.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from glsl_infer.lowering.weight_texture import Constants, no_units, numbers_of, unit_of, units_of
from glsl_infer.program.layout import MAX_TEXTURE_SIZE

BIAS, SCALE, FACTOR, NUMBER = 3, 1, 3, 3
"""Columns of a bias, of a scale, of a factor, of another number."""

MOST_COLUMNS = 580
"""The widest windows that were compiled for VideoCore IV: 3x3 over 16 slices has 576."""

MOST_SINGLE_COLUMNS = 1280
"""The same of windows of one texel: readers take no longer texts."""

MANY_SINGLE_COLUMNS = 960
"""With more of them fetches wait for each other: 1x1 over 240 slices takes 24 registers of 32, over 288 all of them."""

MOST_NOISE = 3.0
"""Most steps of 8 bits that ``noise`` may be, if a layer is to have its weights so.

It is what a picture of nothing but full texels would see. Texels of networks are a quarter of that in the root mean
square, more or less, so that what is added is some two thirds of a step where a store itself rounds by 0.3.
"""

_MIDDLE, _MOST = 128, 127
_LONG_MIDDLE, _LONG_MOST = 1 << 23, (1 << 23) - 1
_MOST_SCALE = 255
_MOST_BIAS = 256.0
"""A bias is at most so many times the largest weight that its scale allows."""


@dataclass(frozen=True)
class WeightBytes:
    """Weights as a texture of 8 bits has them.

    Attributes:
        columns: of weights, for a slice.
        texels: uint8 (slices, width, 4).
        units: float32 (4,) or (8,), as of ``WeightTexture``.
    """

    columns: int
    texels: NDArray[np.uint8]
    units: NDArray[np.float32]

    template = "convolution_bytes.frag"

    @property
    def has_factor(self) -> bool:
        """Whether the residual has a factor."""
        return int(self.texels.shape[1]) == width(self.columns, factor=True, numbers=numbers_of(self.units))

    def unpack(self) -> Constants:
        """Return the numbers that it stands for."""
        bytes_ = self.texels.astype(np.int64)
        units = self.units.astype(np.float64)
        at = self.columns + BIAS
        scales = bytes_[:, at] * units[0]

        def number(first: int) -> NDArray[np.int64]:
            long: NDArray[np.int64] = bytes_[:, first : first + 3].transpose(0, 2, 1) @ np.array([65536, 256, 1])
            return long - _LONG_MIDDLE

        behind = at + SCALE + FACTOR * self.has_factor
        return Constants(
            (bytes_[:, : self.columns] - _MIDDLE) * scales[:, None],
            number(self.columns) * units[1] * scales,
            number(at + SCALE) * units[2] if self.has_factor else None,
            tuple(number(behind + NUMBER * k) * units[4 + k] for k in range(numbers_of(self.units))),
        )


def width(columns: int, *, factor: bool, numbers: int = 0) -> int:
    """Return the width of the texture for so many columns of weights, and so many numbers for each channel."""
    return columns + BIAS + SCALE + FACTOR * factor + NUMBER * numbers


def most_columns(taps: int) -> int:
    """Return the most columns of a window of so many texels."""
    return MOST_SINGLE_COLUMNS if taps == 1 else MOST_COLUMNS


def fits(slices: int, columns: int, taps: int) -> bool:
    """Return whether so many slices of so many columns of a window of ``taps`` texels can have a texture."""
    return slices <= MAX_TEXTURE_SIZE and columns <= most_columns(taps)


def noise(weights: NDArray[np.floating], bias: NDArray[np.floating]) -> float:
    """Return the standard deviation of what 8 bits add to an output, in steps of 8 bits, if all texels are full.

    Each weight is off by as much as half its scale either way, evenly: by scale / sqrt(12) in the root mean square.

    Args:
        weights: (slices, columns, 4), in units of texels and of the stored output.
        bias: (slices, 4), in units of the stored output.
    """
    scale = _wanted(weights.astype(np.float64), bias.astype(np.float64)) / _MOST
    used = np.count_nonzero(weights, axis=1)
    return float(255.0 * np.sqrt((scale**2 * used / 12.0).mean()))


Rounded = Callable[[NDArray[np.float64], int], NDArray[np.int64]]
"""(slices, columns, 4) in steps, and the largest integer -> integers."""

Moved = Callable[[NDArray[np.float64]], NDArray[np.float64]]
"""What is added to weights, (slices, columns, 4) -> what it adds to outputs in the mean, (slices, 4)."""


def pack(constants: Constants, rounding: Rounded | None = None, moved: Moved | None = None) -> WeightBytes:
    """Return the texture that is nearest to some numbers, sums of filters kept.

    Args:
        constants: the numbers.
        rounding: another way of rounding weights.
        moved: for biases that make up for it.
    """
    weights, bias = (part.astype(np.float64) for part in (constants.weights, constants.bias))
    wanted = _wanted(weights, bias)
    units = no_units(len(constants.numbers))
    units[0] = unit_of(wanted.max() / _MOST, _MOST_SCALE)
    scales = np.clip(np.ceil(wanted / _MOST / float(units[0]) - 1e-9), 1, _MOST_SCALE).astype(np.int64)
    steps = scales * float(units[0])
    whole = sums_kept(weights / steps[:, None]) if rounding is None else rounding(weights / steps[:, None], _MOST)
    if moved is not None:
        bias = bias - moved(whole * steps[:, None] - weights)
    columns = [*np.moveaxis(whole + _MIDDLE, 1, 0)]
    units[1] = unit_of(np.abs(bias / steps).max(), _LONG_MOST)
    columns += [*_bytes(bias / steps / float(units[1])), scales]
    if constants.factor is not None:
        units[2] = unit_of(np.abs(constants.factor).max(), _LONG_MOST)
        columns += _bytes(constants.factor.astype(np.float64) / float(units[2]))
    for place, rows in enumerate(constants.numbers, 4):
        units[place] = unit_of(np.abs(rows).max(), _LONG_MOST)
        columns += _bytes(rows.astype(np.float64) / float(units[place]))
    texels = np.stack(columns, axis=1).astype(np.uint8)
    units[3] = 1.0 / texels.shape[1]
    return WeightBytes(weights.shape[1], texels, units)


def read(texels: bytes, units: bytes, slices: int, columns: int) -> WeightBytes | None:
    """Return a texture from its two members of a bundle; None if it has another size than one of 8 bits."""
    of = units_of(units)
    sizes = {4 * slices * width(columns, factor=factor, numbers=numbers_of(of)) for factor in (False, True)}
    if len(texels) not in sizes:
        return None
    rows = np.frombuffer(texels, np.uint8).reshape(slices, -1, 4)
    return WeightBytes(columns, rows, of)


def _wanted(weights: NDArray[np.float64], bias: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the number that 127 of a channel's scale should reach, (slices, 4)."""
    reach: NDArray[np.float64] = np.maximum(np.abs(weights).max(axis=1), np.abs(bias) / _MOST_BIAS)
    return reach


def sums_kept(numbers: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return (slices, columns, 4) as integers, up or down, whose sums over columns are the nearest to the numbers'.

    Of a sum that rounding to the nearest makes too large, those are rounded down that were rounded up the most.
    """
    whole = np.rint(numbers)
    over = whole - numbers
    excess = np.rint(over.sum(axis=1, keepdims=True))
    place = np.argsort(np.argsort(-over * np.sign(excess), axis=1, kind="stable"), axis=1)
    corrected: NDArray[np.int64] = (whole - np.sign(excess) * (place < np.abs(excess))).astype(np.int64)
    return corrected


def _bytes(numbers: NDArray[np.float64]) -> list[NDArray[np.int64]]:
    """Return numbers of 24 bits as three columns."""
    long = np.clip(np.rint(numbers), -_LONG_MOST, _LONG_MOST).astype(np.int64) + _LONG_MIDDLE
    return [long >> 16, (long >> 8) & 255, long & 255]
