"""Which layers of an optimised graph the CPU computes: what has no shader, and what a person moves there."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from glsl_infer import cpu, ops
from glsl_infer.errors import InputError
from glsl_infer.graph import Graph, Node, Shape
from glsl_infer.graph.node import NORMAL, SEEN
from glsl_infer.ops.on_cpu import range_keys
from glsl_infer.ops.operator import GraphOnlyOperator
from glsl_infer.program.layout import MAX_TEXTURE_SIZE
from glsl_infer.support.near_names import did_you_mean

TEXTURE_RANKS = (1, 3)
"""Axes of what textures hold: vectors and feature maps."""


def cpu_layers(graph: Graph) -> tuple[str, ...]:
    """Return the layers that no shader can compute where they stand, in the graph's order."""
    return tuple(node.name for node in graph.nodes if not node.operator.is_input and _needs_cpu(graph, node))


def _needs_cpu(graph: Graph, node: Node) -> bool:
    operator, shape = ops.get(node.op), graph.shapes[node.name]
    if operator.on_cpu or (isinstance(operator, GraphOnlyOperator) and not operator.staged):
        return True
    if any(_fits_no_texture(graph.shapes[name]) for name in (node.name, *node.inputs)):
        return True
    return len(shape) == 1 and "scale" not in operator.attrs and not operator.staged


def _fits_no_texture(shape: Shape) -> bool:
    """Return whether a tensor is neither a vector nor a map, or has a longer side than any texture, as sounds."""
    return len(shape) not in TEXTURE_RANKS or (len(shape) == 3 and max(shape[:2]) > MAX_TEXTURE_SIZE)


def named_layers(graph: Graph, names: Sequence[str]) -> tuple[str, ...]:
    """Return the nodes that compute layers which a person moves to the CPU.

    Args:
        graph: an optimised graph, in which a node may stand for several layers.
        names: of layers of the original network.

    Raises:
        InputError: there is no such layer, or the optimiser has removed it.
    """
    owners = {layer: node.name for node in graph.nodes for layer in (*node.attrs.get("fused", ()), node.name)}
    given = {node.name for node in graph.nodes if node.operator.is_input or ops.get(node.op).is_constant}
    for name in names:
        if owners.get(name, name) in given or name not in owners:
            known = [node.name for node in graph.nodes if node.name not in given]
            meant = did_you_mean(name, known)
            raise InputError(
                f"--delegate-for {name}: no layer of that name computes{meant}; there are: {', '.join(known)}"
            )
    return tuple(dict.fromkeys(owners[name] for name in names))


def moved(node: Node) -> Node:
    """Return a node as CPU parts have it: by an operator of the CPU that does the same, or as ``cpu:NAME``."""
    if ops.get(node.op).on_cpu:
        return replace(node, attrs={key: value for key, value in node.attrs.items() if key not in (NORMAL, SEEN)})
    if node.op == "reshape":
        return replace(node, op="tensor_reshape", attrs={"shape": node.attrs["shape"]})
    if node.op == "softmax":
        return replace(node, op="tensor_softmax", attrs={"axis": -1})
    if node.op == "activation":
        return replace(node, op="tensor_function", attrs={"function": node.attrs["function"]})
    dropped = (*range_keys(ops.get(node.op)), "fused", NORMAL, SEEN)
    attrs = {key: value for key, value in node.attrs.items() if key not in dropped}
    return replace(node, op=f"{cpu.FORCED}{node.op}", attrs=attrs)


def described(graph: Graph, layers: Collection[str]) -> str:
    """Return the operators of some layers, each with how often it is there."""
    counts: dict[str, int] = {}
    for node in graph.nodes:
        if node.name in layers:
            counts[node.op] = counts.get(node.op, 0) + 1
    return ", ".join(f"{count} {op}" for op, count in counts.items())
