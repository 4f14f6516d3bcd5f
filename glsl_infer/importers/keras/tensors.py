"""Keras layers and operations on tensors of any rank -> nodes that the CPU computes.

They take over where textures cannot: a tensor in or out is neither a vector nor a map, or the layer exists here alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glsl_infer.cpu.kernel import axis_of
from glsl_infer.graph import Node
from glsl_infer.importers.keras import activations
from glsl_infer.importers.keras.attention import attention, multi_head_attention
from glsl_infer.importers.keras.call import Call, Converter
from glsl_infer.importers.keras.tensor_products import dot, einsum, is_tensor, linear, matmul
from glsl_infer.importers.keras.weights import array

TEXTURE_RANKS = (1, 3)
"""Axes of what textures hold, without the batch: vectors and maps."""


def in_textures(call: Call) -> bool:
    """Return whether all tensors of a call are vectors and maps."""
    return all(len(shape) in TEXTURE_RANKS for shape in (*call.shapes, call.shape))


def _axis(call: Call, axis: Any) -> int:
    """Return an axis of the first input, given as Keras counts it: the batch is axis 0."""
    rank = len(call.shapes[0])
    if isinstance(axis, (list, tuple)) and len(axis) == 1:
        (axis,) = axis
    if not isinstance(axis, int) or axis == 0 or axis == -rank - 1:
        raise call.refused(f"axis={axis}", "give one axis, not that of the batch")
    try:
        return axis_of(axis - 1 if axis > 0 else axis, rank)
    except ValueError as error:
        raise call.refused(str(error), "give an axis that it has") from None


def _axes(call: Call, axis: Any) -> tuple[int, ...]:
    if axis is None:
        raise call.refused("axis=None", "name the axes, without that of the batch")
    return tuple(_axis(call, one) for one in (axis if isinstance(axis, (list, tuple)) else [axis]))


def renames(call: Call, chain: Sequence[Any]) -> list[Node]:
    """Return the nodes of a chain of reshapes and transpositions, link by link; none where they mix batches.

    Args:
        call: of the whole chain.
        chain: Keras tensors from the result back to what the chain reads.
    """
    nodes: list[Node] = []
    before = call.inputs[0]
    for number, (tensor, source) in enumerate(zip(reversed(chain[:-1]), reversed(chain))):
        operation, shape = tensor._keras_history.operation, tuple(tensor.shape[1:])
        name = call.name if not number else f"{call.name}-{number + 1}"
        axes = _order(operation, len(source.shape))
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


def _order(operation: Any, rank: int) -> tuple[int, ...] | None:
    """Return the order that a transposition gives the axes, that of the batch among them; None of a reshape."""
    order = np.arange(rank)
    kind = type(operation).__name__
    if kind == "Permute":
        return (0, *(int(axis) for axis in operation.dims))
    if kind == "Transpose":
        return tuple(int(axis) for axis in (operation.axes or order[::-1]))
    if kind == "Swapaxes":
        order[[operation.axis1, operation.axis2]] = order[[operation.axis2, operation.axis1]]
        return tuple(order.tolist())
    if kind == "Moveaxis":
        sizes = np.empty(tuple(range(2, rank + 2)), np.int8)
        return tuple(size - 2 for size in np.moveaxis(sizes, operation.source, operation.destination).shape)
    return None


def _reshape(call: Call) -> list[Node]:
    return [call.node("reshape", {"shape": call.shape})]


def _transpose(call: Call) -> list[Node]:
    axes = call.layer.axes
    if axes is None or axes[0] != 0:
        raise call.refused(f"a transposition to {axes}", "keep the batch as the first axis")
    return [call.node("tensor_transpose", {"axes": tuple(int(axis) - 1 for axis in axes[1:])})]


def _permute(call: Call) -> list[Node]:
    return [call.node("tensor_transpose", {"axes": tuple(int(axis) - 1 for axis in call.layer.dims)})]


def _softmax(call: Call) -> list[Node]:
    return [call.node("tensor_softmax", {"axis": _axis(call, call.layer.axis)})]


def _concat(call: Call) -> list[Node]:
    return [call.node("tensor_concat", {"axis": _axis(call, call.layer.axis)})]


def _layer_norm(call: Call) -> list[Node]:
    layer, axes = call.layer, _axes(call, call.layer.axis)
    shape = tuple(size if axis in axes else 1 for axis, size in enumerate(call.shapes[0]))
    weights = {
        name: array(value).reshape(shape)
        for name, value in (("gamma", layer.gamma), ("beta", layer.beta))
        if value is not None
    }
    return [call.node("tensor_norm", {"axes": axes, "epsilon": float(layer.epsilon)}, **weights)]


def _reduction(kind: str, axis: Callable[[Any], Any] = lambda layer: layer.axis) -> Converter:
    def convert(call: Call) -> list[Node]:
        attrs = {"reduction": kind, "axes": _axes(call, axis(call.layer)), "keep": bool(call.layer.keepdims)}
        return [call.node("tensor_reduce", attrs)]

    return convert


def _binary(operation: str) -> Converter:
    """Return the converter of an operation on tensors from left to right, or on a tensor and a constant."""

    def convert(call: Call) -> list[Node]:
        given = call.arguments[0] if isinstance(call.arguments[0], (list, tuple)) else call.arguments
        constants = [value for value in given if not is_tensor(value)]
        if not constants:
            return _chain(call, operation)
        if len(call.inputs) != 1 or len(constants) != 1 or constants[0] is None:
            raise call.refused(f"{operation} of {len(given)} values", "give it two")
        constant: NDArray[np.float32] = np.asarray(array(constants[0]), np.float32)
        if constant.ndim > len(call.shapes[0]):
            if constant.shape[0] != 1:
                raise call.refused(f"{operation} of a constant of shape {constant.shape}", "give it no batch")
            constant = constant[0]
        attrs = {"operation": operation, "constant_first": not is_tensor(given[0])}
        return [call.node("tensor_binary", attrs, constant=constant)]

    return convert


def _chain(call: Call, operation: str) -> list[Node]:
    nodes: list[Node] = []
    left = call.inputs[0]
    for number, right in enumerate(call.inputs[1:]):
        name = call.name if not number else f"{call.name}-{number + 1}"
        nodes.append(Node(name, "tensor_binary", (left, right), {"operation": operation}))
        left = name
    return nodes


def _ordered(op: str, attrs: Callable[[Call], dict[str, Any]]) -> Converter:
    return lambda call: [call.node(op, attrs(call))]


def _argmax(call: Call) -> list[Node]:
    nodes = [call.node("tensor_argmax", {"axis": _axis(call, call.layer.axis)})]
    if call.layer.keepdims:
        nodes.append(Node(f"{call.name}-kept", "tensor_reshape", (call.name,), {"shape": call.shape}))
    return nodes


def _top_k(call: Call) -> list[Node]:
    result = "values" if call.output == 0 else "indices"
    return [call.node("top_k", {"k": int(call.layer.k), "result": result})]


def _cast(call: Call) -> list[Node]:
    if "float" not in str(call.layer.dtype):
        raise call.refused(f"a cast to {call.layer.dtype}", "cast to a float, or leave it out")
    return [call.node("identity")]


def _function(call: Call, found: activations.Found) -> list[Node]:
    return [call.node("tensor_function", {"function": found(call, call.layer).text})]


def _functions(kinds: Mapping[str, activations.Found]) -> dict[str, Converter]:
    def converter(found: activations.Found) -> Converter:
        return lambda call: _function(call, found)

    return {name: converter(found) for name, found in kinds.items()}


def _average(call: Call) -> list[Node]:
    nodes = _chain(call, "add")
    scaled = Node(f"{call.name}-mean", "tensor_binary", (nodes[-1].name,), {"operation": "divide"})
    count: NDArray[np.float32] = np.asarray(len(call.inputs), np.float32)
    return [*nodes, Node(scaled.name, scaled.op, scaled.inputs, scaled.attrs, {"constant": count.reshape(1)})]


LAYERS: Mapping[str, Converter] = {
    "Add": _binary("add"),
    "Attention": attention,
    "Average": _average,
    "Concatenate": _concat,
    "Dense": linear,
    "Dot": dot,
    "Flatten": _reshape,
    "GlobalAveragePooling1D": _reduction("mean", lambda layer: 1),
    "GlobalMaxPooling1D": _reduction("max", lambda layer: 1),
    "LayerNormalization": _layer_norm,
    "Maximum": _binary("maximum"),
    "Minimum": _binary("minimum"),
    "MultiHeadAttention": multi_head_attention,
    "Multiply": _binary("multiply"),
    "Permute": _permute,
    "Softmax": _softmax,
    "Subtract": _binary("subtract"),
    **_functions(activations.LAYERS),
}
"""Converters of layers by class name."""

OPERATIONS: Mapping[str, Converter] = {
    "Add": _binary("add"),
    "Argmax": _argmax,
    "Argsort": _ordered("sort", lambda call: {"axis": _axis(call, call.layer.axis), "result": "indices"}),
    "Cast": _cast,
    "Concatenate": _concat,
    "Divide": _binary("divide"),
    "Einsum": einsum,
    "ExpandDims": _reshape,
    "Matmul": matmul,
    "Max": _reduction("max"),
    "Maximum": _binary("maximum"),
    "Mean": _reduction("mean"),
    "Min": _reduction("min"),
    "Minimum": _binary("minimum"),
    "Multiply": _binary("multiply"),
    "Softmax": _softmax,
    "Sort": _ordered("sort", lambda call: {"axis": _axis(call, call.layer.axis)}),
    "Squeeze": _reshape,
    "Subtract": _binary("subtract"),
    "Sum": _reduction("sum"),
    "TopK": _top_k,
    "Transpose": _transpose,
    "TrueDivide": _binary("divide"),
    **_functions(activations.OPERATIONS),
}
"""Converters of operations by class name."""
