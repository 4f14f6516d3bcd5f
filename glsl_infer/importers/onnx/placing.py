"""The dimension of a node that is an axis of the file's tensor, for operators along one axis."""

from __future__ import annotations

import math
from collections.abc import Sequence

from glsl_infer.graph import Shape
from glsl_infer.importers.onnx import relayout
from glsl_infer.importers.onnx.nodes import Nodes
from glsl_infer.importers.onnx.view import Atom, View, default_order, fresh

_MAPS = ((2, 3, 1), (1, 2, 3), (3, 2, 1), (2, 1, 3), (3, 1, 2), (1, 3, 2))
"""Orders of the last three of four axes in a map, common ones first."""


def placed(nodes: Nodes, view: View, axis: int) -> tuple[View, int]:
    """Return a tensor, and the dimension of its node that equals an axis of the tensor."""
    near = view.merged()  # other axes may be split: each step of a sequence is then a slice of the map
    if len(near.axes[axis]) == 1 and (found := _found(nodes, near, axis)) is not None:
        return near, found
    whole = relayout.simple(nodes, view).merged()
    found = _found(nodes, whole, axis)
    if found is not None:
        return whole, found
    order = _with_axis(whole.order() or (), axis, len(view.axes))
    dims = triple(order, view.shape)
    axes: Sequence[int] = order if dims is None else dims
    node = nodes.shaped(whole.node, tuple(view.shape[each] for each in axes))
    return View(node, whole.stored, whole.axes), list(axes).index(axis)


def _found(nodes: Nodes, view: View, axis: int) -> int | None:
    if not view.axes[axis]:
        return None
    (atom,) = view.axes[axis]
    before = math.prod(each.size for each in view.stored[: view.stored.index(atom)])
    dims = nodes.shape(view.node)
    fitting = [dim for dim, size in enumerate(dims) if size == atom.size and math.prod(dims[:dim]) == before]
    return fitting[0] if fitting else None


def _with_axis(order: Sequence[int], axis: int, rank: int) -> tuple[int, ...]:
    """Return the order with an axis of length 1 inserted at its default position."""
    if axis in order:
        return tuple(order)
    for usual in (*(_MAPS if rank == 4 else ()), default_order(rank), tuple(range(rank))):
        if axis in usual and is_part(order, usual):
            return tuple(each for each in usual if each in order or each == axis)
    return (axis, *order)


def is_part(order: Sequence[int], whole: Sequence[int]) -> bool:
    """Return whether axes have the same relative order in another order."""
    return tuple(axis for axis in whole if axis in order) == tuple(order)


def triple(order: Sequence[int], shape: Shape) -> tuple[int, ...] | None:
    """Return the order of the three axes of a map that a node can have, or None."""
    if len(shape) != 4 or shape[0] != 1:
        return None
    return next((axes for axes in _MAPS if is_part(order, axes)), None)


def map_axes(view: View) -> tuple[int, int, int]:
    """Return the axes (rows, columns, channels) of a tensor (1, ., ., .) in its node; by default as channels first."""
    order = view.order()
    rows, columns, channels = (None if order is None else triple(order, view.shape)) or _MAPS[0]
    return rows, columns, channels


def of_map(node: str, dims: Shape, axes: Sequence[int]) -> View:
    """Return the tensor (1, ., ., .) of a map node whose rows, columns and channels are ``axes``."""
    sizes = dict(zip(axes, dims))
    return fresh(node, (1, sizes[1], sizes[2], sizes[3]), axes)


def common(nodes: Nodes, views: Sequence[View], axis: int) -> tuple[int, ...]:
    """Return a common order for tensors to concatenate: that of the first whose concatenated axis is longer than 1."""
    rank = len(views[0].axes)
    ranked = sorted(views, key=lambda view: (not view.axes[axis], -view.size))
    order = next((found for view in ranked if (found := view.order()) is not None), default_order(rank))
    order = _with_axis(tuple(each for each in order if any(view.shape[each] > 1 for view in views)), axis, rank)
    missing = [each for each in range(rank) if each not in order and any(view.shape[each] > 1 for view in views)]
    return order if not missing else tuple(default_order(rank))


def resized(view: View, axis: int, size: int, node: str) -> View:
    """Return the tensor of a node with another length of one axis. The axis has at most one atom."""
    old = view.axes[axis]
    new = (Atom(size),) if size > 1 else ()
    stored: tuple[Atom, ...]
    if old:
        place = view.stored.index(old[0])
        stored = (*view.stored[:place], *new, *view.stored[place + 1 :])
    else:
        stored = view.stored if not new else (*view.stored, *new)
    return View(node, stored, (*view.axes[:axis], new, *view.axes[axis + 1 :]))
