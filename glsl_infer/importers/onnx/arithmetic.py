"""Converters of elementwise operators: arithmetic, comparisons, logic, rounding and selection."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from glsl_infer.graph import Shape
from glsl_infer.graph.activations import activation
from glsl_infer.graph.elementwise import BINARY
from glsl_infer.importers.core import elementwise, emit
from glsl_infer.importers.onnx import relayout, types
from glsl_infer.importers.onnx.activations import applied
from glsl_infer.importers.onnx.call import Call, Converter, Operand, broadcast, of_rank
from glsl_infer.importers.onnx.view import View, default_order, fresh

_FUNCTIONS = elementwise.functions(elementwise.ONNX)


def aligned(call: Call) -> Call:
    """Return a call of before opset 7, whose second input begins at an axis of the first, in NumPy's broadcasting."""
    first, second = call.operands[:2]
    if first is None or second is None:
        return call
    axis = call.axis(int(call.attribute("axis")), len(first.shape))
    shape = (*second.shape, *(1,) * (len(first.shape) - axis - len(second.shape)))
    return call.of(first, second.reshaped(shape) if isinstance(second, View) else second.reshape(shape))


def operated(call: Call, operation: str) -> list[View]:
    """Return an operation on two tensors, or on a tensor and a constant, on the CPU."""
    if len(call.operands) != 2 or any(value is None for value in call.operands):
        raise call.refused(f"of {len(call.operands)} tensors", "the file is damaged; give it two")
    attrs = {"operation": operation, "constant_first": call.is_constant(0)}
    return [broadcast(call, "tensor_binary", call.operands, ("constant",) * 2, operation, **attrs)]


def unary(call: Call, operation: str, part: str = "") -> list[View]:
    """Return an elementwise function of the first input, on the CPU."""
    view = call.view()
    node = call.nodes.emit("tensor_unary", view.node, part=part or operation, operation=operation)
    return [view.at(node)]


def _function(call: Call) -> list[View]:
    if types.is_whole(call.type(0)) and call.kind in ("Ceil", "Floor", "Round"):
        return [call.view()]
    return unary(call, _FUNCTIONS[call.kind])


def _is_infinite(call: Call) -> list[View]:
    """Convert an IsInf, of infinities of both signs or of one."""
    negative, positive = (call.attribute(f"detect_{sign}", 1) for sign in ("negative", "positive"))
    if negative and positive:
        return unary(call, "is_inf")
    if not negative and not positive:
        raise call.refused("of neither sign", "detect the infinities of one sign at least")
    view, largest = call.view(), float(np.finfo(np.float32).max)
    operation, limit = ("greater", largest) if positive else ("less", -largest)
    return [View(call.nodes.constant(operation, view.node, np.full(1, limit)), view.stored, view.axes)]


def _remainder(call: Call) -> list[View]:
    return operated(call, "remainder" if call.attribute("fmod", 0) else "modulo")


def _where(call: Call) -> list[View]:
    if len(call.operands) != 3 or any(value is None for value in call.operands):
        raise call.refused(f"of {len(call.operands)} tensors", "the file is damaged; give it three")
    return [broadcast(call, "select", call.operands, ("condition", "yes", "no"))]


def cast(call: Call, kind: str) -> list[View]:
    """Return values as another type: truncated for an integer type, 1 or 0 for a Boolean."""
    source_type = call.type(0)
    if kind == types.BOOL and source_type != types.BOOL:
        view = call.view()
        node = call.nodes.constant("not_equal", view.node, np.zeros(1))
        return [view.at(node)]
    if types.is_whole(kind) and not types.is_whole(source_type):
        return unary(call, "truncate", "whole")
    return [call.view()]


_OPERATIONS = {**elementwise.operations(elementwise.ONNX), "Mean": "add", "Sum": "add"}
_OF_CONSTANTS = {"add": np.add, "multiply": np.multiply, "maximum": np.maximum, "minimum": np.minimum}

Doubles = NDArray[np.float64]


def binary(call: Call) -> list[View]:
    """Convert an operation on tensors and constants, evaluated from left to right."""
    operation = _OPERATIONS[call.kind]
    operands = list(call.operands)
    if not operands or any(value is None for value in operands):
        raise call.refused(f"of {len(operands)} tensors", "give it one or more")
    if call.kind == "Div" and types.is_whole(call.type(0)) and types.is_whole(call.type(1)):
        operation = "whole_divide"
    if not BINARY[operation].glsl:
        return operated(call, operation)
    result: Operand = operands[0]
    for value in operands[1:]:
        if isinstance(result, View) or isinstance(value, View):
            result = binary_operation(call, operation, result, value)
        else:
            result = np.asarray(_OF_CONSTANTS[operation](np.asarray(result), np.asarray(value)), np.float64)
    if call.kind == "Mean" and len(operands) > 1:
        result = binary_operation(call, "divide", result, np.asarray(float(len(operands))))
    assert isinstance(result, View)
    return applied(call, "linear") if len(operands) == 1 else [result]


def binary_operation(call: Call, operation: str, a: Operand, b: Operand) -> View:
    """Return an operation on two operands.

    Raises:
        ModelError: both are constants.
    """
    if isinstance(a, View) and isinstance(b, View):
        return _tensors(call, operation, a, b)
    if isinstance(a, View):
        return _with_constant(call, operation, a, np.asarray(b), first=False)
    if isinstance(b, View):
        return _with_constant(call, operation, b, np.asarray(a), first=True)
    raise call.refused("of constants alone", "convert the model anew")


def _with_constant(call: Call, operation: str, view: View, value: NDArray[np.generic], *, first: bool) -> View:
    """Return an operation on a tensor and a constant, which is the first operand if ``first``."""
    if operation == "add" and np.isneginf(np.asarray(value, np.float64)).any():  # a mask before a softmax
        return broadcast(call, "tensor_binary", [view, value], ("", "constant"), "masked", operation="add")
    constant = call.finite(value, "a constant")
    shape = np.broadcast_shapes(view.shape, constant.shape)
    if shape != view.shape:
        if np.prod(shape) != view.size:
            return _widened(call, operation, view, constant, first=first)
        with_axes = view.reshaped(call.file_shape(shape))
        assert with_axes is not None
        view = with_axes
    node, node_view, stored = _in_node_shape(call, view, constant)
    result = _constant_node(call, operation, node, stored, first=first)
    return node_view.at(result)


def _in_node_shape(call: Call, view: View, constant: Doubles) -> tuple[str, View, Doubles]:
    """Return a node, its tensor, and a constant as an array that broadcasts to the node's shape.

    The array has length 1 along a dimension of the node, or its full length: along a part of the dimension's atoms, the
    constant is broadcast.
    """
    split = view.split_at(call.nodes.shape(view.node))
    if split is None:
        node = call.nodes.shaped(view.node, tuple(atom.size for atom in view.stored))
        view = view.at(node)
        return node, view, view.as_stored(constant)
    split_view, groups = split
    by_atoms = split_view.as_stored(constant)
    atom_lengths: list[int] = []
    dims: list[int] = []
    for group in groups:
        lengths = by_atoms.shape[len(atom_lengths) : len(atom_lengths) + len(group)]
        varies = any(length > 1 for length in lengths)
        group_lengths = [atom.size if varies else 1 for atom in group]
        atom_lengths += group_lengths
        dims.append(math.prod(group_lengths))
    return view.node, split_view, np.broadcast_to(by_atoms, atom_lengths).reshape(dims)


def _constant_node(call: Call, operation: str, node: str, value: Doubles, *, first: bool) -> str:
    if operation == "divide" and not first and not value.all():
        raise call.refused("by 0", "give a number other than 0")
    return call.nodes.with_constant(operation, node, value, first=first)


def _widened(call: Call, operation: str, view: View, constant: Doubles, *, first: bool) -> View:
    """Return an operation with a constant that has more elements than the tensor."""
    shape = call.file_shape(np.broadcast_shapes(view.shape, constant.shape))
    rank = len(shape)
    view_shape = (1,) * (rank - len(view.shape)) + view.shape
    with_axes = view.reshaped(view_shape)
    assert with_axes is not None
    node = relayout.in_file_order(call.nodes, with_axes, view_shape)
    constant = constant.reshape((1,) * (rank - constant.ndim) + constant.shape)
    return fresh(call.nodes.constant(operation, node, constant, first=first), shape)


def _tensors(call: Call, operation: str, a: View, b: View) -> View:
    """Return an operation on two computed tensors, in a common order of their axes."""
    shape = call.file_shape(np.broadcast_shapes(a.shape, b.shape))
    rank = len(shape)
    a, b = (of_rank(view, rank) for view in (a, b))
    order = _common_order(a, b, shape)
    views = [relayout.ordered(call.nodes, view, order) for view in (a, b)]
    if a.shape == b.shape and call.nodes.shape(views[0].node) == call.nodes.shape(views[1].node):
        return View(_two(call, operation, [view.node for view in views]), views[0].stored, views[0].axes)
    long = [axis for axis in order if shape[axis] > 1]
    dims = _dimensions(call, views, shape, long) or [[axis] for axis in long]
    sources = []
    for view in views:
        sizes = tuple(int(np.prod([view.shape[axis] for axis in group])) for group in dims)
        sources.append(call.nodes.shaped(view.node, sizes or (1,)))
    node = _two(call, operation, sources)
    return fresh(node, shape, order)


def _two(call: Call, operation: str, sources: Sequence[str]) -> str:
    """Return the node of an operation on two nodes whose shapes broadcast."""
    nodes = call.nodes
    return nodes.add([emit.two(nodes.new_name(operation), operation, sources, [*map(nodes.shape, sources)])])


def _common_order(a: View, b: View, shape: Sequence[int]) -> tuple[int, ...]:
    """Return the common order of axes: that of the larger tensor, with the missing axes of the other inserted."""
    rank = len(shape)
    for view in sorted((a, b), key=lambda tensor: -tensor.size):
        order = view.order()
        if order is None:
            continue
        missing = [axis for axis in range(rank) if shape[axis] > 1 and axis not in order]
        if not missing:
            return (*order, *(axis for axis in range(rank) if axis not in order))
        default = [axis for axis in default_order(rank) if axis in order or axis in missing]
        if tuple(axis for axis in default if axis in order) == order:
            return (*default, *(axis for axis in range(rank) if axis not in default))
    return default_order(rank)


def _dimensions(call: Call, views: Sequence[View], shape: Sequence[int], long: Sequence[int]) -> list[list[int]] | None:
    """Return the axes of each dimension of the nodes, as in a map if one of the tensors is a map; else of a vector."""
    if len(long) <= 1 and all(len(call.nodes.shape(view.node)) == 1 for view in views):
        return [list(long)]
    if len(shape) == 4 and shape[0] == 1:
        if list(long) == [axis for axis in (2, 3, 1) if axis in long]:
            return [[2], [3], [1]]
        if len(long) == 3:
            return [[axis] for axis in long]
    for view in views:
        groups = _axes_of_dimensions(call.nodes.shape(view.node), shape, long)
        if groups is not None and _is_uniform(views, groups, shape):
            return groups
    return None


def _axes_of_dimensions(dims: Shape, shape: Sequence[int], axes: Sequence[int]) -> list[list[int]] | None:
    """Return the consecutive axes that make up each dimension of a node, or None if an axis is across two."""
    remaining = list(axes)
    groups: list[list[int]] = []
    for size in dims:
        group: list[int] = []
        while remaining and math.prod(shape[axis] for axis in group) < size:
            group.append(remaining.pop(0))
        if math.prod(shape[axis] for axis in group) != size:
            return None
        groups.append(group)
    return None if remaining else groups


def _is_uniform(views: Sequence[View], groups: Sequence[Sequence[int]], shape: Sequence[int]) -> bool:
    """Return whether every tensor has either all axes of a dimension or none."""
    for view in views:
        for group in groups:
            covered = [view.shape[axis] == shape[axis] for axis in group]
            if any(covered) != all(covered) and group:
                return False
            if group and not any(covered) and any(view.shape[axis] > 1 for axis in group):
                return False
    return True


def _power(call: Call) -> list[View]:
    """Convert a Pow: by an activation if the exponent is one constant, else on the CPU."""
    if not call.is_constant(1):
        return operated(call, "power")
    exponent = call.finite(call.constant(1, "an exponent"), "an exponent").reshape(-1)
    if exponent.size != 1 and (exponent != exponent[0]).any():
        return operated(call, "power")
    return applied(call, activation(f"power({float(exponent[0]):.9g})").text)


def _negated(call: Call) -> list[View]:
    view = call.view()
    return [view.at(call.nodes.scaled(view.node, -1.0))]


def _triangle(call: Call) -> list[View]:
    """Convert a Trilu: set the values above or below a diagonal of the last two axes to 0."""
    view, upper = call.view(), bool(call.attribute("upper", 1))
    shift = int(call.number(1, "a diagonal", "", 0.0))
    ones = np.ones(view.shape[-2:])
    return [binary_operation(call, "multiply", view, np.triu(ones, shift) if upper else np.tril(ones, shift))]


CONVERTERS: dict[str, Converter] = {
    **dict.fromkeys(_FUNCTIONS, _function),
    **dict.fromkeys(_OPERATIONS, binary),
    "IsInf": _is_infinite,
    "Mod": _remainder,
    "Where": _where,
    "Neg": _negated,
    "Pow": _power,
    "Trilu": _triangle,
}
