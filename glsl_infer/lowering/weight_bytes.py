"""Weights with 8 bits in a texture: half the fetches of 16 bits (``weight_texture``), for layers that tolerate it.

The texture has a row for each output slice, and a texel belongs to four output channels. A row has the columns of
weights, three columns of biases, one of scales, three of the residual's factor if any, and three for each per-channel
constant of the activation or the range. A constant of three columns is n = 65536 * first + 256 * second + third -
8388608.

    scale = byte * units[0]               bias = n * units[1] * scale
    weight = (byte - 128) * scale         factor = n * units[2]
    constant k = n * units[4 + k]         units[3] = 1 / width

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

BIAS_COLUMNS = 3
SCALE_COLUMNS = 1
FACTOR_COLUMNS = 3
CONSTANT_COLUMNS = 3

BIAS_UNIT, FACTOR_UNIT, FIRST_CONSTANT_UNIT = 1, 2, 4
"""Indices in ``units``."""

MOST_SLICES = MAX_TEXTURE_SIZE
"""Largest number of output slices: each has a row."""

MOST_COLUMNS = 580
"""Largest window compiled for VideoCore IV: 3x3 over 16 slices has 576 columns."""

MOST_SINGLE_COLUMNS = 1280
"""The same limit for 1x1 windows, from the largest text that readers accept."""

SERIAL_FETCH_COLUMNS = 960
"""Number of columns above which fetches wait for each other. A 1x1 window over 240 slices takes 24 of 32 registers,
over 288 slices all of them."""

MOST_NOISE = 3.0
"""Largest ``noise`` in 8-bit steps with which a layer has 8-bit weights.

``noise`` assumes that all texels are 1. Texels of networks have about a quarter of that (root mean square), so that the
actual noise is some two thirds of a step. The rounding of a store itself is 0.3."""

NOISE_SHARE_WITHOUT_IMAGES = 0.02
"""Share of ``MOST_NOISE`` allowed without calibration images.

With images, weights are rounded for the values that they multiply, and the layers with the largest effect on the
outputs keep 16-bit weights. Without images, 8 bits made the logits of the classifier X22 three to five times less
exact than weights in uniforms."""

Integers = NDArray[np.int64]

_WEIGHT_ZERO = 128
"""Byte of a weight of 0."""
_WEIGHT_MAX = 127
"""Largest integer of a weight."""
_INT24_ZERO = 1 << 23
"""Three bytes of a constant of 0."""
_INT24_MAX = (1 << 23) - 1
"""Largest integer of a constant."""
_SCALE_MAX = 255
"""Largest integer of a scale."""
_MAX_BIAS_RATIO = 256.0
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
        return self.texels[:, : self.columns + BIAS_COLUMNS]

    @property
    def integers(self) -> tuple[Integers, Integers, tuple[Integers, ...]]:
        """Weights, scales and three-column constants as integers, in their units.

        Weights are in units of their scale, (slices, columns, 4), and scales in units of ``units[0]``, (slices, 4). The
        constants are the bias, the factor if any, and the per-channel constants, (slices, 4) each.
        """
        bytes_ = self.texels.astype(np.int64)
        end = self.columns + BIAS_COLUMNS
        firsts = [self.columns, *range(end + SCALE_COLUMNS, bytes_.shape[1], CONSTANT_COLUMNS)]
        int24s = tuple(join_int24(*(bytes_[:, first + byte_index] for byte_index in range(3))) for first in firsts)
        return bytes_[:, : self.columns] - _WEIGHT_ZERO, bytes_[:, end], int24s

    def unpack(self) -> Constants:
        """Decode the constants."""
        integers, scales, int24s = self.integers
        return constants_of(integers, scales, int24s, self.units, has_factor=self.has_factor)


def constants_of(
    integers: NDArray[np.int64] | NDArray[np.float64],
    scales: Integers,
    int24s: tuple[Integers, ...],
    units: NDArray[np.float32],
    *,
    has_factor: bool,
) -> Constants:
    """Decode the integers of ``WeightBytes.integers``."""
    unit, steps = units.astype(np.float64), scales * float(units[0])
    bias, *constants = int24s
    factor = constants.pop(0) * unit[FACTOR_UNIT] if has_factor else None
    numbers = tuple(constant * unit[FIRST_CONSTANT_UNIT + index] for index, constant in enumerate(constants))
    weights = np.asarray(integers * steps[:, None], np.float64)
    return Constants(weights, bias * unit[BIAS_UNIT] * steps, factor, numbers)


def width(columns: int, *, factor: bool, numbers: int = 0) -> int:
    """Return the width of the texture."""
    return columns + BIAS_COLUMNS + SCALE_COLUMNS + FACTOR_COLUMNS * factor + CONSTANT_COLUMNS * numbers


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
    scale = _full_scale(weights, bias.astype(np.float64)) / _WEIGHT_MAX
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
    scales, units = scales_of(weights, bias, len(constants.numbers), _WEIGHT_MAX)
    steps = scales * float(units[0])
    in_steps = weights / steps[:, None]
    integers = round_preserving_sums(in_steps) if rounding is None else rounding(in_steps, _WEIGHT_MAX)
    if output_shift is not None:
        bias = bias - output_shift(integers * steps[:, None] - weights)
    int24s, units = encode_int24s(bias / steps, constants, units)
    columns = [*np.moveaxis(integers + _WEIGHT_ZERO, 1, 0), *split_int24(int24s[0]), scales]
    columns += [component for int24 in int24s[1:] for component in split_int24(int24)]
    texels = np.stack(columns, axis=1).astype(np.uint8)
    units[3] = 1.0 / texels.shape[1]
    return WeightBytes(weights.shape[1], texels, units)


def scales_of(
    weights: NDArray[np.float64], bias: NDArray[np.float64], numbers: int, most: float
) -> tuple[Integers, NDArray[np.float32]]:
    """Return scales (slices, 4), and units in which only that of the scales is set; the others are 0.

    Args:
        weights: (slices, columns, 4).
        bias: (slices, 4).
        numbers: number of per-channel constants.
        most: largest magnitude of a weight in steps, which are scales in their unit.
    """
    full_scale = _full_scale(weights, bias)
    units = no_units(numbers)
    units[0] = unit_of(full_scale.max() / most, _SCALE_MAX)
    scales = np.ceil(full_scale / most / float(units[0]) - 1e-9)
    return np.clip(scales, 1, _SCALE_MAX).astype(np.int64), units


def encode_int24s(
    bias: NDArray[np.float64], constants: Constants, units: NDArray[np.float32]
) -> tuple[tuple[Integers, ...], NDArray[np.float32]]:
    """Return bias, factor if any and per-channel constants as 24-bit integers, and ``units`` with their units set.

    Args:
        bias: in units of scales, (slices, 4).
        constants: the factor and the per-channel constants.
        units: units as of ``scales_of``.
    """
    rows_by_unit = {BIAS_UNIT: bias}
    if constants.factor is not None:
        rows_by_unit[FACTOR_UNIT] = constants.factor.astype(np.float64)
    for index, channel_constants in enumerate(constants.numbers):
        rows_by_unit[FIRST_CONSTANT_UNIT + index] = channel_constants.astype(np.float64)
    units, int24s = units.copy(), []
    for unit_index, rows in rows_by_unit.items():
        units[unit_index] = unit_of(np.abs(rows).max(), _INT24_MAX)
        int24s.append(np.clip(np.rint(rows / float(units[unit_index])), -_INT24_MAX, _INT24_MAX).astype(np.int64))
    return tuple(int24s), units


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
    full_scale: NDArray[np.float64] = np.maximum(_largest(weights), np.abs(bias) / _MAX_BIAS_RATIO)
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


def round_preserving_sums(numbers: NDArray[np.float64]) -> NDArray[np.int64]:
    """Round (slices, columns, 4) up or down so that the sums over columns are as near as possible to the exact sums.

    If the nearest integers have too large a sum, the elements with the largest upward rounding are rounded down.
    """
    integers = np.rint(numbers)
    rounding_error = integers - numbers
    excess = np.rint(rounding_error.sum(axis=1, keepdims=True))
    rank = np.argsort(np.argsort(-rounding_error * np.sign(excess), axis=1, kind="stable"), axis=1)
    corrected: NDArray[np.int64] = (integers - np.sign(excess) * (rank < np.abs(excess))).astype(np.int64)
    return corrected


def join_int24(high: Integers, middle: Integers, low: Integers) -> Integers:
    """Return the 24-bit integers of three columns of bytes."""
    return 65536 * high + 256 * middle + low - _INT24_ZERO


def split_int24(int24: Integers) -> list[Integers]:
    """Return the three columns of bytes of 24-bit integers; the inverse of ``join_int24``."""
    unsigned = int24 + _INT24_ZERO
    return [unsigned >> 16, (unsigned >> 8) & 255, unsigned & 255]
