"""Ranges of 16-bit maps with headroom, because their steps are fine enough."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np

from glsl_infer import ops
from glsl_infer.compiler.ranges.constraints import padded_16_bit_joins
from glsl_infer.compiler.ranges.eight_bits import RangeChoice, choice_of, function_ends
from glsl_infer.compiler.ranges.intervals import covering_range, range_of
from glsl_infer.graph import Graph, Node
from glsl_infer.graph.activations.activation import INFINITY, Activation
from glsl_infer.graph.activations.powers import at_least, clip
from glsl_infer.program.layout import Range

HEADROOM_16BIT = 1.5
"""Additional factor for the range of a 16-bit map. It takes less than one bit; clipping unseen values costs more."""


def widen_ranges(
    graph: Graph, wider: Mapping[str, Range], choices: Sequence[RangeChoice]
) -> tuple[Graph, tuple[RangeChoice, ...]]:
    """Give layers of 16 bits a range with headroom, in which none of the observed values saturates.

    All channels have the same range, so that shaders have fewer constants and weights fit a texture. A channel that
    needs 1/64 of the range still has 10 bits. The layers of a padded concatenated map get one zero point, because a
    texture is cleared to one colour.

    Args:
        graph: a graph with ranges and bits.
        wider: the wider ranges from ``eight_bits.assign_ranges``.
        choices: the choices from ``eight_bits.assign_ranges``.

    Returns:
        The graph, and the choices with those of the changed layers replaced.
    """
    new_ranges, exceeding = _new_ranges(graph, wider)
    nodes: dict[str, Node] = {}
    ranges: dict[str, Range] = {}
    for node in graph.nodes:
        widened_node = node
        if node.name in new_ranges:
            layer_range = new_ranges[node.name]
            widened_node = node.with_attrs(scales=layer_range.scales, zeros=layer_range.zeros)
            if node.name in exceeding:
                widened_node = widened_node.with_activation(_with_explicit_clipping(node.activation))
        elif node.attrs.get("bits") == 16 and ops.get(node.op).keeps_range and "scales" in ops.get(node.op).attrs:
            input_range = ranges[node.inputs[0]]  # also if the input only reorders another layer's channels
            widened_node = node.with_attrs(scales=input_range.scales, zeros=input_range.zeros)
        nodes[node.name] = widened_node
        if len(graph.shapes[node.name]) == 3 and "scale" not in ops.get(node.op).attrs:
            ranges[node.name] = range_of(graph, widened_node, ranges)
    changed = {
        choice.layer: choice_of(
            choice.layer, new_ranges[choice.layer], "maximum" if choice.layer in wider else choice.by
        )
        for choice in choices
        if choice.layer in new_ranges
    }
    return graph.rebuilt(nodes.values()), tuple(changed.get(choice.layer, choice) for choice in choices)


def _new_ranges(graph: Graph, wider: Mapping[str, Range]) -> tuple[dict[str, Range], set[str]]:
    """Return the changed ranges, and the layers whose range can exceed the values of their function."""
    new_ranges: dict[str, Range] = {}
    exceeding: set[str] = set()
    for node in graph.nodes:
        if node.attrs.get("bits") == 16 and node.name in wider:
            new_ranges[node.name] = widened(node, wider[node.name])
    for group in _groups(graph):
        separate = [new_ranges.get(name) or _stored_range(graph.by_name[name]) for name in group]
        if len({zero for layer in separate for zero in layer.zeros}) > 1:
            new_ranges.update(zip(group, _with_one_zero(separate)))
            exceeding.update(group)
    return new_ranges, exceeding


def widened(node: Node, wider: Range) -> Range:
    """Return the range of a layer in 16 bits, the same for all channels.

    Args:
        node: the layer.
        wider: its wider range from ``eight_bits.assign_ranges``.
    """
    lowest, highest = function_ends(node)
    observed = wider.ends(max(len(wider.scales), len(wider.zeros)))
    low, high = (HEADROOM_16BIT * float(end) for end in (observed[0].min(), observed[1].max()))
    return _covering(max(low, lowest), min(high, highest))


@lru_cache(maxsize=4096)
def _covering(low: float, high: float) -> Range:
    """Return the range of an interval; cached, because a search for maps in 16 bits uses the same ones."""
    return covering_range(np.array([low]), np.array([high]), common=True, equal=True, headroom=1.0)


def _groups(graph: Graph) -> list[list[str]]:
    """Return disjoint groups of layers with a common zero point."""
    bits = {node.name: node.attrs["bits"] for node in graph.nodes if "bits" in node.attrs}
    groups: list[frozenset[str]] = []
    for layers in padded_16_bit_joins(graph, bits).values():
        overlapping = [group for group in groups if group & layers]
        groups = [group for group in groups if not group & layers] + [layers.union(*overlapping)]
    return [sorted(group) for group in groups]


def _with_explicit_clipping(function: Activation) -> Activation:
    """Return a function with explicit clipping, independent of the ends of a range."""
    if not function.clips or (not function.bounded and function.low == -INFINITY):
        return function
    return clip(function.low, function.high) if function.bounded else at_least(function.low)


def _stored_range(node: Node) -> Range:
    return Range(tuple(node.attrs["scales"]), tuple(node.attrs["zeros"]))


def _with_one_zero(ranges: Sequence[Range]) -> list[Range]:
    """Return ranges with a common zero point that cover other ranges, each with one scale for all its channels."""
    ends = [layer.ends(max(len(layer.scales), len(layer.zeros))) for layer in ranges]
    low, high = np.array([np.min(lows) for lows, _ in ends]), np.array([np.max(highs) for _, highs in ends])
    covering = covering_range(low, high, common=True, equal=False, headroom=1.0)
    scales = np.broadcast_to(np.array(covering.scales, np.float32), len(ranges))
    return [Range((float(scale),), covering.zeros) for scale in scales]
