"""Ranges of 16-bit maps with headroom, because their steps are fine enough."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np

from glsl_infer import ops
from glsl_infer.compiler.ranges.constraints import put_together
from glsl_infer.compiler.ranges.eight_bits import RangeChoice, choice_of, function_ends
from glsl_infer.compiler.ranges.intervals import covering_range, range_of
from glsl_infer.graph import Graph, Node
from glsl_infer.graph.activations.activation import INFINITY, Activation
from glsl_infer.graph.activations.powers import at_least, clip
from glsl_infer.program.layout import Range

HEADROOM_16BIT = 1.5
"""Additional factor for the range of a 16-bit map. Clipping of unseen values costs more than one of 16 bits."""


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
    wide: dict[str, Range] = {}
    below: set[str] = set()  # layers whose range can exceed the values of their function
    for node in graph.nodes:
        if node.attrs.get("bits") == 16 and node.name in wider:
            wide[node.name] = widened(node, wider[node.name])
    for group in _groups(graph):
        separate = [wide.get(name) or _own(graph.by_name[name]) for name in group]
        if len({zero for layer in separate for zero in layer.zeros}) > 1:
            wide.update(zip(group, _with_one_zero(separate)))
            below.update(group)
    nodes: dict[str, Node] = {}
    ranges: dict[str, Range] = {}
    for node in graph.nodes:
        widened_node = node
        if node.name in wide:
            widened_node = node.with_attrs(scales=wide[node.name].scales, zeros=wide[node.name].zeros)
            if node.name in below:
                widened_node = widened_node.with_activation(_in_text(node.activation))
        elif node.attrs.get("bits") == 16 and ops.get(node.op).keeps_range and "scales" in ops.get(node.op).attrs:
            input_range = ranges[node.inputs[0]]  # also if the input only reorders another layer's channels
            widened_node = node.with_attrs(scales=input_range.scales, zeros=input_range.zeros)
        nodes[node.name] = widened_node
        if len(graph.shapes[node.name]) == 3 and "scale" not in ops.get(node.op).attrs:
            ranges[node.name] = range_of(graph, widened_node, ranges)
    changed = {
        line.layer: choice_of(line.layer, wide[line.layer], "maximum" if line.layer in wider else line.by)
        for line in choices
        if line.layer in wide
    }
    return graph.rebuilt(nodes.values()), tuple(changed.get(choice.layer, choice) for choice in choices)


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
    """Return the range of an interval; cached, because a search for maps in 16 bits asks for the same ones."""
    return covering_range(np.array([low]), np.array([high]), common=True, equal=True, headroom=1.0)


def _groups(graph: Graph) -> list[list[str]]:
    """Return disjoint groups of layers with a common zero point."""
    bits = {node.name: node.attrs["bits"] for node in graph.nodes if "bits" in node.attrs}
    groups: list[frozenset[str]] = []
    for more in put_together(graph, bits).values():
        overlapping = [group for group in groups if group & more]
        groups = [group for group in groups if not group & more] + [more.union(*overlapping)]
    return [sorted(group) for group in groups]


def _in_text(function: Activation) -> Activation:
    """Return a function with explicit clipping, independent of the ends of a range."""
    if not function.clips or (not function.bounded and function.low == -INFINITY):
        return function
    return clip(function.low, function.high) if function.bounded else at_least(function.low)


def _own(node: Node) -> Range:
    return Range(tuple(node.attrs["scales"]), tuple(node.attrs["zeros"]))


def _with_one_zero(ranges: Sequence[Range]) -> list[Range]:
    """Return ranges with a common zero point to cover the given ones, each with one scale for all its channels."""
    ends = [layer.ends(max(len(layer.scales), len(layer.zeros))) for layer in ranges]
    low, high = (np.array([pick(end[which]) for end in ends]) for which, pick in ((0, np.min), (1, np.max)))
    covering = covering_range(low, high, common=True, equal=False, headroom=1.0)
    scales = np.broadcast_to(np.array(covering.scales, np.float32), len(ranges))
    return [Range((float(scale),), covering.zeros) for scale in scales]
