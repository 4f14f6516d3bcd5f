"""Converters of products of tensors and of constants: Dense of any rank, matmul, Dot and einsum."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glsl_infer.errors import ModelError
from glsl_infer.graph import Node
from glsl_infer.importers.core import emit
from glsl_infer.importers.keras import activations
from glsl_infer.importers.keras.call import Call, Converter, array, is_tensor, kernel

MOST_PRODUCTS = 1 << 24
"""Largest number of products of an einsum with a constant, because all of them can be in memory at once."""


Step = tuple[str, dict[str, Any], dict[str, NDArray[np.float32]]]
"""An operator, its attributes and its weights."""


def matmul(call: Call) -> list[Node]:
    """Convert a product of two tensors, or of a tensor and a constant."""
    if len(call.inputs) == 1 and len(call.arguments) == 2 and is_tensor(call.arguments[0]):
        weights = _matrix(call.arguments[1])
        if weights.ndim == 2:
            return [call.node("linear", {}, kernel=weights)]
    if len(call.inputs) == 1 and len(call.arguments) == 2 and is_tensor(call.arguments[1]) and len(call.shapes[0]) > 1:
        weights = _matrix(call.arguments[0])
        if weights.ndim == 2:
            return emit.matrix_times(call.name, call.inputs[0], len(call.shapes[0]), weights)
    if len(call.inputs) != 2 or min(map(len, call.shapes)) < 2:
        shapes = " and ".join(map(str, call.shapes))
        raise call.refused(f"a matrix product of shapes {shapes}", "give two tensors of two axes or more, and a batch")
    return [call.node("matmul")]


def _matrix(value: Any) -> NDArray[np.float32]:
    """Return a constant without the leading axes of 1 before its last two axes."""
    matrix = array(value)
    while matrix.ndim > 2 and matrix.shape[0] == 1:
        matrix = matrix[0]
    return matrix


def dot(call: Call) -> list[Node]:
    """Convert a Dot layer."""
    if len(call.shapes) != 2:
        raise call.refused("a dot product with a constant", "give it two tensors, or use keras.ops.matmul")
    layer, (a, b) = call.layer, call.shapes
    axes = (layer.axes, layer.axes) if isinstance(layer.axes, int) else tuple(layer.axes)
    if 0 in axes:
        raise call.refused(f"axes={layer.axes}", "leave the batch out")
    left, right = "abcdef"[: len(a)], "uvwxyz"[: len(b)]
    i, j = (axis % (len(shape) + 1) - 1 for axis, shape in zip(axes, (a, b)))
    right = right.replace(right[j], left[i])
    result = left.replace(left[i], "") + right.replace(left[i], "")
    nodes, names = list[Node](), list(call.inputs)
    for index, over in enumerate((i, j) if layer.normalize else ()):
        nodes += unit(f"{call.name}-right" if index else call.name, names[index], (over,), 1e-12)
        names[index] = nodes[-1].name
    name = f"{call.name}-dot" if nodes else call.name
    nodes.append(Node(name, "einsum", tuple(names), {"equation": f"{left},{right}->{result}"}))
    if not result:
        nodes.append(Node(f"{call.name}-vector", "tensor_reshape", (name,), {"shape": (1,)}))
    return nodes


def unit(name: str, source: str, over: tuple[int, ...], least: float) -> list[Node]:
    """Return the nodes of a tensor divided by its length over axes. The squared length is at least ``least``."""
    chain = emit.Chain(name, source, ())
    chain.add("tensor_binary", source, operation="multiply")
    chain.add("tensor_reduce", part="sum", reduction="sum", axes=over, keep=True)
    chain.add("tensor_binary", part="least", weights={"constant": [least]}, operation="maximum")
    chain.add("tensor_function", part="length", function="sqrt")
    chain.emit("tensor_binary", source, chain.last, part="unit", operation="divide")
    return chain.nodes


def einsum(call: Call) -> list[Node]:
    """Convert an einsum."""
    equation = str(call.layer.subscripts).replace(" ", "")
    terms, arrow, result = equation.partition("->")
    batch = result[:1]
    values = call.operands
    of_tensors = [term for term, value in zip(terms.split(","), values) if is_tensor(value)]
    if "." in equation or not arrow or len(call.inputs) != len(of_tensors):
        raise call.refused(f"the einsum '{equation}'", "give it letters for all axes, and '->'")
    if not batch or any(not term.startswith(batch) for term in of_tensors):
        raise call.refused(f"the einsum '{equation}'", "let every tensor and the result begin with the batch")
    if len(of_tensors) == len(values):
        return [call.node("einsum", {"equation": equation.replace(batch, "")})]
    constants = [array(value) for value in values if not is_tensor(value)]
    if len(of_tensors) != 1 or len(constants) != 1:
        raise call.refused(f"the einsum '{equation}'", "give it tensors, or a tensor and a constant")
    (other,) = (term for term, value in zip(terms.split(","), values) if not is_tensor(value))
    return _with_constant(call, (of_tensors[0][1:], other, result[1:]), constants[0], equation)


def einsum_dense(call: Call) -> list[Node]:
    """Convert an EinsumDense: an einsum with a kernel, a bias and an activation."""
    layer = call.layer
    equation = str(layer.equation).replace(" ", "")
    operands, arrow, result = equation.partition("->")
    term, _, other = operands.partition(",")
    if "." in equation:  # ...: the axes without letters
        free = "ABCDEFGH"[: len(call.shapes[0]) + 1 - len(term.replace("...", ""))]
        term, result = term.replace("...", free), result.replace("...", free)
    if not arrow or term[:1] != result[:1] or term[:1] in other:
        raise call.refused(f"the equation '{layer.equation}'", "let the input and the result begin with the batch")
    nodes = _with_constant(call, (term[1:], other, result[1:]), kernel(call), equation)
    if layer.bias is not None:
        bias = {"constant": array(layer.bias)}
        nodes.append(Node(f"{call.name}-bias", "tensor_binary", (nodes[-1].name,), {"operation": "add"}, bias))
    return [*nodes, *activations.own_activation(call, nodes[-1].name)]


def _with_constant(call: Call, terms: tuple[str, str, str], weights: NDArray[np.float32], equation: str) -> list[Node]:
    """Return the nodes of an einsum of a tensor and a constant: one matrix product between two transpositions."""
    tensor_term, constant_term, result = terms
    summed = [axis for axis in tensor_term if axis in constant_term]
    kept = [axis for axis in tensor_term if axis not in constant_term]
    added = [axis for axis in constant_term if axis not in tensor_term]
    sizes = {**dict(zip(tensor_term, call.shapes[0])), **dict(zip(constant_term, weights.shape))}
    names_axes_once = all(len(set(term)) == len(term) for term in terms) and len(tensor_term) == len(call.shapes[0])
    has_result_axes = set(result) <= {*tensor_term, *constant_term}
    if not names_axes_once or not has_result_axes or math.prod(sizes.values()) > MOST_PRODUCTS:
        advice = f"name no axis twice, and give it axes of at most {MOST_PRODUCTS} products"
        raise call.refused(f"the einsum '{equation}'", advice)
    if not summed or sorted(result) != sorted(kept + added):
        return _products_summed(call, terms, weights)

    def shape(axes: list[str]) -> tuple[int, ...]:
        return tuple(sizes[axis] for axis in axes)

    matrix = weights.transpose([constant_term.index(axis) for axis in summed + added])
    matrix = matrix.reshape(math.prod(shape(summed)), math.prod(shape(added)))
    order = tuple(tensor_term.index(axis) for axis in kept + summed)
    return _in_turn(
        call,
        ("tensor_transpose", {"axes": order}, {}),
        ("tensor_reshape", {"shape": (*shape(kept), matrix.shape[0])}, {}),
        ("linear", {}, {"kernel": np.ascontiguousarray(matrix)}),
        ("tensor_reshape", {"shape": shape(kept + added)}, {}),
        ("tensor_transpose", {"axes": tuple((kept + added).index(axis) for axis in result)}, {}),
    )


def _products_summed(call: Call, terms: tuple[str, str, str], weights: NDArray[np.float32]) -> list[Node]:
    """Return the nodes of an einsum that keeps axes shared by the tensor and the constant: products, then sums.

    The axes of the result come first, in their order, and the summed axes last.
    """
    tensor_term, constant_term, result = terms
    summed_axes = "".join(dict.fromkeys(axis for axis in tensor_term + constant_term if axis not in result))
    axes = result + summed_axes
    tensor_sizes, constant_sizes = dict(zip(tensor_term, call.shapes[0])), dict(zip(constant_term, weights.shape))
    constant = weights.transpose([constant_term.index(axis) for axis in axes if axis in constant_term])
    constant = constant.reshape([constant_sizes.get(axis, 1) for axis in axes])
    order = tuple(tensor_term.index(axis) for axis in axes if axis in tensor_term)
    steps: list[Step] = [
        ("tensor_transpose", {"axes": order}, {}),
        ("tensor_reshape", {"shape": tuple(tensor_sizes.get(axis, 1) for axis in axes)}, {}),
        ("tensor_binary", {"operation": "multiply"}, {"constant": np.ascontiguousarray(constant)}),
    ]
    if summed_axes:
        over = tuple(range(len(result), len(axes)))
        steps.append(("tensor_reduce", {"reduction": "sum", "axes": over, "keep": False}, {}))
    return _in_turn(call, *steps)


def _in_turn(call: Call, *steps: Step) -> list[Node]:
    """Return a chain of nodes, each of which reads the previous one."""
    chain = emit.Chain(call.name, call.inputs[0], ())
    for index, (op, attrs, weights) in enumerate(steps):
        chain.add(op, part=str(index), weights=weights, **attrs)
    return chain.nodes


def by_matrix(call: Call) -> list[Node]:
    """Convert a product of the last axis and a constant matrix; by shaders if textures can store the tensor.

    Raises:
        ModelError: the product is of another form.
    """
    return [emit.product(call.name, call.inputs[0], call.shapes[0], _constant_matrix(call))]


def by_matrix_or(other: Converter) -> Converter:
    """Return a converter of such products of maps and vectors that leaves all other calls to ``other``."""

    def convert(call: Call) -> list[Node]:
        try:
            return by_matrix(call) if len(call.shapes) == 1 and len(call.shapes[0]) in (1, 3) else other(call)
        except ModelError:
            return other(call)

    return convert


def _refusal(call: Call) -> ModelError:
    kind = type(call.layer).__name__
    return call.refused(f"{kind} of this kind", "multiply the last axis of a tensor by a constant (channels, outputs)")


def _constant_matrix(call: Call) -> NDArray[np.float32]:
    """Return the constant as (channels, outputs)."""
    values = list(call.operands)
    if len(values) != 2 or not is_tensor(values[0]) or is_tensor(values[1]):
        raise _refusal(call)
    constant = array(values[1])
    while type(call.layer).__name__ == "Matmul" and constant.ndim > 2 and constant.shape[0] == 1:
        constant = constant[0]
    summed = _SUMMED[type(call.layer).__name__](call.layer, len(call.shapes[0]) + 1)
    if constant.ndim != 2 or summed is None or constant.shape[summed] != call.shapes[0][-1]:
        raise _refusal(call)
    return np.ascontiguousarray(constant if summed == 0 else constant.T)


def _summed_axis_of_tensordot(operation: Any, rank: int) -> int | None:
    if operation.axes == 1:
        return 0
    if isinstance(operation.axes, int) or len(operation.axes) != 2:
        return None
    left, right = ([axes] if isinstance(axes, int) else list(axes) for axes in operation.axes)
    return int(right[0]) % 2 if len(left) == len(right) == 1 and left[0] % rank == rank - 1 else None


def _summed_axis_of_einsum(operation: Any, rank: int) -> int | None:
    terms, _, result = str(operation.subscripts).replace(" ", "").partition("->")
    term, _, other = terms.partition(",")
    if len(term) != rank or len(set(term)) != rank or len(other) != 2 or term[-1] not in other:
        return None
    summed = other.index(term[-1])
    added = other[1 - summed]
    return summed if added not in term and result == term[:-1] + added else None


_SUMMED: Mapping[str, Any] = {
    "Dot": lambda operation, rank: 0,
    "Einsum": _summed_axis_of_einsum,
    "Matmul": lambda operation, rank: 0,
    "Tensordot": _summed_axis_of_tensordot,
}
"""Function of an operation and the rank of its tensor: the summed axis of the constant, or None if unsupported."""
