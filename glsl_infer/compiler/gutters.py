"""Widths of the gutters of zeros around the tiles of each output."""

from __future__ import annotations

from glsl_infer import ops
from glsl_infer.graph import Graph
from glsl_infer.ops.operator import ViewOperator


def gutters(graph: Graph) -> dict[str, int]:
    """Return the gutter of each output in texels: the largest padding among its readers."""
    needed: dict[str, int] = {}
    for node in reversed(graph.nodes):
        needed[node.name] = 0
        for reader in graph.consumers[node.name]:
            operator = ops.get(reader.op)
            if isinstance(operator, ViewOperator):
                needed[node.name] = max(needed[node.name], needed[reader.name])
            elif reader.inputs[0] == node.name:
                needed[node.name] = max(needed[node.name], operator.padding(reader))
    return needed
