"""Extreme values of layers on calibration images."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from glsl_infer.graph import Graph, reference
from glsl_infer.graph.reference import Inputs
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
    for found in parallel_map(ends, pictures):
        for name, (low, high) in found.items():
            before = seen.get(name, (low, high))
            seen[name] = np.minimum(low, before[0]), np.maximum(high, before[1])
    if percentile >= 100.0:
        return seen
    counts = {name: np.zeros((len(low), BINS), np.int64) for name, (low, _) in seen.items()}
    for name, values in (found for picture in pictures for found in _values(graph, names, picture)):
        low, high = seen[name]
        span = np.where(high > low, high - low, 1.0)
        bins = np.clip(((values - low) / span * BINS).astype(np.int64), 0, BINS - 1)
        flat = bins + BINS * np.arange(len(low))
        counts[name] += np.bincount(flat.reshape(-1), minlength=counts[name].size).reshape(counts[name].shape)
    return {name: _percentiles(count, seen[name], percentile) for name, count in counts.items()}


def _values(graph: Graph, names: Collection[str], picture: Inputs) -> Iterator[tuple[str, NDArray[np.floating]]]:
    """Yield the name of each layer and its values, (pixels, channels), for an image."""
    for name, value in reference.layers(graph, picture, mode="float", wanted=names):
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
