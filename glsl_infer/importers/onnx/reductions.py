"""Converters of means, sums, extrema and their indices along axes, and of softmax."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from glsl_infer.importers.core import emit
from glsl_infer.importers.onnx import relayout
from glsl_infer.importers.onnx.arithmetic import binary_operation
from glsl_infer.importers.onnx.call import Call, Converter, in_order
from glsl_infer.importers.onnx.relayout import map_axes, placed
from glsl_infer.importers.onnx.view import View, fresh

_KINDS = {"ReduceMax": "max", "ReduceMean": "mean", "ReduceMin": "min", "ReduceSum": "sum", "ReduceProd": "product"}
_PRE_FUNCTIONS = {
    "ReduceL1": "absolute",
    "ReduceL2": "square",
    "ReduceSumSquare": "square",
    "ReduceLogSumExp": "exponential",
}
_POST_FUNCTIONS = {"ReduceL2": "sqrt", "ReduceLogSum": "log", "ReduceLogSumExp": "log"}
"""Functions of the values before the reduction, and of its result."""

_SEQUENCE_AXIS_IN_MAP = {1: 3, 2: 1}
"""Axes of a sequence (1, length, width) as axes of a map (1, width, 1, length)."""

MOST_DRAWN_CLASSES = 256
"""Largest number of channels whose index a byte of a map can store."""


def reduced(call: Call) -> list[View]:
    """Convert a reduction along axes; without axes, along all of them."""
    view, kind = call.view(), _KINDS.get(call.kind, "sum")
    rank = len(view.axes)
    requested_axes = call.integers(1, "axes", "axes")
    if not requested_axes and call.attribute("noop_with_empty_axes", 0):
        return [view]
    axes = sorted({call.axis(axis, rank) for axis in requested_axes}) if requested_axes else list(range(rank))
    maximum = reduce_axes(call, view, "max", axes) if call.kind == "ReduceLogSumExp" else None
    if maximum is not None:  # the exponential of a value of at most 0 is at most 1
        view = binary_operation(call, "subtract", view, maximum)
    if call.kind in _PRE_FUNCTIONS:
        view = view.at(call.nodes.function(view.node, _PRE_FUNCTIONS[call.kind]))
    result = reduce_axes(call, view, kind, axes)
    if call.kind in _POST_FUNCTIONS:
        result = result.at(call.nodes.function(result.node, _POST_FUNCTIONS[call.kind]))
    if maximum is not None:
        result = binary_operation(call, "add", result, maximum)
    if not call.attribute("keepdims", 1):
        remaining = tuple(axis for index, axis in enumerate(result.axes) if index not in axes)
        result = View(result.node, result.stored, remaining)
    return [result]


def reduce_axes(call: Call, view: View, kind: str, axes: Sequence[int]) -> View:
    """Reduce axes by ``kind`` (mean, sum, product, max or min), and keep them with a length of 1."""
    shape = tuple(1 if axis in axes else size for axis, size in enumerate(view.shape))
    reduced_axes = [axis for axis in axes if view.shape[axis] > 1]
    if not reduced_axes:
        return view
    has_shader = kind in emit.WITH_SHADER and view.shape[0] == 1
    if has_shader and len(view.axes) == 4:
        return _reduced_map(call, view, kind, reduced_axes)
    if has_shader and len(view.axes) == 3 and len(reduced_axes) == 1:
        as_map = View(view.node, view.stored, (*view.axes[:1], view.axes[2], (), view.axes[1]))
        row = _reduced_map(call, as_map, kind, [_SEQUENCE_AXIS_IN_MAP[reduced_axes[0]]])
        return View(row.node, row.stored, (row.axes[0], row.axes[3], row.axes[1]))
    simple = relayout.simple(call.nodes, view)
    order = simple.order() or ()
    node = call.nodes.shaped(simple.node, tuple(view.shape[axis] for axis in order))
    dims = tuple(order.index(axis) for axis in reduced_axes)
    is_scalar = len(dims) == len(order)
    result = call.nodes.emit("tensor_reduce", node, part=kind, reduction=kind, axes=dims, keep=is_scalar)
    if is_scalar:  # stored as a vector of length 1
        return fresh(call.nodes.shaped(result, (1,)), shape)
    return fresh(result, shape, [axis for axis in order if axis not in reduced_axes])


def _reduced_map(call: Call, view: View, kind: str, axes: Sequence[int]) -> View:
    """Return a reduction of a tensor (1, channels, height, width), which textures store as a map."""
    all_axes = map_axes(view)
    node, dims = relayout.as_map(call.nodes, view, all_axes)
    over = [all_axes.index(axis) for axis in axes]
    node = call.nodes.add(emit.reduced(call.nodes.new_name(kind), node, dims, kind, over, keep=True))
    return fresh(node, tuple(1 if axis in axes else size for axis, size in enumerate(view.shape)), all_axes)


def _softmax(call: Call) -> list[View]:
    """Convert a Softmax, LogSoftmax or Hardmax. Before opset 13, it is along all axes from ``axis`` on, as one axis."""
    view = call.view()
    rank = len(view.axes)
    over_several = call.opset < 13
    axis = call.axis(int(call.attribute("axis", 1 if over_several else -1)), rank)
    if over_several and math.prod(view.shape[axis:]) != view.shape[axis]:
        flat = call.reshaped(view, (math.prod(view.shape[:axis]), math.prod(view.shape[axis:])))
        return [call.reshaped(_softmax_of_axis(call, flat, 1), view.shape)]
    return [_softmax_of_axis(call, view, axis)]


def _softmax_of_axis(call: Call, view: View, axis: int) -> View:
    """Return the result of an operator of the softmax family along one axis."""
    if call.kind == "Hardmax":
        return _hardmax(call, view, axis)
    if call.kind == "LogSoftmax":
        return _log_softmax(call, view, axis)
    return probabilities(call, view, axis)


def _hardmax(call: Call, view: View, axis: int) -> View:
    """Return 1 for the first maximum along an axis, and 0 elsewhere."""
    order = [*(other for other in range(len(view.axes)) if other != axis), axis]
    node = in_order(call, view, order, keep=(axis,))
    *others, count = call.nodes.shape(node)
    indices = call.nodes.emit("tensor_argmax", node, part="place", axis=len(others))
    one_hot = emit.one_hot(call.nodes.new_name("hot"), indices, tuple(others), count, len(others), 0.0, 1.0)
    return fresh(call.nodes.add(one_hot), view.shape, order)


def _log_softmax(call: Call, view: View, axis: int) -> View:
    """Return the logarithm of a softmax along one axis."""
    if view.shape[axis] > 1 and len(call.nodes.shape(view.node)) > 1:
        differences, exponentials = _exponentials(call, view, axis)
        total = reduce_axes(call, exponentials, "sum", [axis])
        logarithm = total.at(call.nodes.function(total.node, "log"))
        return binary_operation(call, "subtract", differences, logarithm)
    exponentials = probabilities(call, view, axis)
    return exponentials.at(call.nodes.function(exponentials.node, "log"))


def _is_channel_axis(view: View, axis: int) -> bool:
    """Return whether an axis is the channels of a tensor (batch, channels, height, width)."""
    return len(view.axes) == 4 and axis == 1


def _exponentials(call: Call, view: View, axis: int) -> tuple[View, View]:
    """Return values minus their maximum along an axis, and the exponentials of these, which are at most 1."""
    differences = binary_operation(call, "subtract", view, reduce_axes(call, view, "max", [axis]))
    return differences, differences.at(call.nodes.function(differences.node, "exponential"))


def probabilities(call: Call, view: View, axis: int) -> View:
    """Return a softmax along one axis."""
    nodes = call.nodes
    if view.shape[axis] == 1:
        ones = nodes.scaled(view.node, 0.0, 1.0)
        return view.at(ones)
    view, dim = placed(nodes, view, axis)
    dims = nodes.shape(view.node)
    if _is_channel_axis(view, axis) and len(dims) == 3 and dim < 2:  # in rows or columns of the node
        node, _ = relayout.as_map(nodes, view)
        return fresh(nodes.emit("softmax", node, part="softmax"), view.shape, (2, 3, 1))
    if nodes.in_textures(view.node) and dim == len(dims) - 1:
        return view.at(nodes.emit("softmax", view.node, part="softmax"))
    if nodes.in_textures(view.node) and len(view.axes) == 4 and view.shape[0] == 1 and axis > 1:
        _, exponentials = _exponentials(call, view, axis)
        return binary_operation(call, "divide", exponentials, reduce_axes(call, exponentials, "sum", [axis]))
    return view.at(nodes.emit("tensor_softmax", view.node, part="softmax", axis=dim))


def _extreme_index(call: Call) -> list[View]:
    """Convert an ArgMax or ArgMin along one axis."""
    view = call.view()
    rank = len(view.axes)
    axis = call.axis(int(call.attribute("axis", 0)), rank)
    if call.attribute("select_last_index", 0):
        raise call.refused("select_last_index=1", "take the first of equals")
    smallest = call.kind == "ArgMin"
    if view.shape[axis] == 1:
        indices = view.at(call.nodes.scaled(view.node, 0.0))
    elif _is_channel_axis(view, axis) and view.shape[0] == 1 and view.shape[1] <= MOST_DRAWN_CLASSES:
        node, _ = relayout.as_map(call.nodes, view)
        node = call.nodes.emit("channel_argmax", node, part="place", smallest=smallest)
        indices = fresh(node, (1, 1, *view.shape[2:]), (2, 3, 1))
    else:
        indices = _extreme_index_on_cpu(call, view, axis, smallest=smallest)
    if call.attribute("keepdims", 1):
        return [indices]
    return [View(indices.node, indices.stored, (*indices.axes[:axis], *indices.axes[axis + 1 :]))]


def _extreme_index_on_cpu(call: Call, view: View, axis: int, *, smallest: bool) -> View:
    """Return the index of the largest or smallest value along an axis, which is kept with a length of 1."""
    nodes = call.nodes
    simple = relayout.simple(nodes, view)
    order = simple.order() or ()
    node = nodes.shaped(simple.node, tuple(view.shape[other] for other in order) or (1,))
    if smallest:
        node = nodes.constant("multiply", node, np.asarray([-1.0]))
    node = nodes.emit("tensor_argmax", node, part="place", axis=order.index(axis) if axis in order else 0)
    if len(order) < 2:
        node = nodes.emit("tensor_reshape", node, part="number", shape=(1,))
    shape = tuple(1 if index == axis else size for index, size in enumerate(view.shape))
    return fresh(node, shape, [other for other in order if other != axis])


def _lp_normalized(call: Call) -> list[View]:
    """Convert an LpNormalization by the length, or by the sum of absolute values."""
    view, exponent = call.view(), call.attribute("p", 2)
    axis = call.axis(int(call.attribute("axis", -1)), len(view.axes))
    if exponent == 2:
        return [unit_length(call, view, axis)]
    if exponent != 1:
        raise call.refused(f"p={exponent}", "give p=1 or p=2")
    sizes = view.at(call.nodes.function(view.node, "absolute"))
    return [binary_operation(call, "divide", view, reduce_axes(call, sizes, "sum", [axis]))]


def unit_length(call: Call, view: View, axis: int) -> View:
    """Return a tensor divided by its length along an axis."""
    nodes = call.nodes
    view, dim = placed(nodes, view, axis)
    dims = nodes.shape(view.node)
    if len(dims) not in (1, 3) or dim != len(dims) - 1:
        if _is_channel_axis(view, axis):
            node, dims = relayout.as_map(nodes, view)
            view = fresh(node, view.shape, (2, 3, 1))
        else:
            order = [*(other for other in range(len(view.axes)) if other != axis), axis]
            view = relayout.ordered(nodes, view, order)
            node = nodes.shaped(view.node, (1, view.size // view.shape[axis], view.shape[axis]))
            view = view.at(node)
    op = "vector_norm" if len(nodes.shape(view.node)) == 1 else "channel_norm"
    node = nodes.emit(op, view.node, part="norm", kind="unit", epsilon=0.0, gamma=(1.0,), beta=(0.0,))
    return view.at(node)


CONVERTERS: dict[str, Converter] = {
    **dict.fromkeys((*_KINDS, *_PRE_FUNCTIONS, *_POST_FUNCTIONS), reduced),
    "ArgMax": _extreme_index,
    "ArgMin": _extreme_index,
    "Hardmax": _softmax,
    "LogSoftmax": _softmax,
    "LpNormalization": _lp_normalized,
    "Softmax": _softmax,
}
