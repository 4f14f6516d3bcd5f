"""Observations of layers on calibration images: extremes, and histograms of value sizes by channel and image."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from glsl_infer.graph import Graph, reference
from glsl_infer.graph.reference import Inputs
from glsl_infer.program.layout import Range
from glsl_infer.support.parallel import parallel_map

BINS = 4096

Extremes = tuple[NDArray[np.float64], NDArray[np.float64]]
"""The lowest and highest value of every channel, (channels,) each."""


def extremes(
    graph: Graph, names: Collection[str], pictures: Sequence[Inputs], percentile: float = 100.0
) -> dict[str, Extremes]:
    """Return the extremes of some layers over all pixels of all images, computed in float32.

    Args:
        graph: a graph at any stage of compilation.
        names: names of the layers.
        pictures: calibration inputs, as for ``reference.run``; at least one.
        percentile: 100 for the lowest and highest value; 99.9 leaves out the highest and the lowest 0.1 % of each
            channel's values.
    """

    @np.errstate(over="ignore", invalid="ignore")
    def ends(picture: Inputs) -> dict[str, Extremes]:
        return {
            name: (values.min(axis=0).astype(np.float64), values.max(axis=0).astype(np.float64))
            for name, values in _values(graph, names, picture)
        }

    seen: dict[str, Extremes] = {}
    for result in parallel_map(ends, pictures):
        for name, (low, high) in result.items():
            before = seen.get(name, (low, high))
            seen[name] = np.minimum(low, before[0]), np.maximum(high, before[1])
    if percentile >= 100.0:
        return seen
    counts = {name: np.zeros((len(low), BINS), np.int64) for name, (low, _) in seen.items()}
    for name, values in (result for picture in pictures for result in _values(graph, names, picture)):
        low, high = seen[name]
        span = np.where(high > low, high - low, 1.0)
        bins = np.clip(((values - low) / span * BINS).astype(np.int64), 0, BINS - 1)
        flat = bins + BINS * np.arange(len(low))
        counts[name] += np.bincount(flat.reshape(-1), minlength=counts[name].size).reshape(counts[name].shape)
    return {name: _percentiles(count, seen[name], percentile) for name, count in counts.items()}


def _values(graph: Graph, names: Collection[str], picture: Inputs) -> Iterator[tuple[str, NDArray[np.floating]]]:
    """Yield the name of each layer and its values, (pixels, channels), for an image."""
    for name, value in reference.layers(graph, picture, mode="float", names=names):
        if name in names:
            yield name, np.asarray(value).reshape(-1, value.shape[-1])


def _percentiles(counts: NDArray[np.int64], ends: Extremes, percentile: float) -> Extremes:
    """Return the edges of the bins beyond which less than the given share of values remains on either side."""
    low, high = ends
    below = np.cumsum(counts, axis=1)
    total = below[:, -1:]
    left_out = total * (1.0 - percentile / 100.0)
    first = (below <= left_out).sum(axis=1)
    last = (below < total - left_out).sum(axis=1)
    step = (high - low) / BINS
    return low + first * step, low + (last + 1) * step


STEPS = 8
"""Bins of the histogram in an octave."""

OCTAVES = 24
"""Sizes are from ``2 ** -OCTAVES`` to ``2 ** OCTAVES``; smaller and larger values count as these."""

SIZES = 2 * OCTAVES * STEPS
AT_A_TIME = 1 << 16
"""Number of values counted at a time, limited to keep them in a CPU cache."""

DEEP = 10
"""Octaves below a layer's largest value stored for each image. Smaller values only count as not 0."""


def _places() -> NDArray[np.intp]:
    """Return the index in the histogram of each value, by the upper 16 bits of its float32.

    Indices of negative values are ``SIZES`` higher than those of positive ones. The index of 0 comes last.
    """
    upper = np.arange(2**15, dtype=np.uint32)
    with np.errstate(all="ignore"):
        middle = ((upper << 16) + 0x8000).view(np.float32).astype(np.float64)
        bins = np.floor(np.log2(middle) * STEPS) + OCTAVES * STEPS
    bins = np.clip(np.nan_to_num(bins, nan=0, posinf=SIZES - 1), 0, SIZES - 1).astype(np.intp)
    bins[0] = 2 * SIZES
    return np.concatenate([bins, np.where(bins == 2 * SIZES, bins, bins + SIZES)])


PLACES = _places()


@dataclass(frozen=True)
class Observation:
    """Observations of a layer for one image.

    Attributes:
        low, high: (channels,): the extremes.
        energy: (channels,): the mean square.
        moved: (channels,): the share of values other than 0. Zeros have no rounding error.
        first: index of the first stored size in the histogram.
        shares: (2, channels, sizes): the share of positive and of negative values of each size.
    """

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    energy: NDArray[np.float64]
    moved: NDArray[np.float64]
    first: int
    shares: NDArray[np.float32]


def observe(graph: Graph, names: Collection[str], pictures: Sequence[Inputs]) -> dict[str, list[Observation]]:
    """Return the observations of some layers for each image, computed in float32.

    Args:
        graph: a graph at any stage of compilation.
        names: names of the layers.
        pictures: calibration inputs, as for ``reference.run``; at least one.
    """

    @np.errstate(over="ignore", invalid="ignore")
    def shown_by(picture: Inputs) -> dict[str, Observation]:
        return {
            name: _shown(np.asarray(value, np.float32).reshape(-1, value.shape[-1]))
            for name, value in reference.layers(graph, picture, mode="float", names=names)
            if name in names
        }

    seen: dict[str, list[Observation]] = {name: [] for name in names}
    for observations in parallel_map(shown_by, pictures):
        for name, observation in observations.items():
            seen[name].append(observation)
    return seen


def extremes_of(seen: Sequence[Observation]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the lowest and the highest value of every channel, (channels,) each, over all images."""
    return np.stack([image.low for image in seen]).min(axis=0), np.stack([image.high for image in seen]).max(axis=0)


def share_beyond(seen: Observation, chosen: Range) -> float:
    """Return the share of an image's energy beyond the ends of a range, by the histogram of sizes."""
    ends = chosen.ends(len(seen.low))
    sizes = 2.0 ** ((seen.first + np.arange(seen.shares.shape[2]) + 0.5) / STEPS - OCTAVES)
    beyond = sum(
        float((shares * np.maximum(sizes - end[:, None], 0.0) ** 2).sum())
        for shares, end in zip(seen.shares, (ends[1], -ends[0]))
    )
    return beyond / max(float(seen.energy.sum()), 1e-30)


def _shown(values: NDArray[np.float32]) -> Observation:
    """Return the observations of values (pixels, channels)."""
    values = np.ascontiguousarray(values)
    pixels, channels = values.shape
    width = 2 * SIZES + 1
    offsets = np.arange(channels) * width
    counts, energy = np.zeros(channels * width, np.int64), np.zeros(channels)
    rows = max(AT_A_TIME, channels * width) // channels
    for first in range(0, pixels, rows):
        block = values[first : first + rows]
        bins = PLACES.take(block.view(np.uint16).reshape(-1, channels, 2)[..., 1])
        bins += offsets
        counts += np.bincount(bins.ravel(), minlength=len(counts))
        exact = block.astype(np.float64)
        energy += np.square(exact, out=exact).sum(axis=0)
    counts = counts.reshape(channels, width)
    both = np.stack([counts[:, :SIZES], counts[:, SIZES : 2 * SIZES]])
    occupied = np.flatnonzero(both.any(axis=(0, 1)))
    end = int(occupied[-1]) + 1 if len(occupied) else DEEP * STEPS
    first = max(end - DEEP * STEPS, 0)
    low, high = values.min(axis=0).astype(np.float64), values.max(axis=0).astype(np.float64)
    return Observation(
        low,
        high,
        energy / pixels,
        1.0 - counts[:, -1] / pixels,
        first,
        (both[..., first:end] / pixels).astype(np.float32),
    )
