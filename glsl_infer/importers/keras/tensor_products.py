"""Products of tensors: Dense on any rank, matmul, Dot and einsum -> operators of the CPU."""

from __future__ import annotations

from glsl_infer.graph import Node
from glsl_infer.importers.keras import activations
from glsl_infer.importers.keras.call import Call
from glsl_infer.importers.keras.weights import array, bias, kernel


def is_tensor(value: object) -> bool:
    """Whether an argument is a tensor of the model, not a constant."""
    return hasattr(value, "_keras_history")


def linear(call: Call) -> list[Node]:
    """Convert a Dense on a tensor of any rank."""
    weights = kernel(call)
    node = call.node("linear", {}, kernel=weights, bias=bias(call, weights.shape[1]))
    return [node, *activations.own_activation(call)]


def matmul(call: Call) -> list[Node]:
    """Convert a product of two tensors, or of a tensor and constants."""
    if len(call.inputs) == 1 and len(call.arguments) == 2 and is_tensor(call.arguments[0]):
        weights = array(call.arguments[1])
        if weights.ndim == 2:
            return [call.node("linear", {}, kernel=weights)]
    if len(call.inputs) != 2 or min(map(len, call.shapes)) < 2:
        shapes = " and ".join(map(str, call.shapes))
        raise call.refused(f"a matrix product of shapes {shapes}", "give two tensors of two axes or more, and a batch")
    return [call.node("matmul")]


def dot(call: Call) -> list[Node]:
    """Convert a Dot layer."""
    layer, (a, b) = call.layer, call.shapes
    axes = (layer.axes, layer.axes) if isinstance(layer.axes, int) else tuple(layer.axes)
    if layer.normalize:
        raise call.refused("normalize=True", "put a UnitNormalization in front of it")
    if 0 in axes:
        raise call.refused(f"axes={layer.axes}", "leave the batch out")
    left, right = "abcdef"[: len(a)], "uvwxyz"[: len(b)]
    i, j = (axis % (len(shape) + 1) - 1 for axis, shape in zip(axes, (a, b)))
    right = right.replace(right[j], left[i])
    result = left.replace(left[i], "") + right.replace(left[i], "")
    node = call.node("einsum", {"equation": f"{left},{right}->{result}"})
    if result:
        return [node]
    return [node, Node(f"{call.name}-vector", "tensor_reshape", (call.name,), {"shape": (1,)})]


def einsum(call: Call) -> list[Node]:
    """Convert Einstein's sum."""
    equation = str(call.layer.subscripts).replace(" ", "")
    terms, arrow, result = equation.partition("->")
    if "." in equation or not arrow or len(call.inputs) != terms.count(",") + 1:
        raise call.refused(f"the einsum '{equation}'", "give it tensors only, letters for all axes, and '->'")
    batch = result[:1]
    if not batch or any(not term.startswith(batch) for term in terms.split(",")):
        raise call.refused(f"the einsum '{equation}'", "let every tensor and the result begin with the batch")
    return [call.node("einsum", {"equation": equation.replace(batch, "")})]
