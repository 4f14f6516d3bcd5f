"""Intervals of layers: interval arithmetic, and ranges that cover an interval.

The bytes of each channel cover its interval, and one of them stands for 0.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from glsl_infer import ops
from glsl_infer.bundle.format_constants import MAX_NUMBER
from glsl_infer.graph import Graph, Node
from glsl_infer.ops.operator import Bounds
from glsl_infer.program.layout import Range, compact


def bounds_of(graph: Graph, *, of_maps: bool = True) -> dict[str, Bounds]:
    """Return the lowest and highest value of every output channel, once ranges are set and dense layers split.

    Bounds of 16-bit values follow from those of their inputs by interval arithmetic (R. E. Moore, Interval Analysis,
    1966).

    Args:
        graph: a graph with ranges.
        of_maps: include all maps; else only those read by nodes that store 16-bit values.
    """
    ranges: dict[str, Range] = {}
    bounds: dict[str, Bounds] = {}
    read = {name for node in graph.nodes if "scale" in ops.get(node.op).attrs for name in node.inputs}
    for node in graph.nodes:
        operator = ops.get(node.op)
        if "scale" in operator.attrs:
            bounds[node.name] = operator.interval(node, graph.shapes[node.name], [bounds[name] for name in node.inputs])
        else:
            ranges[node.name] = range_of(graph, node, ranges)
            if of_maps or node.name in read:
                bounds[node.name] = ranges[node.name].ends(graph.shapes[node.name][-1])
    return bounds


def ranges_of(graph: Graph) -> dict[str, Range]:
    """Return the range of every 8-bit output, once ranges are set and dense layers split."""
    ranges: dict[str, Range] = {}
    for node in graph.nodes:
        if "scale" not in ops.get(node.op).attrs:
            ranges[node.name] = range_of(graph, node, ranges)
    return ranges


def range_of(graph: Graph, node: Node, before: Mapping[str, Range]) -> Range:
    """Return the range of a node's output from the ranges of the nodes before it."""
    shapes = [graph.shapes[name] for name in node.inputs]
    return ops.get(node.op).range(node, shapes, [before.get(name, Range()) for name in node.inputs])


NARROWEST = 1.0 / 64.0
"""Least width of a channel's range, as a share of the widest channel's.

A channel that is constant for the calibration images can vary for others.
"""

HEADROOM = 1.5
"""Factor by which ranges are wider than the observed values, if only extremes or percentiles are known."""

SMALLEST = 2.0**-80
"""Width below which a layer counts as constantly 0, because products of its scales would underflow float32."""

ZEROS = tuple(range(256))
"""Candidate zero points."""

LARGEST = MAX_NUMBER / 4.0
"""Largest end of a range. Readers bound the values of a map by up to three times that (``Ranged.largest``).

Headroom ends here, and larger values, as of the exponential of an exponential, saturate.
"""


def covering_range(
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    *,
    common: bool,
    equal: bool,
    headroom: float = HEADROOM,
    narrowest: float | NDArray[np.float64] = NARROWEST,
) -> Range:
    """Return a range with integer zero points that covers [low, high] of every channel, and 0.

    Args:
        low: lowest observed value of each channel, (channels,).
        high: highest observed value of each channel, (channels,).
        common: give all channels the same zero point, because a gutter has one colour.
        equal: give all channels the same zero point and the same scale.
        headroom: factor by which a channel's range is widened, up to the extremes of all channels.
        narrowest: least width of a channel's range, as a share of the widest channel's, for all channels or for each.
    """
    low, high = np.minimum(low, 0.0), np.maximum(high, 0.0)
    low, high = np.maximum(headroom * low, low.min()), np.minimum(headroom * high, high.max())
    low, high = np.maximum(low, -LARGEST), np.minimum(high, LARGEST)
    if equal:
        low, high = np.full_like(low, low.min()), np.full_like(high, high.max())
    widest = float((high - low).max())
    widest = 1.0 if widest < SMALLEST else widest
    high = np.where(high - low < narrowest * widest, low + narrowest * widest, high)
    # Of all zero points, take the one with the finest steps relative to the width of each channel.
    candidates = np.array(ZEROS, np.float64)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        above = np.where(high > 0, 255.0 * high / (255.0 - candidates), 0.0)
        below = np.where(low < 0, 255.0 * -low / candidates, 0.0)
    steps = np.maximum(above, below)
    waste = (steps / (high - low)) ** 2
    best = np.full(len(low), waste.sum(axis=1).argmin()) if common else waste.argmin(axis=0)
    zeros = candidates[best, 0]
    scales = np.take_along_axis(steps, best[None], axis=0)[0].astype(np.float32)
    return Range(compact([float(scale) for scale in scales]), compact([float(zero) for zero in zeros]))
