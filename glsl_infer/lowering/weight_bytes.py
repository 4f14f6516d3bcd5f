"""Weights with 8 bits in a texture: half the fetches of 16 bits (``weight_texture``), for layers that tolerate it.

The texture has a row for each output slice, and a texel belongs to four output channels. A row has the columns of
weights, three columns of biases, one of scales, three of the residual's factor if any, and three for each per-channel
constant of the activation or the range. A constant of three columns is n = 65536 * first + 256 * second + third -
8388608.

    scale = byte * units[0]               bias = n * units[1] * scale
    weight = (byte - 128) * scale         factor = n * units[2]
    number = n * units[4], the second one's unit is units[5] and so on

Rounding preserves the sum of each filter's weights. The rounding error of an output is therefore noise with mean 0, for
inputs of any brightness; ``noise`` returns its size.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from glsl_infer.lowering.weight_texture import Constants, no_units, numbers_of, unit_of, units_of
from glsl_infer.program.layout import MAX_TEXTURE_SIZE

BIAS = 3
"""Columns of a bias."""

SCALE = 1
"""Columns of a scale."""

FACTOR = 3
"""Columns of a factor."""

NUMBER = 3
"""Columns of another constant."""

MOST_SLICES = MAX_TEXTURE_SIZE
"""Largest number of output slices: each has a row."""

MOST_COLUMNS = 580
"""Largest window compiled for VideoCore IV: 3x3 over 16 slices has 576 columns."""

MOST_SINGLE_COLUMNS = 1280
"""The same limit for 1x1 windows, from the largest text that readers accept."""

MANY_SINGLE_COLUMNS = 960
"""Number of columns above which fetches wait for each other. A 1x1 window over 240 slices takes 24 of 32 registers,
over 288 slices all of them."""

MOST_NOISE = 3.0
"""Largest ``noise`` in 8-bit steps with which a layer has 8-bit weights.

``noise`` assumes that all texels are 1. Texels of networks have about a quarter of that (root mean square), so that the
actual noise is some two thirds of a step. The rounding of a store itself is 0.3."""

UNSEEN = 0.02
"""Share of ``MOST_NOISE`` allowed without calibration images.

With images, weights are rounded for the values that they multiply, and the layers with the largest effect on the
outputs keep 16-bit weights. Without images, 8 bits made the logits of X22 three to five times less exact than weights
in uniforms."""

Integers = NDArray[np.int64]

_MIDDLE = 128
"""Byte of a weight of 0."""
_MOST = 127
"""Largest integer of a weight."""
_LONG_MIDDLE = 1 << 23
"""Three bytes of a constant of 0."""
_LONG_MOST = (1 << 23) - 1
"""Largest integer of a constant."""
_MOST_SCALE = 255
"""Largest integer of a scale."""
_MOST_BIAS = 256.0
"""Largest ratio of a bias to the largest weight that its scale allows."""


@dataclass(frozen=True)
class WeightBytes:
    """A texture of 8-bit weights.

    Attributes:
        columns: columns of weights of a slice.
        texels: uint8 (slices, width, 4).
        units: float32 (4,) or (8,), as in ``WeightTexture``.
    """

    columns: int
    texels: NDArray[np.uint8]
    units: NDArray[np.float32]

    template = "convolution_bytes.frag"

    @property
    def has_factor(self) -> bool:
        """True if the residual has a factor."""
        return int(self.texels.shape[1]) == width(self.columns, factor=True, numbers=numbers_of(self.units))

    @property
    def high_bytes(self) -> NDArray[np.uint8]:
        """Bytes of the weights and of three columns of biases, (slices, columns + 3, 4)."""
        return self.texels[:, : self.columns + BIAS]

    @property
    def integers(self) -> tuple[Integers, Integers, tuple[Integers, ...]]:
        """Weights, scales and three-column constants as integers, in their units.

        Weights are in units of their scale, (slices, columns, 4), and scales in units of ``units[0]``, (slices, 4). The
        constants are the bias, the factor if any, and the per-channel constants, (slices, 4) each.
        """
        bytes_ = self.texels.astype(np.int64)
        end = self.columns + BIAS
        firsts = [self.columns, *range(end + SCALE, bytes_.shape[1], NUMBER)]
        longs = tuple(long_of(*(bytes_[:, first + byte_index] for byte_index in range(3))) for first in firsts)
        return bytes_[:, : self.columns] - _MIDDLE, bytes_[:, end], longs

    def unpack(self) -> Constants:
        """Decode the constants."""
        integers, scales, longs = self.integers
        return constants_of(integers, scales, longs, self.units, has_factor=self.has_factor)


def constants_of(
    integers: NDArray[np.int64] | NDArray[np.float64],
    scales: Integers,
    longs: tuple[Integers, ...],
    units: NDArray[np.float32],
    *,
    has_factor: bool,
) -> Constants:
    """Decode the integers of ``WeightBytes.integers``."""
    unit, steps = units.astype(np.float64), scales * float(units[0])
    bias, *constants = longs
    factor = constants.pop(0) * unit[2] if has_factor else None
    numbers = tuple(constant * unit[4 + index] for index, constant in enumerate(constants))
    return Constants(np.asarray(integers * steps[:, None], np.float64), bias * unit[1] * steps, factor, numbers)


def width(columns: int, *, factor: bool, numbers: int = 0) -> int:
    """Return the width of the texture."""
    return columns + BIAS + SCALE + FACTOR * factor + NUMBER * numbers


def most_columns(taps: int) -> int:
    """Return the largest number of columns of a window of ``taps`` texels."""
    return MOST_SINGLE_COLUMNS if taps == 1 else MOST_COLUMNS


def fits(slices: int, columns: int, taps: int) -> bool:
    """Return whether a layer of these sizes can have a texture."""
    return slices <= MOST_SLICES and columns <= most_columns(taps)


def noise(weights: NDArray[np.floating], bias: NDArray[np.floating]) -> float:
    """Return the standard deviation of an output's error due to 8-bit weights, in 8-bit steps, if all texels are 1.

    A weight's error is uniform within half its scale, with a root mean square of scale / sqrt(12).

    Args:
        weights: (slices, columns, 4), in units of texels and of the stored output.
        bias: (slices, 4), in units of the stored output.
    """
    scale = _full_scale(weights, bias.astype(np.float64)) / _MOST
    ones = np.ones((1, weights.shape[1]), np.float32)
    nonzero = (ones @ (weights != 0.0).astype(np.float32))[:, 0]  # exact, and 50 times as fast as np.count_nonzero
    return float(255.0 * np.sqrt((scale**2 * nonzero / 12.0).mean()))


RoundingFunction = Callable[[NDArray[np.float64], int], NDArray[np.int64]]
"""From weights (slices, columns, 4) in steps and the largest integer to integers."""

OutputShift = Callable[[NDArray[np.float64]], NDArray[np.float64]]
"""From changes of weights (slices, columns, 4) to the mean changes of outputs (slices, 4)."""


def pack(
    constants: Constants, rounding: RoundingFunction | None = None, output_shift: OutputShift | None = None
) -> WeightBytes:
    """Return the texture with the nearest weights whose filters keep their sums.

    Args:
        constants: the constants to encode.
        rounding: another rounding of the weights.
        output_shift: effect of the rounding on outputs, which the biases then compensate.
    """
    weights, bias = (component.astype(np.float64) for component in (constants.weights, constants.bias))
    scales, units = scales_of(weights, bias, len(constants.numbers), _MOST)
    steps = scales * float(units[0])
    integers = sums_kept(weights / steps[:, None]) if rounding is None else rounding(weights / steps[:, None], _MOST)
    if output_shift is not None:
        bias = bias - output_shift(integers * steps[:, None] - weights)
    longs = longs_of(bias / steps, constants, units)
    columns = [*np.moveaxis(integers + _MIDDLE, 1, 0), *bytes_of(longs[0]), scales]
    columns += [component for long in longs[1:] for component in bytes_of(long)]
    texels = np.stack(columns, axis=1).astype(np.uint8)
    units[3] = 1.0 / texels.shape[1]
    return WeightBytes(weights.shape[1], texels, units)


def scales_of(
    weights: NDArray[np.float64], bias: NDArray[np.float64], numbers: int, most: float
) -> tuple[Integers, NDArray[np.float32]]:
    """Return scales (slices, 4) with which weights are at most ``most`` steps, and units with that of scales set.

    The other units are 0; ``numbers`` is the number of per-channel constants.
    """
    full_scale = _full_scale(weights, bias)
    units = no_units(numbers)
    units[0] = unit_of(full_scale.max() / most, _MOST_SCALE)
    scales = np.ceil(full_scale / most / float(units[0]) - 1e-9)
    return np.clip(scales, 1, _MOST_SCALE).astype(np.int64), units


def longs_of(bias: NDArray[np.float64], constants: Constants, units: NDArray[np.float32]) -> tuple[Integers, ...]:
    """Return bias (in units of scales), factor and per-channel constants as 24-bit integers, and set their units."""
    factor = [] if constants.factor is None else [constants.factor]
    longs = []
    for unit_index, constant in zip((1, *[2] * len(factor), 4, 5, 6, 7), (bias, *factor, *constants.numbers)):
        rows = constant.astype(np.float64)
        units[unit_index] = unit_of(np.abs(rows).max(), _LONG_MOST)
        longs.append(np.clip(np.rint(rows / float(units[unit_index])), -_LONG_MOST, _LONG_MOST).astype(np.int64))
    return tuple(longs)


def read(texels: bytes, units: bytes, slices: int, columns: int) -> WeightBytes | None:
    """Decode a texture from its two members of a bundle; None if its size is not that of an 8-bit texture."""
    units_array = units_of(units)
    sizes = {4 * slices * width(columns, factor=factor, numbers=numbers_of(units_array)) for factor in (False, True)}
    if len(texels) not in sizes:
        return None
    rows = np.frombuffer(texels, np.uint8).reshape(slices, -1, 4)
    return WeightBytes(columns, rows, units_array)


def _full_scale(weights: NDArray[np.floating], bias: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the value that 127 steps of each channel must reach, (slices, 4)."""
    full_scale: NDArray[np.float64] = np.maximum(_largest(weights), np.abs(bias) / _MOST_BIAS)
    return full_scale


def _largest(weights: NDArray[np.floating]) -> NDArray[np.floating]:
    """Return the largest magnitude of each channel's weights, (slices, 4).

    NumPy is slow with rows of four. Maxima of the halves take a twentieth of the time.
    """
    sizes: NDArray[np.floating] = np.abs(weights)
    while sizes.shape[1] > 1:
        half, last = sizes.shape[1] // 2, sizes[:, -1]
        sizes = np.maximum(sizes[:, :half], sizes[:, half : 2 * half])
        sizes[:, 0] = np.maximum(sizes[:, 0], last)
    largest: NDArray[np.floating] = sizes[:, 0]
    return largest


def sums_kept(numbers: NDArray[np.float64]) -> NDArray[np.int64]:
    """Round (slices, columns, 4) up or down so that the sums over columns are as near as possible to the exact sums.

    If the nearest integers have too large a sum, the elements with the largest upward rounding are rounded down.
    """
    integers = np.rint(numbers)
    rounding_error = integers - numbers
    excess = np.rint(rounding_error.sum(axis=1, keepdims=True))
    rank = np.argsort(np.argsort(-rounding_error * np.sign(excess), axis=1, kind="stable"), axis=1)
    corrected: NDArray[np.int64] = (integers - np.sign(excess) * (rank < np.abs(excess))).astype(np.int64)
    return corrected


def long_of(high: Integers, middle: Integers, low: Integers) -> Integers:
    """Return the 24-bit integers of three columns of bytes."""
    return 65536 * high + 256 * middle + low - _LONG_MIDDLE


def bytes_of(long: Integers) -> list[Integers]:
    """Return the three columns of bytes of 24-bit integers; the inverse of ``long_of``."""
    unsigned = long + _LONG_MIDDLE
    return [unsigned >> 16, (unsigned >> 8) & 255, unsigned & 255]
