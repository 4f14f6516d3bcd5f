"""Keras' attention layers -> nodes that the CPU computes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glsl_infer.graph import Node
from glsl_infer.importers.keras.call import Call
from glsl_infer.importers.keras.weights import array


def attention(call: Call) -> list[Node]:
    """Convert an ``Attention`` layer on [query, value] or [query, value, key]."""
    _require_plain(call)
    layer = call.layer
    if layer.score_mode != "dot":
        raise call.refused(f"score_mode='{layer.score_mode}'", "use 'dot'")
    scale = 1.0 if layer.scale is None else float(array(layer.scale).reshape(()))
    return [_attention(call.name, _operands(call, call.inputs), {"heads": 1, "scale": scale})]


def multi_head_attention(call: Call) -> list[Node]:
    """Convert a ``MultiHeadAttention`` on a query and a value, and a key if it is another tensor."""
    _require_plain(call)
    layer = call.layer
    if getattr(layer, "_use_gate", False):
        raise call.refused("a gate in it", "use it without")
    query, value, key = _by_role(call)
    heads = int(layer.num_heads)
    parts = (("query", query, layer.query_dense), ("key", key, layer.key_dense), ("value", value, layer.value_dense))
    nodes = [_projection(f"{call.name}-{part}", source, dense) for part, source, dense in parts]
    # The first node of a call bears its name; the last is its output.
    nodes[0] = Node(call.name, nodes[0].op, nodes[0].inputs, nodes[0].attrs, nodes[0].weights)
    operands = (call.name, nodes[1].name, nodes[2].name)
    scale = 1.0 / math.sqrt(float(layer.key_dim))
    nodes.append(_attention(f"{call.name}-attention", operands, {"heads": heads, "scale": scale}))
    output = layer.output_dense
    kernel = array(output.kernel)
    weights: dict[str, NDArray[np.float32]] = {"kernel": kernel.reshape(-1, kernel.shape[-1])}
    if output.bias is not None:
        weights["bias"] = array(output.bias)
    return [*nodes, Node(f"{call.name}-output", "linear", (nodes[-1].name,), {}, weights)]


def _attention(name: str, inputs: tuple[str, ...], attrs: dict[str, Any]) -> Node:
    return Node(name, "attention", inputs, attrs)


def _projection(name: str, source: str, dense: Any) -> Node:
    """Return a dense layer (features) -> (heads, width) as one matrix."""
    kernel = array(dense.kernel)
    weights: dict[str, NDArray[np.float32]] = {"kernel": kernel.reshape(kernel.shape[0], -1)}
    if dense.bias is not None:
        weights["bias"] = array(dense.bias).reshape(-1)
    return Node(name, "linear", (source,), {}, weights)


def _operands(call: Call, inputs: tuple[str, ...]) -> tuple[str, ...]:
    """Return query, key and value of [query, value] or [query, value, key]."""
    if len(inputs) not in (2, 3):
        raise call.refused(f"{len(inputs)} tensors", "give a query and a value, and a key if it is another")
    return inputs[0], inputs[-1], inputs[1]


def _by_role(call: Call) -> tuple[str, str, str]:
    query, key, value = _operands(call, call.inputs)
    return query, value, key


def _require_plain(call: Call) -> None:
    """Refuse masks, scores as a result, and tensors with more than one axis of positions."""
    masks = [given for given in call.arguments if getattr(given, "dtype", None) == "bool"]
    if masks or any(given is True for given in call.arguments):
        raise call.refused(
            "a mask, a causal mask or its scores as a result", "call it on query, value and key, and nothing else"
        )
    if any(len(shape) != 2 for shape in call.shapes):
        shapes = ", ".join(map(str, call.shapes))
        raise call.refused(f"attention on tensors of shape {shapes}", "reshape them to (positions, features)")
