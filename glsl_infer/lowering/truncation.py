"""Bias correction for GPUs that truncate additions.

VideoCore IV truncates each addition, which moves a sum toward zero by half of its last bit on average. In a
convolution's shader this accumulates. The effect is largest in the fourth channel, which starts lower by ``LATE``
(shaders/convolution.frag) and is negative until the end. The bias depends on the size of the partial sums, so it is
computed from the feature maps of calibration images. The sum then starts farther from zero by that amount.

Shaders for other devices start with the bias of the layer alone, and their bytes do not change.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from glsl_infer.lowering import immediates, simulated_sums
from glsl_infer.lowering.calibration_maps import PICTURES, Arrays, CalibrationMaps, Texels
from glsl_infer.lowering.conv_columns import Columns, DepthwiseColumns

Floats = NDArray[np.float32]
Indices = NDArray[np.int64]

POSITIONS = 512
"""Output pixels at which sums are simulated."""

MOST_ADDITIONS = 1 << 23
"""Largest number of simulated additions of a layer. With many weights, fewer pixels are simulated, down to
``FEWEST``."""

FEWEST = 8

STRETCHES = (1.0, 1.1, 1.2, 1.35, 1.5, 1.75, 2.0)
"""Multiples of the least offset of a fourth component to try. A sum that stays between two powers of two loses about
the same for all texels."""

MOST_UNEVEN = 0.0008
"""Largest deviation of the truncation error from its mean, in 8-bit steps (root mean square)."""


def truncation_bound(factors: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return an upper bound of the truncation error, (channels,), for a sum of a few texels that is stored in 8 bits.

    Sums of few texels are often exactly halfway between two steps, where an error of any size changes the result. These
    sums start higher by the bound.

    Args:
        factors: factor of each texel, (channels,).
    """
    # The last bits of each texel and its product, and of a sum below 2.
    bound: NDArray[np.float64] = (2.0 * np.abs(factors).sum(axis=0) + 2.0 * len(factors)) * 2.0**-24
    return bound


@dataclass(frozen=True)
class Starts:
    """Initial values of a layer's sums.

    Attributes:
        truncated: biases corrected for devices that truncate, (slices, 4).
        fetch_offsets: offset of the fourth component below its bias, (slices,), 0 for slices without ordered fetches;
            None if no slice has them.
    """

    truncated: Floats
    fetch_offsets: Floats | None

    def arrays(self) -> Arrays:
        """Return the arrays to store in a file."""
        return (self.truncated,) if self.fetch_offsets is None else (self.truncated, self.fetch_offsets)

    @staticmethod
    def cached(maps: CalibrationMaps, key: str, slices: int, find: Callable[[], Starts]) -> Starts:
        """Return the stored values if they are for this number of slices, otherwise the result of ``find``."""

        def fits(arrays: Arrays) -> bool:
            return [array.shape for array in arrays] in ([(slices, 4)], [(slices, 4), (slices,)])

        truncated, *fetch_offsets = maps.cached(key, lambda: find().arrays(), fits)
        return Starts(truncated, fetch_offsets[0] if fetch_offsets else None)


@dataclass(frozen=True)
class Sums:
    """The sums of a layer.

    Attributes:
        columns: layout of the kernel's columns.
        constants: columns of all slices, (slices, columns, 4), and the residual's factor last, if any.
        biases: biases of the sums, (slices, 4).
        residual: texels of the residual, if any.
        saturation: values at which the stored sum saturates.
    """

    columns: Columns
    constants: Floats
    biases: Floats
    residual: Texels | None = None
    saturation: tuple[float, float] = (0.0, 1.0)


def starts(
    layer: Sums, texels: Texels, strides: Sequence[int], least: Floats | None = None, *, separate_slices: bool = False
) -> Starts:
    """Return the initial values with which the sums have no bias after truncation.

    Args:
        layer: its sums.
        texels: of the padded input.
        strides: (y, x).
        least: smallest offset of each slice's fourth component, (slices,); None without ordered fetches.
        separate_slices: whether a slice can omit the offset, independent of others, if its truncation error is too
            uneven.
    """
    columns, biases = layer.columns, layer.biases
    positions = _sample_positions(columns, texels, strides, layer.constants.size)
    windows = _windows(columns, texels, positions, strides)
    residual = None if layer.residual is None else layer.residual.at(*positions)
    truncated, fetch_offsets = np.zeros((columns.slices, 4), np.float32), None if least is None else least.copy()
    factors_by_reads: dict[tuple[int, ...], Floats] = {}  # of the previous group; groups of equal reads are adjacent
    for group in simulated_sums.groups(columns, len(positions[0])):
        reads = columns.read_by(group[0])
        if reads not in factors_by_reads:
            factors_by_reads = {reads: windows.factors(reads)}
        sums = simulated_sums.simulate(
            factors_by_reads[reads],
            layer.constants[group],
            biases[group],
            fourth=fetch_offsets is not None,
            residual=None if residual is None else _lanes_of(residual, group),
        )
        shares = _unsaturated_shares(sums.sums, layer.saturation)
        truncated[group] = biases[group] - (_losses(sums.sum_bits, sums.product_bits) * shares).sum(axis=0)
        if fetch_offsets is None or sums.fourth is None or sums.changed is None:
            continue
        for member, index in enumerate(group):
            product_bits = np.ascontiguousarray(sums.product_bits[:, member, 3])
            changed = sums.changed[member].astype(np.float32)
            fourth = _Fourth(sums.fourth[member], changed, product_bits, shares[:, member, 3].copy())
            variance, offset, mean = fourth.best_offset(float(fetch_offsets[index]))
            if separate_slices and 255.0 * variance**0.5 > MOST_UNEVEN:
                offset, mean = 0.0, fourth.losses(0.0)[0]
            fetch_offsets[index] = offset
            truncated[index, 3] = biases[index, 3] - np.float64(offset) - mean
    return Starts(immediates.streamed(truncated), fetch_offsets)


def _lanes_of(residual: Floats, group: Sequence[int]) -> Floats:
    """Return the residual's values for a group of adjacent slices, (positions, slices, 4)."""
    return residual[:, 4 * group[0] : 4 * group[-1] + 4].reshape(len(residual), len(group), 4)


def _unsaturated_shares(sums: Floats, saturation: tuple[float, float]) -> Floats:
    """Return the weight of each position in a mean over the sums that do not saturate, (positions, slices, 4).

    All positions have the same weight if all sums saturate.
    """
    low, high = saturation
    shares = ((sums > low) & (sums < high)) + np.float32(1e-6)
    shares /= shares.sum(axis=0)
    return shares


@dataclass
class _Fourth:
    """Partial sums of a slice's fourth component, (positions, columns).

    ``changed`` is 1 for the columns at which they changed, else 0. ``shares`` are weights of the positions with sum 1.
    """

    sums: Floats
    changed: Floats
    product_bits: Floats
    shares: Floats

    def best_offset(self, least: float) -> tuple[float, float, Floats]:
        """Return the least variance of the truncation error for multiples of an offset, the offset, and the mean."""
        results = []
        for offset in [immediates.factor(least * stretch) for stretch in STRETCHES]:
            mean, variance = self.losses(offset)
            results.append((float(variance), offset, mean))
        return min(results, key=lambda result: result[:2])

    def losses(self, lower: float) -> tuple[Floats, Floats]:
        """Return mean and variance of the truncation error of sums that start lower by ``lower``."""
        bits = simulated_sums.last_bits(self.sums - np.float32(lower))
        bits *= self.changed
        losses = _losses(bits.sum(axis=1), self.product_bits)
        mean: Floats = (losses * self.shares).sum(axis=0)
        with np.errstate(over="ignore"):  # sums before an exponential can be huge; they are not corrected
            bits *= bits
            squares: Floats = (losses - mean) ** 2 + bits.sum(axis=1) / np.float32(12.0)
        variance: Floats = (squares * self.shares).sum(axis=0)
        return mean, variance


def _losses(sum_bits: Floats, product_bits: Floats) -> Floats:
    """Return the truncation error of sums: half of the last bit of each addition and product, on average."""
    losses: Floats = -0.5 * (sum_bits + product_bits)
    return losses


def byte_start(
    columns: Columns,
    constants: Floats,
    bias_factor: float,
    texels: Texels,
    strides: Sequence[int],
) -> float:
    """Return the initial value of sums with 8-bit weights in a texture (shaders/convolution_bytes.frag).

    Products with weights and with their zero point are summed separately, in sums equal for all channels. Therefore one
    value is enough.

    Args:
        columns: layout of the kernel's columns.
        constants: bytes of all slices divided by 255, (slices, columns, 4), with three columns of biases last.
        bias_factor: factor of the biases.
        texels: of the padded input.
        strides: (y, x).
    """
    if isinstance(columns, DepthwiseColumns):
        return 0.0  # its sums are small and have both signs
    positions = _sample_positions(columns, texels, strides, constants.size)
    windows = _windows(columns, texels, positions, strides)
    biases = np.array([65536.0, 256.0, 1.0], np.float32)[:, None] * np.float32(bias_factor)
    losses: list[float] = []
    totals_by_reads: dict[tuple[int, ...], tuple[Floats, Floats]] = {}
    for group in simulated_sums.groups(columns, len(positions[0])):
        reads = columns.read_by(group[0])
        if reads not in totals_by_reads:
            lanes = windows.factors(reads)[:, :, 0]
            factors = np.concatenate([lanes, np.broadcast_to(biases, (3, lanes.shape[1]))])
            weight_factors = factors[:-2].T
            total = np.cumsum(weight_factors, axis=1, dtype=np.float32)
            total_bits = np.where(weight_factors != 0.0, simulated_sums.last_bits(total), np.float32(0.0)).sum(
                axis=1, keepdims=True
            )
            totals_by_reads = {reads: (factors, total_bits)}
        factors, total_bits = totals_by_reads[reads]
        bits = simulated_sums.byte_product_bits(factors, constants[group])
        remainder = np.ascontiguousarray((bits - 128.0 / 255.0 * total_bits[:, :, None]).transpose(1, 0, 2))
        losses += [0.5 * float(mean) for mean in remainder.reshape(len(group), -1).mean(axis=1)]
    return -float(np.mean(losses))


def _sample_positions(
    columns: Columns, texels: Texels, strides: Sequence[int], weights: int
) -> tuple[Indices, Indices, Indices]:
    """Return (images, rows, columns) of the pixels at which a layer's sums are simulated; they are deterministic."""
    return _spread_positions(columns, texels, strides, int(np.clip(MOST_ADDITIONS // weights, FEWEST, POSITIONS)))


def column_factors(
    columns: Columns, texels: Texels, strides: Sequence[int], count: int
) -> Callable[[Sequence[int]], Floats]:
    """Return a function from input slices to the texel values that multiply the columns, at about ``count`` pixels.

    It returns (columns, positions, 1), or (columns, positions, 4) for a depthwise layer.
    """
    return _windows(columns, texels, _spread_positions(columns, texels, strides, count), strides).factors


def _spread_positions(
    columns: Columns, texels: Texels, strides: Sequence[int], count: int
) -> tuple[Indices, Indices, Indices]:
    height = (texels.size[0] - (columns.kernel_height - 1) * columns.dilations[0] - 1) // strides[0] + 1
    width = (texels.size[1] - (columns.kernel_width - 1) * columns.dilations[1] - 1) // strides[1] + 1
    indices = ((np.arange(count) + 0.5) * (height * width / count)).astype(np.int64)
    return np.arange(count) % PICTURES, indices // width, indices * 7919 % width


def _windows(
    columns: Columns, texels: Texels, positions: Sequence[Indices], strides: Sequence[int]
) -> simulated_sums.Windows:
    """Return the texel values that the columns of weights multiply, at ``positions`` (pictures, rows, columns)."""
    rows, cols = (
        np.repeat(np.arange(columns.kernel_height), columns.kernel_width) * columns.dilations[0],
        np.tile(np.arange(columns.kernel_width), columns.kernel_height) * columns.dilations[1],
    )
    pictures, y, x = (indices[:, None] for indices in positions)
    pictures = np.broadcast_to(pictures, (len(pictures), len(rows)))
    texels_at_taps = texels.at(pictures, y * strides[0] + rows, x * strides[1] + cols)
    return simulated_sums.Windows(columns, texels_at_taps)
