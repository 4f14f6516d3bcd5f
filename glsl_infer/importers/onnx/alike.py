"""Tensors and constants in a common order of axes, or in the file's order, for operators on the CPU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glsl_infer.graph import Shape
from glsl_infer.importers.onnx import relayout
from glsl_infer.importers.onnx.call import Call, Given
from glsl_infer.importers.onnx.view import View, default_order, fresh

FARTHEST = 3e38
"""Substitute for infinite values."""


def broadcast(call: Call, op: str, given: Sequence[Given], names: Sequence[str], part: str = "", **attrs: Any) -> View:
    """Return an elementwise operator of several tensors, with NumPy's broadcasting.

    Args:
        call: the operator of the file.
        op: the operator of the node, on the CPU.
        given: tensors and constants.
        names: names of the weights for the constants.
        part: suffix of the node's name.
        attrs: attributes of the node.
    """
    shapes = [value.shape for value in given if value is not None]
    shape = call.file_shape(np.broadcast_shapes(*shapes))
    rank = len(shape)
    views = [of_rank(value, rank) for value in given if isinstance(value, View)]
    order = _order(max(views, key=lambda view: view.size), shape)
    long = [axis for axis in order if shape[axis] > 1]
    sources, weights = [], {}
    for name, value in zip(names, given):
        if isinstance(value, View):
            moved = relayout.ordered(call.nodes, of_rank(value, rank), order)
            sources.append(call.nodes.shaped(moved.node, tuple(moved.shape[axis] for axis in long) or (1,)))
        else:
            whole = finite(value)
            whole = whole.reshape((1,) * (rank - whole.ndim) + whole.shape)
            sizes = tuple(whole.shape[axis] for axis in long) or (1,)
            weights[name] = whole.transpose(order).reshape(sizes)
    return fresh(call.nodes.emit(op, *sources, part=part or op, weights=weights, **attrs), shape, order)


def _order(largest: View, shape: Shape) -> tuple[int, ...]:
    """Return the order of the axes of the largest tensor, followed by the other axes; or else the default order."""
    rank = len(shape)
    order = largest.order()
    if order is None or any(shape[axis] > 1 and axis not in order for axis in range(rank)):
        return default_order(rank)
    return (*order, *(axis for axis in range(rank) if axis not in order))


def of_rank(view: View, rank: int) -> View:
    """Return a tensor with leading axes of length 1."""
    return View(view.node, view.stored, ((),) * (rank - len(view.axes)) + view.axes)


def finite(value: Any) -> NDArray[np.float64]:
    """Return a constant with infinite values replaced by ``FARTHEST``, and NaN by 0."""
    numbers: NDArray[np.float64] = np.asarray(value, np.float64)
    return np.nan_to_num(numbers, nan=0.0, posinf=FARTHEST, neginf=-FARTHEST).clip(-FARTHEST, FARTHEST)


def in_order(call: Call, view: View, order: Sequence[int], keep: Sequence[int] = ()) -> str:
    """Return a node with the axes of a tensor in an order, without those of length 1 that are not in ``keep``."""
    moved = relayout.ordered(call.nodes, view, order)
    sizes = tuple(view.shape[axis] for axis in order if view.shape[axis] > 1 or axis in keep)
    return call.nodes.shaped(moved.node, sizes or (1,))


def as_in_file(call: Call, given: Sequence[Given], names: Sequence[str]) -> tuple[list[str], dict[str, Any]]:
    """Return nodes with all axes of the tensors in the file's order, and the constants by name."""
    sources, weights = [], {}
    for name, value in zip(names, given):
        if isinstance(value, View):
            sources.append(relayout.in_file_order(call.nodes, value, value.shape or (1,)))
        else:
            weights[name] = finite(value)
    return sources, weights
