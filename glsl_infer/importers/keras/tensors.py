"""Keras layers and operations on tensors of any rank -> nodes for the CPU.

They are used if an input or output is neither a vector nor a map, or if a layer does not have a shader.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glsl_infer.graph import Node
from glsl_infer.importers.keras import (
    activations,
    geometry,
    sequences,
    tensor_fills,
    tensor_numbers,
    tensor_places,
    tensor_statistics,
    transforms,
)
from glsl_infer.importers.keras.attention import attention, multi_head_attention
from glsl_infer.importers.keras.batch_places import order_of
from glsl_infer.importers.keras.call import Call, Converter
from glsl_infer.importers.keras.constant_products import by_matrix, by_matrix_or
from glsl_infer.importers.keras.moves import norm
from glsl_infer.importers.keras.tensor_numbers import binary, reduction
from glsl_infer.importers.keras.tensor_products import dot, einsum, einsum_dense, linear, matmul
from glsl_infer.importers.keras.weights import array
from glsl_infer.program.layout import TEXTURE_RANKS


def in_textures(call: Call) -> bool:
    """Return whether all tensors of a call are vectors or maps."""
    return all(len(shape) in TEXTURE_RANKS for shape in (*call.shapes, call.shape))


def renames(call: Call, chain: Sequence[Any]) -> list[Node]:
    """Return the nodes of a chain of reshapes and transpositions, one per operation; [] if they mix batches.

    Args:
        call: the call for the entire chain.
        chain: Keras tensors from the result back to the input of the chain.
    """
    nodes: list[Node] = []
    before = call.inputs[0]
    for number, (tensor, source) in enumerate(zip(reversed(chain[:-1]), reversed(chain))):
        operation, shape = tensor._keras_history.operation, tuple(tensor.shape[1:])
        name = call.name if not number else f"{call.name}-{number + 1}"
        axes = order_of(operation, len(source.shape))
        if axes is None:
            if math.prod(shape) != math.prod(source.shape[1:]):
                return []
            nodes.append(Node(name, "reshape", (before,), {"shape": shape}))
        elif axes[0] != 0:
            return []
        else:
            nodes.append(Node(name, "tensor_transpose", (before,), {"axes": tuple(axis - 1 for axis in axes[1:])}))
        before = name
    return nodes


def _reshape(call: Call) -> list[Node]:
    wanted = getattr(call.layer, "newshape", (-1,))
    if wanted[0] not in (-1, 1, None):
        raise call.refused(f"a reshape to {tuple(wanted)}", "use layers.Reshape, which leaves out the batch")
    return [call.node("reshape", {"shape": call.shape})]


def _transpose(call: Call) -> list[Node]:
    axes = call.layer.axes
    if axes is None or axes[0] != 0:
        raise call.refused(f"a transposition to {axes}", "keep the batch as the first axis")
    return [call.node("tensor_transpose", {"axes": tuple(int(axis) - 1 for axis in axes[1:])})]


def _permute(call: Call) -> list[Node]:
    return [call.node("tensor_transpose", {"axes": tuple(int(axis) - 1 for axis in call.layer.dims)})]


def _softmax(call: Call) -> list[Node]:
    over, given = tensor_numbers.axes(call, call.layer.axis), call.shapes[0]
    if len(over) == 1:
        return [call.node("tensor_softmax", {"axis": over[0]})]
    others = [axis for axis in range(len(given)) if axis not in over]  # the axes become the last axis together
    order = (*others, *sorted(over))
    made = tensor_numbers.Chain(call)
    made.add("tensor_transpose", {"axes": order})
    made.add("tensor_reshape", {"shape": (*(given[axis] for axis in others), math.prod(given[axis] for axis in over))})
    made.add("tensor_softmax", {"axis": len(others)})
    made.add("tensor_reshape", {"shape": tuple(given[axis] for axis in order)})
    made.add("tensor_transpose", {"axes": tuple(order.index(axis) for axis in range(len(given)))})
    return made.nodes


def _concat(call: Call) -> list[Node]:
    return [call.node("tensor_concat", {"axis": tensor_numbers.axis(call, call.layer.axis)})]


def _layer_norm(call: Call) -> list[Node]:
    layer, axes = call.layer, tensor_numbers.axes(call, call.layer.axis)
    shape = tuple(size if axis in axes else 1 for axis, size in enumerate(call.shapes[0]))
    weights = {
        name: array(value).reshape(shape)
        for name, value in (("gamma", layer.gamma), ("beta", layer.beta))
        if value is not None
    }
    return [call.node("tensor_norm", {"axes": axes, "epsilon": float(layer.epsilon)}, **weights)]


def _ordered(op: str, attrs: Callable[[Call], dict[str, Any]]) -> Converter:
    return lambda call: [call.node(op, attrs(call))]


def _argmax(call: Call) -> list[Node]:
    nodes = [call.node("tensor_argmax", {"axis": tensor_numbers.axis(call, call.layer.axis)})]
    if call.layer.keepdims:
        nodes.append(Node(f"{call.name}-kept", "tensor_reshape", (call.name,), {"shape": call.shape}))
    return nodes


def _top_k(call: Call) -> list[Node]:
    result = "values" if call.output == 0 else "indices"
    return [call.node("top_k", {"k": int(call.layer.k), "result": result})]


def _function(call: Call, found: activations.Found) -> list[Node]:
    return [call.node("tensor_function", {"function": found(call, call.layer).text})]


def _functions(kinds: Mapping[str, activations.Found]) -> dict[str, Converter]:
    def converter(found: activations.Found) -> Converter:
        return lambda call: _function(call, found)

    return {name: converter(found) for name, found in kinds.items()}


def _average(call: Call) -> list[Node]:
    nodes = tensor_numbers.chain(call, "add")
    scaled = Node(f"{call.name}-mean", "tensor_binary", (nodes[-1].name,), {"operation": "divide"})
    count: NDArray[np.float32] = np.asarray(len(call.inputs), np.float32)
    return [*nodes, Node(scaled.name, scaled.op, scaled.inputs, scaled.attrs, {"constant": count.reshape(1)})]


LAYERS: Mapping[str, Converter] = {
    "Add": binary("add"),
    "Attention": attention,
    "Average": _average,
    "Concatenate": _concat,
    "Dense": linear,
    "Dot": dot,
    "EinsumDense": einsum_dense,
    "Flatten": _reshape,
    "GlobalAveragePooling1D": reduction("mean", lambda layer: 1),
    "GlobalMaxPooling1D": reduction("max", lambda layer: 1),
    "LayerNormalization": _layer_norm,
    "Maximum": binary("maximum"),
    "Minimum": binary("minimum"),
    "MultiHeadAttention": multi_head_attention,
    "Multiply": binary("multiply"),
    "Permute": _permute,
    "Softmax": _softmax,
    "Subtract": binary("subtract"),
    **tensor_places.LAYERS,
    **sequences.LAYERS,
    **tensor_statistics.LAYERS,
    **_functions(activations.LAYERS),
}
"""Converters of layers by class name."""

OPERATIONS: Mapping[str, Converter] = {
    "AffineTransform": transforms.affine,
    "Reshape": _reshape,
    "Argmax": _argmax,
    "Argsort": _ordered("sort", lambda call: {"axis": tensor_numbers.axis(call, call.layer.axis), "result": "indices"}),
    "Concatenate": _concat,
    "Cumsum": _ordered("cumulative_sum", lambda call: {"axis": tensor_numbers.axis(call, call.layer.axis)}),
    "CropImages": geometry.crop_images,
    "Dot": by_matrix,
    "Einsum": by_matrix_or(einsum),
    "ExpandDims": _reshape,
    "Matmul": by_matrix_or(matmul),
    "Norm": norm,
    "PadImages": geometry.pad_images,
    "Tensordot": by_matrix,
    "Softmax": _softmax,
    "Sort": _ordered("sort", lambda call: {"axis": tensor_numbers.axis(call, call.layer.axis)}),
    "Squeeze": _reshape,
    "TopK": _top_k,
    "Transpose": _transpose,
    **tensor_fills.ON_CPU,
    **tensor_numbers.OPERATIONS,
    **tensor_places.OPERATIONS,
    **tensor_statistics.OPERATIONS,
    **_functions(activations.OPERATIONS),
}
"""Converters of operations by class name."""
