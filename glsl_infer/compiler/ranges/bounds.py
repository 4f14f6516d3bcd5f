"""Bounds of every output of a graph, once ranges are set and dense layers split."""

from __future__ import annotations

from collections.abc import Mapping

from glsl_infer import ops
from glsl_infer.graph import Graph, Node
from glsl_infer.ops.operator import Bounds
from glsl_infer.program.layout import Range


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
