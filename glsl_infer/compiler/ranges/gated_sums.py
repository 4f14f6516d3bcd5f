"""Fusion of products into the sums that read them, which saves a job and a rounding."""

from __future__ import annotations

from dataclasses import replace

from glsl_infer import ops
from glsl_infer.graph import Graph, Node
from glsl_infer.graph.activations.clipped import LINEAR


def gated_sums(graph: Graph) -> Graph:
    """Return a graph with ranges in which sums of a product and one other map are ``gated_sum`` nodes."""
    outputs = {layer for output in graph.outputs for layer in output.layers}
    gone: set[str] = set()
    changed: dict[str, Node] = {}
    for node in graph.nodes:
        two = len(node.inputs) == len({*node.inputs}) == 2
        if not ops.get(node.op).adds or not two or len(graph.shapes[node.name]) != 3:
            continue
        for product, other in (node.inputs, node.inputs[::-1]):
            read = graph.by_name[product]
            if product not in outputs | gone and len(graph.consumers[product]) == 1 and _is_product(read):
                gone.add(product)
                changed[node.name] = replace(node, op="gated_sum", inputs=(*read.inputs, other))
                break
    return graph.rebuilt([changed.get(node.name, node) for node in graph.nodes if node.name not in gone])


def _is_product(node: Node) -> bool:
    multiplies = ops.get(node.op).broadcasts and node.attrs.get("operation") == "multiply"
    return multiplies and node.activation == LINEAR
