"""The range of a layer with the least expected error, by the observed calibration images and by others like them.

The error of a range is ``step ** 2 / 12`` wherever a value is rounded, plus the square of the clipped excess times
``SATURATION``. Clipping has a higher weight because neighbouring values saturate in the same direction, and because the
largest values are often the most important ones for a network.

The weight of an image is higher if its layer can be more exact. An image with exploding values must not make the steps
of all others coarse, and a channel that is active in a single image must not be clipped. Therefore the error of an
image is divided by ``NOISE`` of its energy plus its own error. This error depends on the ranges, so a few rounds are
needed. They minimise the sum of the errors' logarithms.

To allow for images that were not observed, the statistics of each channel are mixed with the mean of its layer, which
counts as ``PRIOR`` images. Every value can be larger, by less the more images there are (``SPREAD``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from glsl_infer.compiler.ranges.observed import OCTAVES, STEPS, Observation
from glsl_infer.program.layout import Range, compact

SATURATION = 4.0
"""Weight of a clipped square compared with a rounded one."""
NOISE = 1e-4
"""Error floor as a share of a layer's energy. Smaller errors gain nothing, because earlier layers have as much."""
PRIOR = 0.05
"""Weight of the layer's mean statistics in those of a channel, in images."""
SPREAD = 0.3
"""Standard deviation of the natural logarithm of the ratio of a value in another image to that in a single one."""
NARROWEST = 1.0 / 64.0
"""Least ratio of a channel's scale to the largest scale of its layer."""
GRID_OCTAVES_BELOW = 14
"""Octaves below a layer's largest value covered by the grid."""
GRID_OCTAVES_ABOVE = 2
"""Octaves above the largest value."""
CANDIDATES_PER_OCTAVE = 6
"""Candidate scales per octave."""
CANDIDATE_OCTAVES_BELOW = 7
"""Octaves of candidate scales below the width of the observed values."""
ROUNDS = 3
"""Number of iterations of the images' weights and the ranges."""
ZEROS: NDArray[np.float64] = np.arange(0.0, 256.0, 5.0)
"""Candidate zero points."""
CHUNK = 128
"""Number of channels processed at once, to limit the memory."""
LIMIT_TOLERANCE = 1.0 - 1e-6
"""Tolerance for an end rounded to float32."""

Array = NDArray[np.float64]


def fits(extremes: tuple[Array, Array]) -> bool:
    """Return whether the largest value of a layer is within the sizes of the grid."""
    largest = max(-float(extremes[0].min()), float(extremes[1].max()))
    return 2.0 ** (2 - OCTAVES) < largest < 2.0 ** (OCTAVES - GRID_OCTAVES_ABOVE)


def least_error_range(
    observations: Sequence[Observation], low: float, high: float, *, common: bool, equal: bool
) -> Range:
    """Return the range of least expected error, with integer zero points.

    Args:
        observations: observations of each image.
        low: the lowest possible value of the layer's function.
        high: the highest possible value.
        common: give all channels the same zero point, because a gutter has one colour.
        equal: give all channels the same zero point and the same scale.
    """
    lowest = min(max(float(np.min([image.low for image in observations])), low), 0.0)
    highest = max(min(float(np.max([image.high for image in observations])), high), 0.0)
    scales, zeros = _candidates(lowest, highest, low, high)
    last = max(image.first + image.shares.shape[2] for image in observations) + GRID_OCTAVES_ABOVE * STEPS
    edges = 2.0 ** (np.arange(last - (GRID_OCTAVES_BELOW + GRID_OCTAVES_ABOVE) * STEPS, last) / STEPS - OCTAVES)
    tails = [_tails(observations, side, last) for side in range(2)]
    nonzero_share = np.stack([image.moved for image in observations])
    energy = np.stack([image.energy for image in observations]).mean(axis=1)
    # If most images are black, the median is 0. If all are, any weight will do.
    energy = np.maximum(energy, max(0.01 * np.median(energy), 1e-6 * energy.max()) or 1.0)
    floor, weights = NOISE * energy, 1.0 / energy
    above, below = scales * (255.0 - zeros[:, None]) / 255.0, scales * zeros[:, None] / 255.0
    step = (scales / 255.0) ** 2 / 12.0
    share = PRIOR / (len(observations) + PRIOR)
    for _ in range(ROUNDS):
        summed = [np.einsum("p,pce->ce", weights, side) for side in tails]
        summed = [(1.0 - share) * side + share * side.mean(axis=0) for side in summed]
        rounded = weights @ nonzero_share
        errors = np.empty((len(rounded), len(zeros), len(scales)), np.float32)
        for first in range(0, len(rounded), CHUNK):
            channels = slice(first, first + CHUNK)
            clipped = _tails_at_candidates(summed[0][channels], edges, above, high)
            clipped = clipped + _tails_at_candidates(summed[1][channels], edges, below, -low)
            errors[channels] = rounded[channels, None, None] * step + SATURATION * clipped
        zero, scale = _least(errors, common=common, equal=equal)
        zero, scale = np.broadcast_to(zero, len(rounded)), np.broadcast_to(scale, len(rounded))
        ends = above[zero, scale], below[zero, scale]
        beyond = [
            _tails_at_channel_ends(side, edges, end, limit) for side, end, limit in zip(tails, ends, (high, -low))
        ]
        clipped = beyond[0] + beyond[1]
        weights = 1.0 / (floor + (nonzero_share * step[scale] + SATURATION * clipped).mean(axis=1))
    widths = np.maximum(scales[scale], NARROWEST * scales[scale].max()).astype(np.float32)
    return Range(compact([float(width) for width in widths]), compact([float(point) for point in zeros[zero]]))


@dataclass(frozen=True)
class ClippedEnergy:
    """Clipped energy of images as a function of the ends of ranges.

    Attributes:
        edges: (ends,): ends on a grid.
        tails: clipped energy of the values and of the negated values, (images, channels, ends); see ``_tails``.
        highs: the largest values, (images, channels).
        lows: the smallest values, (images, channels).
    """

    edges: Array
    tails: tuple[Array, Array]
    highs: Array
    lows: Array


def clipped_energy_of(observations: Sequence[Observation]) -> ClippedEnergy:
    """Return the clipped energy of observed images for all ends on the grid."""
    last = max(image.first + image.shares.shape[2] for image in observations) + 1
    edges = 2.0 ** (np.arange(last - (GRID_OCTAVES_BELOW + GRID_OCTAVES_ABOVE) * STEPS, last) / STEPS - OCTAVES)
    tails = _tails(observations, 0, last, extrapolate=False), _tails(observations, 1, last, extrapolate=False)
    return ClippedEnergy(
        edges, tails, np.stack([image.high for image in observations]), np.stack([image.low for image in observations])
    )


def clipped_energy(shares: ClippedEnergy, above: Array, below: Array, low: float, high: float) -> Array:
    """Return the energy clipped from images by ranges, (images, channels).

    Args:
        shares: clipped energy of the images.
        above: (channels,): the upper ends of the ranges.
        below: (channels,): the negated lower ends.
        low: the lowest possible value of the layer's function.
        high: the highest possible value.
    """
    tails, edges = shares.tails, shares.edges
    clipped = [np.where(shares.highs > above, _tails_at_channel_ends(tails[0], edges, above, high), 0.0)]
    clipped.append(np.where(-shares.lows > below, _tails_at_channel_ends(tails[1], edges, below, -low), 0.0))
    total: Array = clipped[0] + clipped[1]
    return total


def _candidates(lowest: float, highest: float, low: float, high: float) -> tuple[Array, Array]:
    """Return candidate scales and zero points."""
    zeros = ZEROS
    if lowest >= 0.0:
        zeros = ZEROS[:1]
    elif highest <= 0.0:
        zeros = ZEROS[-1:]
    largest = highest - lowest
    first, last = -CANDIDATE_OCTAVES_BELOW * CANDIDATES_PER_OCTAVE, GRID_OCTAVES_ABOVE * CANDIDATES_PER_OCTAVE
    scales = largest * 2.0 ** (np.arange(first, last + 1) / CANDIDATES_PER_OCTAVE)
    if high < np.inf and lowest >= 0.0:
        scales = np.append(scales[scales < high], high)
    return scales, zeros


def _least(errors: NDArray[np.float32], *, common: bool, equal: bool) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the indices of zero points and scales, for each channel or for all."""
    if equal:
        total = errors.sum(axis=0)
        cell = np.unravel_index(int(total.argmin()), total.shape)
        return np.array([int(cell[0])]), np.array([int(cell[1])])
    scale = errors.argmin(axis=2)
    best = errors.min(axis=2)
    zero = np.full(len(best), best.sum(axis=0).argmin()) if common else best.argmin(axis=1)
    return zero, np.take_along_axis(scale, zero[:, None], axis=1)[:, 0]


def _tails(observations: Sequence[Observation], side: int, last: int, *, extrapolate: bool = True) -> Array:
    """Return the energy beyond each end of the grid: the mean of ``max(x - end, 0) ** 2``, (images, channels, ends).

    Args:
        observations: observations of each image.
        side: 0 for positive values, 1 for negative ones.
        last: index after the last end of the grid, in the grid of ``observed``.
        extrapolate: spread the observed sizes, to estimate images like the observed ones.
    """
    count = (GRID_OCTAVES_BELOW + GRID_OCTAVES_ABOVE) * STEPS
    first = last - count
    tails = np.zeros((len(observations), len(observations[0].low), count))
    spread = _spread_matrix(len(observations), count) if extrapolate else None
    middle = 2.0 ** ((np.arange(last - 1, first - 1, -1) + 0.5) / STEPS - OCTAVES)
    edges = 2.0 ** (np.arange(last - 1, first - 1, -1) / STEPS - OCTAVES)
    for index, image in enumerate(observations):  # one image after another: its shares fit into a CPU cache
        histogram = image.shares[side]
        # All shares of a dark image can be below the first end.
        begin = min(max(first - image.first, 0), histogram.shape[1])
        if not histogram[:, begin:].any():  # for example the negative side after a ReLU
            continue
        start = image.first + begin - first
        shares = np.zeros(tails.shape[1:])
        shares[:, start : start + histogram.shape[1] - begin] = histogram[:, begin:]
        if spread is not None:
            shares = shares @ spread
        # From the last end down, because cumulative sums are fastest along memory.
        shares = np.ascontiguousarray(shares[:, ::-1])
        count_beyond, sum_beyond, squares_beyond = (np.cumsum(shares * middle**power, axis=-1) for power in range(3))
        squares_beyond -= 2.0 * edges * sum_beyond
        squares_beyond += edges**2 * count_beyond
        tails[index] = np.maximum(squares_beyond, 0.0, out=squares_beyond)[:, ::-1]
    return tails


def _spread_matrix(pictures: int, count: int) -> Array:
    """Return a matrix from the size distribution of images to that of similar ones, (sizes, sizes).

    Each size spreads to larger and smaller ones by a normal distribution of the logarithm.
    """
    sizes = np.arange(count)
    width = SPREAD * pictures**-0.5 * STEPS / np.log(2.0)
    reach = np.exp(-0.5 * ((sizes - sizes[:, None]) / width) ** 2)
    matrix: Array = reach / reach.sum(axis=1, keepdims=True)
    return matrix


def _grid_position(edges: Array, ends: Array) -> tuple[NDArray[np.int64], Array]:
    """Return the positions of ends in the grid: the index below, and the fraction beyond it."""
    position = np.log2(np.maximum(ends, edges[0]) / edges[0]) * STEPS
    position = np.clip(position, 0.0, len(edges) - 1.001)
    whole = position.astype(np.int64)
    return whole, position - whole


def _tails_at_candidates(tails: Array, edges: Array, ends: Array, limit: float) -> Array:
    """Return tails (channels, grid) interpolated at any ends, (channels, zeros, scales); 0 at and beyond ``limit``."""
    whole, share = _grid_position(edges, ends)
    return np.where(ends >= limit * LIMIT_TOLERANCE, 0.0, tails[:, whole] * (1.0 - share) + tails[:, whole + 1] * share)


def _tails_at_channel_ends(tails: Array, edges: Array, ends: Array, limit: float) -> Array:
    """Return tails (images, channels, grid) interpolated at an end for each channel, (images, channels)."""
    whole, share = _grid_position(edges, ends)
    channel = np.arange(len(ends))
    energy = tails[:, channel, whole] * (1.0 - share) + tails[:, channel, whole + 1] * share
    return np.where(ends >= limit * LIMIT_TOLERANCE, 0.0, energy)
