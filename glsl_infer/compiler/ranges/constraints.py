"""Constraints on zero points and scales: layers that need one of them for all channels, and outputs shown as images."""

from __future__ import annotations

from collections.abc import Mapping

from glsl_infer import ops
from glsl_infer.compiler.gutters import gutters
from glsl_infer.graph import Graph, Node
from glsl_infer.graph.purposes import IMAGE
from glsl_infer.ops.operator import ViewOperator


def constraints(graph: Graph) -> tuple[set[str], set[str]]:
    """Return the nodes that need one zero point for all channels (a reader pads), and those that need one scale."""
    common: set[str] = set()
    equal = _images(graph)
    for node in reversed(graph.nodes):
        operator = ops.get(node.op)
        for name in node.inputs:
            is_padded = name == node.inputs[0] and operator.padding(node)
            if is_padded or (operator.keeps_range and node.name in common):
                common.add(name)
            if operator.equal_scales or (operator.keeps_range and node.name in equal):
                equal.add(name)
    return common | equal, equal


def padded_16_bit_joins(graph: Graph, bits: Mapping[str, int]) -> dict[str, frozenset[str]]:
    """Return the layers of each drawn and padded 16-bit map with values of several layers, by its name.

    All of them need one zero point, because a texture is cleared to one colour and contains both tiles of a slice.

    Args:
        graph: an optimised graph.
        bits: 8 or 16 for every layer; others have those of their inputs if they keep the range, else 8.
    """
    gutter_of = gutters(graph)
    bits_of: dict[str, int] = {}
    sources: dict[str, frozenset[str]] = {}  # the layers whose ranges a map's values have
    joins = {}
    for node in graph.nodes:
        operator = ops.get(node.op)
        if operator.keeps_range and len(graph.shapes[node.name]) == 3 and node.inputs:
            inherited_bits = max(bits_of[name] for name in node.inputs)
            sources[node.name] = frozenset[str]().union(*(sources[name] for name in node.inputs))
        else:
            inherited_bits = 8
            sources[node.name] = frozenset([node.name])
        bits_of[node.name] = bits.get(node.name) or inherited_bits
        is_drawn = not isinstance(operator, ViewOperator)
        if bits_of[node.name] == 16 and gutter_of[node.name] and is_drawn and len(sources[node.name]) > 1:
            joins[node.name] = sources[node.name]
    return joins


def mixed_precision_joins(graph: Graph, bits: Mapping[str, int]) -> str | None:
    """Return a map whose layers cannot have one zero point: some are negative, and one has a fixed range. Else None."""
    for name, sources in padded_16_bit_joins(graph, bits).items():
        nodes = [graph.by_name[source] for source in sources]
        fixed = [node for node in nodes if bits.get(node.name) != 16 or node.activation.pieces is not None]
        if fixed and any(_goes_below(node) for node in nodes):
            return name
    return None


def _goes_below(node: Node) -> bool:
    return any(node.attrs["zeros"]) if node.operator.is_input else node.activation.low < 0.0


def shown_by(graph: Graph) -> set[str]:
    """Return the nodes that an output image shows, at most rearranged, and whose whole range it should keep."""
    names = _images(graph)
    for node in reversed(graph.nodes):
        if node.name in names and ops.get(node.op).keeps_range:
            names.update(node.inputs)
    return names


def _images(graph: Graph) -> set[str]:
    """Return the layers of output images."""
    return {layer for output in graph.outputs if graph.purpose(output) == IMAGE for layer in output.layers}
