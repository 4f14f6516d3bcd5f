"""Elementwise Keras layers and operations of several tensors -> nodes."""

from __future__ import annotations

from glsl_infer.graph import Node
from glsl_infer.importers.keras.call import Call, Converter


def binary(operation: str) -> Converter:
    """Return the converter of ``operation`` (see ``ops.binary``) on two or more tensors, from left to right."""

    def convert(call: Call) -> list[Node]:
        if len(call.inputs) < 2:
            raise call.refused(f"{operation} of one tensor", "give it two")
        nodes: list[Node] = []
        left = call.inputs[0]
        for number, right in enumerate(call.inputs[1:]):
            name = call.name if not number else f"{call.name}-{number + 1}"
            nodes.append(Node(name, "binary", (left, right), {"operation": operation}))
            left = name
        return nodes

    return convert


def add(call: Call) -> list[Node]:
    """Convert an addition: one node for equal shapes, else with broadcasting."""
    if len(set(call.shapes)) == 1:
        return [call.node("add", {"activation": "linear"})]
    return binary("add")(call)


def average(call: Call) -> list[Node]:
    """Convert a mean of several tensors: their sum divided by the number of tensors."""
    nodes = add(call)
    scales = {"scales": (1.0 / len(call.inputs),), "offsets": (0.0,)}
    return [*nodes, Node(f"{call.name}-mean", "rescaling", (nodes[-1].name,), scales)]
