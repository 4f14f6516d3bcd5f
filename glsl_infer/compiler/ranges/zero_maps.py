"""Maps of zeros, which padding by channels makes: those that are stored alike are drawn once."""

from __future__ import annotations

from glsl_infer import ops
from glsl_infer.graph import Graph, Node
from glsl_infer.graph.activations.clipped import LINEAR


def zeros_once(graph: Graph) -> Graph:
    """Let one layer stand for all that are zeros of one shape, range and precision, and drop what only those read.

    Each would be a job of its own; on VideoCore IV that takes longer than what is drawn in it. A prepared graph is
    given: before ranges and precision are chosen, layers of one shape need not be stored alike.
    """
    first: dict[str, str] = {}
    renamed: dict[str, str] = {}
    outputs = {layer for output in graph.outputs for layer in output.layers}
    for node in graph.nodes:
        if node.name in outputs or not _is_zero(node):
            continue
        attrs = {name: value for name, value in node.attrs.items() if name not in ("fused", "groups")}
        key = repr((graph.shapes[node.name], sorted(attrs.items(), key=lambda item: item[0])))
        if first.setdefault(key, node.name) != node.name:
            renamed[node.name] = first[key]
    if not renamed:
        return graph
    made = graph.rebuilt([node for node in graph.nodes if node.name not in renamed], renamed)
    needed = set(outputs)
    for node in reversed(made.nodes):
        if node.name in needed or not node.inputs:
            needed.update((node.name, *node.inputs))
    return made.rebuilt([node for node in made.nodes if node.name in needed])


def _is_zero(node: Node) -> bool:
    """Return whether a node's output is 0 whatever it reads."""
    alone = ops.get(node.op).convolves and len(node.inputs) == 1 and node.activation == LINEAR
    return alone and not any(weights.any() for weights in node.weights.values())
