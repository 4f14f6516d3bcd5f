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

UNSEEN = 0.02
"""Share of ``MOST_NOISE`` that is allowed without calibration images.

With images, weights are rounded for the values that they multiply, and the layers whose rounding moves the outputs most
keep finer weights. Without them, 8 bits made the logits of X22 three to five times less exact than weights in uniforms.
"""

Integers = NDArray[np.int64]

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

    @property
    def high_bytes(self) -> NDArray[np.uint8]:
        """The bytes of weights, and three of biases, (slices, columns + 3, 4)."""
        return self.texels[:, : self.columns + BIAS]

    @property
    def integers(self) -> tuple[Integers, Integers, tuple[Integers, ...]]:
        """Weights in steps of their scale, scales in steps of their unit, and every number of three columns in its own.

        (slices, columns, 4), and (slices, 4) each: of the bias, of the factor if there is one, of others.
        """
        bytes_ = self.texels.astype(np.int64)
        at = self.columns + BIAS
        firsts = [self.columns, *range(at + SCALE, bytes_.shape[1], NUMBER)]
        longs = tuple(long_of(*(bytes_[:, first + place] for place in range(3))) for first in firsts)
        return bytes_[:, : self.columns] - _MIDDLE, bytes_[:, at], longs

    def unpack(self) -> Constants:
        """Return the numbers that it stands for."""
        whole, scales, longs = self.integers
        return constants_of(whole, scales, longs, self.units, has_factor=self.has_factor)


def constants_of(
    whole: NDArray[np.int64] | NDArray[np.float64],
    scales: Integers,
    longs: tuple[Integers, ...],
    units: NDArray[np.float32],
    *,
    has_factor: bool,
) -> Constants:
    """Return the numbers that integers stand for; see ``WeightBytes.integers``."""
    unit, steps = units.astype(np.float64), scales * float(units[0])
    bias, *behind = longs
    factor = behind.pop(0) * unit[2] if has_factor else None
    numbers = tuple(number * unit[4 + at] for at, number in enumerate(behind))
    return Constants(np.asarray(whole * steps[:, None], np.float64), bias * unit[1] * steps, factor, numbers)


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
    scales, units = scales_of(weights, bias, len(constants.numbers), _MOST)
    steps = scales * float(units[0])
    whole = sums_kept(weights / steps[:, None]) if rounding is None else rounding(weights / steps[:, None], _MOST)
    if moved is not None:
        bias = bias - moved(whole * steps[:, None] - weights)
    longs = longs_of(bias / steps, constants, units)
    columns = [*np.moveaxis(whole + _MIDDLE, 1, 0), *bytes_of(longs[0]), scales]
    columns += [part for long in longs[1:] for part in bytes_of(long)]
    texels = np.stack(columns, axis=1).astype(np.uint8)
    units[3] = 1.0 / texels.shape[1]
    return WeightBytes(weights.shape[1], texels, units)


def scales_of(
    weights: NDArray[np.float64], bias: NDArray[np.float64], numbers: int, most: float
) -> tuple[Integers, NDArray[np.float32]]:
    """Return the scales with which weights are no more than ``most``, (slices, 4), and units of which they have theirs.

    Others of the units are 0; there are some for so many numbers of each channel.
    """
    wanted = _wanted(weights, bias)
    units = no_units(numbers)
    units[0] = unit_of(wanted.max() / most, _MOST_SCALE)
    scales = np.ceil(wanted / most / float(units[0]) - 1e-9)
    return np.clip(scales, 1, _MOST_SCALE).astype(np.int64), units


def longs_of(bias: NDArray[np.float64], constants: Constants, units: NDArray[np.float32]) -> tuple[Integers, ...]:
    """Return a bias in scales, the factor and the other numbers as integers of 24 bits, and set their units."""
    factor = [] if constants.factor is None else [constants.factor]
    longs = []
    for place, given in zip((1, *[2] * len(factor), 4, 5, 6, 7), (bias, *factor, *constants.numbers)):
        rows = given.astype(np.float64)
        units[place] = unit_of(np.abs(rows).max(), _LONG_MOST)
        longs.append(np.clip(np.rint(rows / float(units[place])), -_LONG_MOST, _LONG_MOST).astype(np.int64))
    return tuple(longs)


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


def long_of(high: Integers, middle: Integers, low: Integers) -> Integers:
    """Return the integers of 24 bits that three columns of bytes are."""
    return 65536 * high + 256 * middle + low - _LONG_MIDDLE


def bytes_of(long: Integers) -> list[Integers]:
    """Return integers of 24 bits as three columns; the reverse of ``long_of``."""
    above = long + _LONG_MIDDLE
    return [above >> 16, (above >> 8) & 255, above & 255]
