"""Converters of Keras' attention layers: nodes for the CPU."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glsl_infer.graph import Node, Shape
from glsl_infer.importers.keras.call import Call, array


def attention(call: Call) -> list[Node]:
    """Convert an ``Attention`` layer on [query, value] or [query, value, key]."""
    _require_plain(call)
    if any(len(shape) != 2 for shape in call.shapes):
        shapes = ", ".join(map(str, call.shapes))
        raise call.refused(f"attention on tensors of shape {shapes}", "reshape them to (positions, features)")
    layer = call.layer
    if layer.score_mode != "dot":
        raise call.refused(f"score_mode='{layer.score_mode}'", "use 'dot'")
    scale = 1.0 if layer.scale is None else float(array(layer.scale).reshape(()))
    return [_attention(call.name, _operands(call, call.inputs), {"heads": 1, "scale": scale})]


def multi_head_attention(call: Call) -> list[Node]:
    """Convert a ``MultiHeadAttention`` on a query and a value, and optionally a separate key."""
    _require_plain(call)
    layer = call.layer
    if getattr(layer, "_use_gate", False):
        raise call.refused("a gate in it", "use it without")
    query, value, key = _by_role(call)
    heads = int(layer.num_heads)
    parts = (("query", query, layer.query_dense), ("key", key, layer.key_dense), ("value", value, layer.value_dense))
    nodes = [_projection(f"{call.name}-{part}", source, dense) for part, source, dense in parts]
    # The first node of a call has its name. The last is its output.
    nodes[0] = Node(call.name, nodes[0].op, nodes[0].inputs, nodes[0].attrs, nodes[0].weights)
    operands = (call.name, nodes[1].name, nodes[2].name)
    attrs = {"heads": heads, "scale": 1.0 / math.sqrt(float(layer.key_dim))}
    shapes = [shape for _, shape in sorted(_shapes_by_role(call).items())]
    if all(len(shape) == 2 for shape in shapes):
        nodes.append(_attention(f"{call.name}-attention", operands, attrs))
    else:
        widths = [int(array(dense.kernel).size // array(dense.kernel).shape[0]) for _, _, dense in parts]
        nodes += _of_axes(call, operands, [(*shape[:-1], width) for shape, width in zip(shapes, widths)], attrs)
    output = layer.output_dense
    kernel = array(output.kernel)
    weights: dict[str, NDArray[np.float32]] = {"kernel": kernel.reshape(-1, kernel.shape[-1])}
    if output.bias is not None:
        weights["bias"] = array(output.bias)
    return [*nodes, Node(f"{call.name}-output", "linear", (nodes[-1].name,), {}, weights)]


def _shapes_by_role(call: Call) -> dict[int, Shape]:
    """Return the shapes of query (0), key (1) and value (2)."""
    shapes = dict(zip(call.inputs, call.shapes))
    query, value, key = _by_role(call)
    return {0: shapes[query], 1: shapes[key], 2: shapes[value]}


def _of_axes(call: Call, operands: tuple[str, ...], shapes: Sequence[Shape], attrs: Mapping[str, Any]) -> list[Node]:
    """Return the nodes of attention over some axes of maps, separately for each index of the other axes.

    Args:
        call: the call of the layer.
        operands: query, key and value, with the values of all heads in their last axis.
        shapes: shapes of the operands.
        attrs: ``heads`` and ``scale``.
    """
    rank, heads = len(shapes[0]), int(attrs["heads"])
    batch = len(call.arguments[0].shape) - rank  # 0 if the parts of the batch have an axis
    over = tuple(int(axis) - batch for axis in getattr(call.layer, "_attention_axes", None) or range(1, rank))
    batch_axes = tuple(axis for axis in range(rank - 1) if axis not in over)
    order = (*batch_axes, *over, rank - 1)
    if any(len(shape) != rank for shape in shapes) or not set(over) <= set(range(rank - 1)):
        raise call.refused(f"attention over axes {over} of {', '.join(map(str, shapes))}", "give all as many axes")
    nodes: list[Node] = []

    def add(part: str, op: str, reads: Sequence[str], **settings: Any) -> str:
        nodes.append(Node(f"{call.name}-{part}", op, tuple(reads), settings))
        return nodes[-1].name

    ready, alone = [], tuple(shapes[0][axis] for axis in batch_axes)
    for part, name, shape in zip(("query", "keys", "values"), operands, shapes):
        transposed = add(f"{part}-moved", "tensor_transpose", [name], axes=order)
        positions = math.prod(shape[axis] for axis in over)
        groups = (math.prod(alone), positions, heads, shape[-1] // heads)
        cut = add(f"{part}-heads", "tensor_reshape", [transposed], shape=groups)
        ready.append(add(f"{part}-first", "tensor_transpose", [cut], axes=(0, 2, 1, 3)))
    query, keys, values = ready
    scores = add("scores", "matmul", [query, keys], transpose_b=True, scale=attrs["scale"])
    mixed = add("mixed", "matmul", [add("softmax", "tensor_softmax", [scores], axis=-1), values])
    merged = add("joined", "tensor_transpose", [mixed], axes=(0, 2, 1, 3))
    sizes = (*alone, *(shapes[0][axis] for axis in over), shapes[2][-1])
    reshaped = add("whole", "tensor_reshape", [merged], shape=sizes)
    add("back", "tensor_transpose", [reshaped], axes=tuple(order.index(axis) for axis in range(rank)))
    return nodes


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
    """Return query, key and value from [query, value] or [query, value, key]."""
    if len(inputs) not in (2, 3):
        raise call.refused(f"{len(inputs)} tensors", "give a query and a value, and a key if it is another")
    return inputs[0], inputs[-1], inputs[1]


def _by_role(call: Call) -> tuple[str, str, str]:
    query, key, value = _operands(call, call.inputs)
    return query, value, key


def _require_plain(call: Call) -> None:
    """Refuse masks, and scores as an output."""
    masks = [argument for argument in call.arguments if getattr(argument, "dtype", None) == "bool"]
    if masks or any(argument is True for argument in call.arguments):
        raise call.refused(
            "a mask, a causal mask or its scores as a result", "call it on query, value and key, and nothing else"
        )
