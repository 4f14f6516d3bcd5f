"""Converters of operators that return indices, or gather and scatter by computed indices: nodes for the CPU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from glsl_infer.importers.core import emit
from glsl_infer.importers.onnx import relayout, types
from glsl_infer.importers.onnx.call import Call, Converter, as_in_file, finite, in_order
from glsl_infer.importers.onnx.relayout import placed
from glsl_infer.importers.onnx.view import View, fresh

MOST_CLASSES = 1 << 16

_GATHER_INPUTS, _SCATTER_INPUTS = ("table", "indices"), ("table", "indices", "updates")


def _top_k(call: Call) -> list[View]:
    """Convert a TopK: the values, and their indices along the axis."""
    view = call.view()
    axis = call.axis(int(call.attribute("axis", -1)), len(view.axes))
    (count,) = call.integers(1, "how many", "k") or [0]
    if not 1 <= count <= view.shape[axis]:
        raise call.refused(f"the {count} largest of {view.shape[axis]}", "give one or more, as many as there are")
    order = [*(other for other in range(len(view.axes)) if other != axis), axis]
    node = in_order(call, view, order, keep=(axis,))
    less = not call.attribute("largest", 1)
    if less:
        node = call.nodes.constant("multiply", node, np.asarray([-1.0]))
    shape = (*view.shape[:axis], count, *view.shape[axis + 1 :])
    results = [call.nodes.emit("top_k", node, part=result, k=count, result=result) for result in ("values", "indices")]
    if less:
        results[0] = call.nodes.constant("multiply", results[0], np.asarray([-1.0]))
    return [fresh(result, shape, order) for result in results]


def gathered(call: Call) -> list[View]:
    """Convert a Gather whose indices the network computes. Negative indices count from the end."""
    indices = call.view(len(call.operands) - 1)
    index_node = relayout.in_file_order(call.nodes, indices, indices.shape or (1,))
    if call.is_constant(0):
        table = finite(call.constant(0, "a table"))
        axis = call.axis(int(call.attribute("axis", 0)), table.ndim)
        points = call.nodes.shaped(index_node, (*indices.shape, 1))
        node = call.nodes.emit("gather_points", points, part="taken", weights={"table": np.moveaxis(table, axis, 0)})
        shape = (*table.shape[:axis], *indices.shape, *table.shape[axis + 1 :])
        end = axis + len(indices.shape)
        return [fresh(node, shape, [*range(axis, end), *range(axis), *range(end, len(shape))])]
    view = call.view()
    axis = call.axis(int(call.attribute("axis", 0)), len(view.axes))
    shape = call.file_shape((*view.shape[:axis], *indices.shape, *view.shape[axis + 1 :]))
    node = relayout.in_file_order(call.nodes, view, view.shape)
    return [fresh(call.nodes.emit("gather", node, index_node, part="taken", axis=axis), shape)]


def gathered_constant(call: Call, view: View, axis: int, indices: Sequence[int]) -> View:
    """Return the elements at many constant indices of an axis, in that order, on the CPU."""
    order = [axis, *(other for other in range(len(view.axes)) if other != axis)]
    node = in_order(call, view, order, keep=(axis,))
    weights = {"indices": np.asarray(indices)[:, None]}
    shape = call.file_shape((*view.shape[:axis], len(indices), *view.shape[axis + 1 :]))
    return fresh(call.nodes.emit("gather_points", node, part="picked", weights=weights), shape, order)


def _gathered_elements(call: Call) -> list[View]:
    axis = call.axis(int(call.attribute("axis", 0)), len(_shape(call, 0)))
    sources, weights = as_in_file(call, call.operands, _GATHER_INPUTS)
    node = call.nodes.emit("gather_elements", *sources, part="taken", weights=weights, axis=axis)
    return [fresh(node, _shape(call, 1))]


def _gathered_points(call: Call) -> list[View]:
    batch = int(call.attribute("batch_dims", 0))
    table, indices = _shape(call, 0), _shape(call, 1)
    if not indices or not 0 <= batch < len(indices) or batch + indices[-1] > len(table):
        raise call.refused(f"indices of shape {indices} of {table}", "the file is damaged")
    shape = call.file_shape((*indices[:-1], *table[batch + indices[-1] :]))
    sources, weights = as_in_file(call, call.operands, _GATHER_INPUTS)
    node = call.nodes.emit("gather_points", *sources, part="taken", weights=weights, batch=batch)
    return [fresh(node, shape)]


def _scattered(call: Call) -> list[View]:
    operands = list(call.operands)
    reduction = call.attribute("reduction", "none")
    if len(operands) != 3 or any(value is None for value in operands) or reduction not in ("none", "add"):
        raise call.refused(f"with reduction='{reduction}'", "leave the reduction out, or add")
    if call.kind != "ScatterND":
        places = call.constant(1, "indices")
        rank = places.ndim
        axis = call.axis(int(call.attribute("axis", 0)), rank)
        points = np.stack(np.meshgrid(*map(np.arange, places.shape), indexing="ij"), axis=-1)
        points[..., axis] = places
        operands[1] = points
    sources, weights = as_in_file(call, operands, _SCATTER_INPUTS)
    node = call.nodes.emit("scatter", *sources, part="written", weights=weights, reduction=reduction)
    return [fresh(node, _shape(call, 0))]


def _summed(call: Call) -> list[View]:
    (axis,) = call.integers(1, "an axis") or [0]
    view, dim = placed(call.nodes, call.view(), call.axis(axis, len(call.view().axes)))
    attrs: dict[str, Any] = {
        "exclusive": bool(call.attribute("exclusive", 0)),
        "reverse": bool(call.attribute("reverse", 0)),
    }
    return [view.at(call.nodes.emit("cumulative_sum", view.node, part="sums", axis=dim, **attrs))]


def _one_hot(call: Call) -> list[View]:
    view, (depth,) = call.view(), call.integers(1, "how many classes") or [0]
    off, on = (float(value) for value in call.constant(2, "its two values").reshape(-1))
    axis = call.axis(int(call.attribute("axis", -1)), len(view.axes) + 1)
    if not 1 <= depth <= MOST_CLASSES:
        raise call.refused(f"{depth} classes", f"give 1 to {MOST_CLASSES}")
    shape = call.file_shape((*view.shape[:axis], depth, *view.shape[axis:]))
    nodes = call.nodes
    node = relayout.in_file_order(nodes, view, view.shape or (1,))
    if not types.is_whole(call.type(0)):
        node = nodes.emit("tensor_unary", node, part="whole", operation="truncate")
    if not nodes.is_positive(node, inputs=False):  # negative indices count from the end
        below = nodes.constant("multiply", nodes.constant("less", node, np.zeros(1)), np.asarray([depth]))
        node = nodes.emit("tensor_binary", node, below, part="from_end", operation="add")
    return [fresh(nodes.add(emit.one_hot(nodes.new_name("hot"), node, view.shape, depth, axis, off, on)), shape)]


def _suppressed(call: Call) -> list[View]:
    """Convert a NonMaxSuppression. The result has the largest possible number of rows, and unused rows are -1."""
    boxes, scores = call.view(0), call.view(1)
    if len(boxes.shape) != 3 or len(scores.shape) != 3 or boxes.shape[0] != 1 or scores.shape[0] != 1:
        raise call.refused(f"boxes {boxes.shape}, scores {scores.shape}", "give those of one image")
    most = int(call.number(2, "how many", "", 0.0))
    if most < 1:
        raise call.refused("no box of a class", "say how many boxes of a class there may be")
    attrs: dict[str, Any] = {
        "most": min(most, boxes.shape[1]),
        "overlap": call.number(3, "an overlap", "", 0.0),
        "least_score": call.number(4, "a score", "", -3e38),
        "centres": bool(call.attribute("center_point_box", 0)),
    }
    sources = [relayout.in_file_order(call.nodes, view, view.shape[1:]) for view in (boxes, scores)]
    selected = call.nodes.emit("class_suppression", *sources, part="kept", **attrs)
    rows = call.nodes.shape(selected)[0]
    return [fresh(call.nodes.emit("tensor_pad", selected, part="batch", padding=(0, 0, 1, 0)), (rows, 3))]


def _shape(call: Call, index: int) -> tuple[int, ...]:
    value = call.operands[index] if index < len(call.operands) else None
    if value is None:
        raise call.refused("without its inputs", "the file is damaged")
    return tuple(value.shape)


CONVERTERS: dict[str, Converter] = {
    "CumSum": _summed,
    "GatherElements": _gathered_elements,
    "GatherND": _gathered_points,
    "NonMaxSuppression": _suppressed,
    "OneHot": _one_hot,
    "Scatter": _scattered,
    "ScatterElements": _scattered,
    "ScatterND": _scattered,
    "TopK": _top_k,
}
