"""Fuse decomposed operators of an imported graph: ``x * sigmoid(x)``, ``relu6(x + 3) / 6``, ``1 / sqrt(x)``.

The patterns do not depend on the file format: each importer applies them to its graph.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from glsl_infer.graph import Graph, Node
from glsl_infer.graph.node import OBSERVED_RANGE

_TOLERANCE = 1e-6
"""Largest difference between a constant and its nominal value: a file has 1/6 as a 32-bit float."""


def fused(graph: Graph) -> Graph:
    """Return a graph in which each decomposed function is one operator."""
    for rewrite in _PATTERNS:
        graph = _rewritten(graph, rewrite)
    return graph


def _rewritten(graph: Graph, rewrite: Callable[[Graph, Node], Node | None]) -> Graph:
    """Replace nodes by the result of ``rewrite``, then drop the nodes without a reader."""
    nodes = []
    for node in graph.nodes:
        other = rewrite(graph, node)
        if other is not None and OBSERVED_RANGE in node.attrs:
            other = other.with_attrs(**{OBSERVED_RANGE: node.attrs[OBSERVED_RANGE]})
        nodes.append(other or node)
    read = set(graph.output_layers)
    kept: list[Node] = []
    for node in reversed(nodes):
        if node.name in read or node.operator.is_input or not graph.consumers[node.name]:
            read.update(node.inputs)
            kept.append(node)
    return Graph(graph.name, reversed(kept), graph.outputs)


def _hard_sigmoid(graph: Graph, node: Node) -> Node | None:
    """Return ``relu6(x + 3) / 6`` as a hard sigmoid."""
    inner = graph.by_name[node.inputs[0]] if _is_affine(node, 1.0 / 6.0, 0.0) else None
    source = None if inner is None else _clipped_source(graph, inner)
    return None if source is None else _activation(node, source, "hard_sigmoid")


def _hard_silu_late(graph: Graph, node: Node) -> Node | None:
    """Return ``(x * relu6(x + 3)) / 6`` as a hard swish."""
    if not _is_affine(node, 1.0 / 6.0, 0.0):
        return None
    product = graph.by_name[node.inputs[0]]
    if not _is_product(product):
        return None
    for x, gate in (product.inputs, product.inputs[::-1]):
        if _clipped_source(graph, graph.by_name[gate]) == x:
            return _activation(node, x, "hard_silu")
    return None


def _gated(graph: Graph, node: Node) -> Node | None:
    """Return ``x * gate(x)`` as one function: SiLU for a sigmoid, hard swish for a hard sigmoid."""
    if not _is_product(node):
        return None
    for x, gate in (node.inputs, node.inputs[::-1]):
        function = graph.by_name[gate].attrs.get("function", "") if graph.by_name[gate].op == "activation" else ""
        if function in _GATED and graph.by_name[gate].inputs == (x,):
            return _activation(node, x, _GATED[function])
    return None


def _square(graph: Graph, node: Node) -> Node | None:
    """Return ``x * x`` as a square."""
    is_square = _is_product(node) and node.inputs[0] == node.inputs[1]
    return _activation(node, node.inputs[0], "square") if is_square else None


def _inverse_root(graph: Graph, node: Node) -> Node | None:
    """Return ``1 / sqrt(x)`` as an inverse root."""
    if node.op != "activation" or node.attrs["function"] != "reciprocal":
        return None
    root = graph.by_name[node.inputs[0]]
    is_root = root.op == "activation" and root.attrs["function"] == "sqrt"
    return _activation(node, root.inputs[0], "rsqrt") if is_root else None


def _unit_length(graph: Graph, node: Node) -> Node | None:
    """Return a root mean square norm times a constant as a division by the vector's length, if the constants match."""
    if node.op not in ("channel_norm", "vector_norm") or node.attrs["kind"] != "rms" or node.attrs["epsilon"]:
        return None
    factors = np.asarray(node.attrs["gamma"]) * np.sqrt(graph.shapes[node.name][-1])
    same = np.abs(factors - 1.0).max() <= _TOLERANCE and not any(node.attrs["beta"])
    return node.with_attrs(kind="unit", gamma=(1.0,), beta=(0.0,)) if same else None


_PATTERNS = (_hard_sigmoid, _hard_silu_late, _gated, _square, _inverse_root, _unit_length)

_GATED = {"sigmoid": "silu", "hard_sigmoid": "hard_silu"}


def _clipped_source(graph: Graph, node: Node) -> str | None:
    """Return the node x of ``relu6(x + 3)``."""
    if node.op != "activation" or node.attrs["function"] != "relu(6)":
        return None
    shifted = graph.by_name[node.inputs[0]]
    return shifted.inputs[0] if _is_affine(shifted, 1.0, 3.0) else None


def _is_affine(node: Node, scale: float, offset: float) -> bool:
    if node.op != "rescaling":
        return False
    near = [np.abs(np.asarray(node.attrs[key]) - value) for key, value in (("scales", scale), ("offsets", offset))]
    return bool(max(part.max() for part in near) <= _TOLERANCE)


def _is_product(node: Node) -> bool:
    return node.op == "binary" and node.attrs["operation"] == "multiply" and node.attrs["activation"] == "linear"


def _activation(node: Node, source: str, function: str) -> Node:
    return Node(node.name, "activation", (source,), {"function": function})
