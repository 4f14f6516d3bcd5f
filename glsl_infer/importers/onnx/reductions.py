"""Converters of means, sums, extrema and their indices along axes, and of softmax."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from glsl_infer.importers.core import emit
from glsl_infer.importers.onnx import relayout
from glsl_infer.importers.onnx.arithmetic import of_two
from glsl_infer.importers.onnx.call import Call, Converter, in_order
from glsl_infer.importers.onnx.relayout import map_axes, placed
from glsl_infer.importers.onnx.view import View, fresh

_KINDS = {"ReduceMax": "max", "ReduceMean": "mean", "ReduceMin": "min", "ReduceSum": "sum", "ReduceProd": "product"}
_BEFORE = {"ReduceL1": "absolute", "ReduceL2": "square", "ReduceSumSquare": "square", "ReduceLogSumExp": "exponential"}
_AFTER = {"ReduceL2": "sqrt", "ReduceLogSum": "log", "ReduceLogSumExp": "log"}
"""Functions of the values before the reduction, and of its result."""


def reduced(call: Call) -> list[View]:
    """Convert a reduction along axes; without axes, along all of them."""
    view, kind = call.view(), _KINDS.get(call.kind, "sum")
    rank = len(view.axes)
    requested_axes = call.integers(1, "axes", "axes")
    if not requested_axes and call.attribute("noop_with_empty_axes", 0):
        return [view]
    axes = sorted({call.axis(axis, rank) for axis in requested_axes}) if requested_axes else list(range(rank))
    most = along(call, view, "max", axes) if call.kind == "ReduceLogSumExp" else None
    if most is not None:  # the exponential of a value of at most 0 is at most 1
        view = of_two(call, "subtract", view, most)
    if call.kind in _BEFORE:
        view = view.at(call.nodes.function(view.node, _BEFORE[call.kind]))
    result = along(call, view, kind, axes)
    if call.kind in _AFTER:
        result = result.at(call.nodes.function(result.node, _AFTER[call.kind]))
    if most is not None:
        result = of_two(call, "add", result, most)
    if not call.attribute("keepdims", 1):
        remaining = tuple(axis for index, axis in enumerate(result.axes) if index not in axes)
        result = View(result.node, result.stored, remaining)
    return [result]


def along(call: Call, view: View, kind: str, axes: Sequence[int]) -> View:
    """Return a mean, sum, maximum or minimum along axes, which are kept with a length of 1."""
    shape = tuple(1 if axis in axes else size for axis, size in enumerate(view.shape))
    long = [axis for axis in axes if view.shape[axis] > 1]
    if not long:
        return view
    if kind in emit.WITH_SHADER and len(view.axes) == 4 and view.shape[0] == 1:
        return _reduced_map(call, view, kind, long)
    is_line = len(long) == 1 and len(view.axes) == 3 and view.shape[0] == 1
    if kind in emit.WITH_SHADER and is_line:
        as_map = View(view.node, view.stored, (*view.axes[:1], view.axes[2], (), view.axes[1]))
        row = _reduced_map(call, as_map, kind, [{1: 3, 2: 1}[long[0]]])
        return View(row.node, row.stored, (row.axes[0], row.axes[3], row.axes[1]))
    simple = relayout.simple(call.nodes, view)
    order = simple.order() or ()
    node = call.nodes.shaped(simple.node, tuple(view.shape[axis] for axis in order))
    dims = tuple(order.index(axis) for axis in long)
    is_scalar = len(dims) == len(order)
    result = call.nodes.emit("tensor_reduce", node, part=kind, reduction=kind, axes=dims, keep=is_scalar)
    if is_scalar:  # stored as a vector of length 1
        return fresh(call.nodes.shaped(result, (1,)), shape)
    return fresh(result, shape, [axis for axis in order if axis not in long])


def _reduced_map(call: Call, view: View, kind: str, axes: Sequence[int]) -> View:
    """Return a reduction of a tensor (1, channels, height, width), which textures store as a map."""
    all_axes = map_axes(view)
    node, dims = relayout.as_map(call.nodes, view, all_axes)
    over = [all_axes.index(axis) for axis in axes]
    node = call.nodes.add(emit.reduced(call.nodes.new_name(kind), node, dims, kind, over, keep=True))
    return fresh(node, tuple(1 if axis in axes else size for axis, size in enumerate(view.shape)), all_axes)


def _softmax(call: Call) -> list[View]:
    """Convert a Softmax or LogSoftmax. Before opset 13, it is along all axes from ``axis`` on, as one axis."""
    view = call.view()
    rank = len(view.axes)
    over_several = call.opset < 13
    axis = call.axis(int(call.attribute("axis", 1 if over_several else -1)), rank)
    if over_several and math.prod(view.shape[axis:]) != view.shape[axis]:
        flat = call.reshaped(view, (math.prod(view.shape[:axis]), math.prod(view.shape[axis:])))
        return [call.reshaped(_of_softmax(call, flat, 1), view.shape)]
    return [_of_softmax(call, view, axis)]


def _of_softmax(call: Call, view: View, axis: int) -> View:
    """Return a softmax along one axis, its logarithm, or 1 for the first maximum and 0 elsewhere."""
    if call.kind == "Hardmax":
        order = [*(other for other in range(len(view.axes)) if other != axis), axis]
        node = in_order(call, view, order, keep=(axis,))
        *others, count = call.nodes.shape(node)
        indices = call.nodes.emit("tensor_argmax", node, part="place", axis=len(others))
        one_hot = emit.one_hot(call.nodes.new_name("hot"), indices, tuple(others), count, len(others), 0.0, 1.0)
        return fresh(call.nodes.add(one_hot), view.shape, order)
    if call.kind != "LogSoftmax":
        return probabilities(call, view, axis)
    if view.shape[axis] > 1 and len(call.nodes.shape(view.node)) > 1:
        differences, exponentials = _exponentials(call, view, axis)
        total = along(call, exponentials, "sum", [axis])
        logarithm = total.at(call.nodes.function(total.node, "log"))
        return of_two(call, "subtract", differences, logarithm)
    exponentials = probabilities(call, view, axis)
    return exponentials.at(call.nodes.function(exponentials.node, "log"))


def _exponentials(call: Call, view: View, axis: int) -> tuple[View, View]:
    """Return values minus their maximum along an axis, and the exponentials of these, which are at most 1."""
    differences = of_two(call, "subtract", view, along(call, view, "max", [axis]))
    return differences, differences.at(call.nodes.function(differences.node, "exponential"))


def probabilities(call: Call, view: View, axis: int) -> View:
    """Return a softmax along one axis."""
    nodes = call.nodes
    if view.shape[axis] == 1:
        ones = nodes.scaled(view.node, 0.0, 1.0)
        return view.at(ones)
    view, dim = placed(nodes, view, axis)
    dims = nodes.shape(view.node)
    if len(dims) == 3 and dim < 2 and len(view.axes) == 4 and axis == 1:
        node, _ = relayout.as_map(nodes, view)
        return fresh(nodes.emit("softmax", node, part="softmax"), view.shape, (2, 3, 1))
    if nodes.in_textures(view.node) and dim == len(dims) - 1:
        return view.at(nodes.emit("softmax", view.node, part="softmax"))
    if nodes.in_textures(view.node) and len(view.axes) == 4 and view.shape[0] == 1 and axis > 1:
        _, exponentials = _exponentials(call, view, axis)
        return of_two(call, "divide", exponentials, along(call, exponentials, "sum", [axis]))
    return view.at(nodes.emit("tensor_softmax", view.node, part="softmax", axis=dim))


def _extreme_index(call: Call) -> list[View]:
    """Convert an ArgMax or ArgMin along one axis."""
    view = call.view()
    rank = len(view.axes)
    axis = call.axis(int(call.attribute("axis", 0)), rank)
    if call.attribute("select_last_index", 0):
        raise call.refused("select_last_index=1", "take the first of equals")
    nodes = call.nodes
    smallest = call.kind == "ArgMin"
    keep = bool(call.attribute("keepdims", 1))
    shape = tuple(1 if index == axis else size for index, size in enumerate(view.shape))
    if view.shape[axis] == 1:
        indices = view.at(nodes.scaled(view.node, 0.0))
    elif rank == 4 and axis == 1 and view.shape[0] == 1 and view.shape[1] <= 256:
        node, _ = relayout.as_map(nodes, view)
        indices = fresh(nodes.emit("channel_argmax", node, part="place", smallest=smallest), shape, (2, 3, 1))
    else:
        simple = relayout.simple(nodes, view)
        order = simple.order() or ()
        node = nodes.shaped(simple.node, tuple(view.shape[other] for other in order) or (1,))
        if smallest:
            node = nodes.constant("multiply", node, np.asarray([-1.0]))
        node = nodes.emit("tensor_argmax", node, part="place", axis=order.index(axis) if axis in order else 0)
        if len(order) < 2:
            node = nodes.emit("tensor_reshape", node, part="number", shape=(1,))
        indices = fresh(node, shape, [other for other in order if other != axis])
    if keep:
        return [indices]
    return [View(indices.node, indices.stored, (*indices.axes[:axis], *indices.axes[axis + 1 :]))]


def _lp_normalized(call: Call) -> list[View]:
    """Convert an LpNormalization by the length, or by the sum of absolute values."""
    view, exponent = call.view(), call.attribute("p", 2)
    axis = call.axis(int(call.attribute("axis", -1)), len(view.axes))
    if exponent == 2:
        return [unit_length(call, view, axis)]
    if exponent != 1:
        raise call.refused(f"p={exponent}", "give p=1 or p=2")
    sizes = view.at(call.nodes.function(view.node, "absolute"))
    return [of_two(call, "divide", view, along(call, sizes, "sum", [axis]))]


def unit_length(call: Call, view: View, axis: int) -> View:
    """Return a tensor divided by its length along an axis."""
    nodes = call.nodes
    view, dim = placed(nodes, view, axis)
    dims = nodes.shape(view.node)
    if len(dims) not in (1, 3) or dim != len(dims) - 1:
        if len(view.axes) == 4 and axis == 1:
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
    **dict.fromkeys((*_KINDS, *_BEFORE, *_AFTER), reduced),
    "ArgMax": _extreme_index,
    "ArgMin": _extreme_index,
    "Hardmax": _softmax,
    "LogSoftmax": _softmax,
    "LpNormalization": _lp_normalized,
    "Softmax": _softmax,
}
