"""Which layers need one zero point or one scale for all channels, and which are outputs to look at."""

from __future__ import annotations

from glsl_infer import ops
from glsl_infer.graph import Graph
from glsl_infer.graph.purposes import IMAGE


def constraints(graph: Graph) -> tuple[set[str], set[str]]:
    """Return the nodes whose channels need one zero point (a reader pads them), and those that need one scale."""
    common: set[str] = set()
    equal = _images(graph)
    for node in reversed(graph.nodes):
        operator = ops.get(node.op)
        for name in node.inputs:
            first = name == node.inputs[0]
            if (first and operator.padding(node)) or (operator.keeps_range and node.name in common):
                common.add(name)
            if operator.equal_scales or (operator.keeps_range and node.name in equal):
                equal.add(name)
    return common | equal, equal


def shown_by(graph: Graph) -> set[str]:
    """Return the nodes whose values the output shows, moved at most: a picture should keep its whole range."""
    shown = _images(graph)
    for node in reversed(graph.nodes):
        if node.name in shown and ops.get(node.op).keeps_range:
            shown.update(node.inputs)
    return shown


def _images(graph: Graph) -> set[str]:
    """Return the nodes whose values are outputs to look at."""
    return {layer for output in graph.outputs if graph.purpose(output) == IMAGE for layer in output.layers}
