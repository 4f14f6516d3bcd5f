"""Converters of operators that slice, split, concatenate and pad tensors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from glsl_infer.importers.core import emit, moves
from glsl_infer.importers.onnx import relayout
from glsl_infer.importers.onnx.call import Call, Converter, Operand
from glsl_infer.importers.onnx.folding import slices, split_sizes
from glsl_infer.importers.onnx.model import Numbers
from glsl_infer.importers.onnx.places import gathered, gathered_constant
from glsl_infer.importers.onnx.relayout import common, map_axes, of_map, placed, resized, triple
from glsl_infer.importers.onnx.view import View, fresh
from glsl_infer.program.layout import MAX_TEXTURE_SIZE, TEXTURE_RANKS

MOST_SLICES = 64
"""Largest number of slices that replace a gather along rows or columns, and of tensors in one concatenation."""

MOST_STEPS = 64
"""Largest number of vectors that shaders concatenate as the steps of a sequence."""


def sliced(call: Call, view: View, axis: int, selection: range) -> View:
    """Return a slice of a tensor along one axis."""
    if selection == range(view.shape[axis]):
        return view
    if not len(selection):
        raise call.refused("with an empty result", "keep at least one element")
    view, dim = placed(call.nodes, view, axis)
    dims = call.nodes.shape(view.node)
    return resized(view, axis, len(selection), _sliced_node(call, view.node, dims, dim, selection))


MOST_MAPS = 64
"""Largest number of maps in a batch. Each has its own nodes."""


def for_each_map(convert: Converter, *, include_1d: bool = True) -> Converter:
    """Extend a converter of single maps to batches: convert each map, then concatenate the results.

    Args:
        convert: the converter of the operator on one map.
        include_1d: whether to split batches of tensors (batch, channels, length), too.
    """

    def converted(call: Call) -> list[View]:
        view = call.operands[0] if call.operands else None
        if not isinstance(view, View) or len(view.axes) not in (3 if include_1d else 4, 4) or view.shape[0] == 1:
            return convert(call)
        if view.shape[0] > MOST_MAPS or len(call.views) > 1:
            raise call.refused(f"on a tensor of shape {view.shape}", f"give it a batch of at most {MOST_MAPS}")
        results = [
            convert(call.of(sliced(call, view, 0, range(n, n + 1)), *call.operands[1:])) for n in range(view.shape[0])
        ]
        return [concatenated(call, outputs, 0) for outputs in zip(*results)]

    return converted


def _sliced_node(call: Call, node: str, dims: Sequence[int], dim: int, selection: range) -> str:
    nodes = call.nodes
    if len(dims) in TEXTURE_RANKS or selection.step == 1:
        selections = [selection if index == dim else range(size) for index, size in enumerate(dims)]
        return nodes.add(emit.sliced(nodes.new_name("part"), node, tuple(dims), selections))
    block = nodes.shaped(node, (math.prod(dims[:dim]), dims[dim], math.prod(dims[dim + 1 :])))
    attrs: dict[str, Any] = {
        "begin": (0, selection.start),
        "size": (math.prod(dims[:dim]), len(selection)),
        "strides": (1, selection.step),
    }
    node = nodes.emit("spatial_slice", block, part="part", **attrs)
    return nodes.shaped(node, (*dims[:dim], len(selection), *dims[dim + 1 :]))


def _slice(call: Call) -> list[View]:
    view = call.view()
    bounds = [None, *(call.constant(index, "where it begins and ends") if call.has(index) else None
                     for index in range(1, len(call.operands)))]  # fmt: skip
    for axis, selection in enumerate(slices(view.shape, bounds, call.operator.attributes)):
        view = sliced(call, view, axis, range(view.shape[axis])[selection])
    return [view]


def split(call: Call) -> list[Operand]:
    """Convert a Split. A part of length 0 is an empty constant, which a Concat leaves out."""
    view = call.view()
    axis = call.axis(int(call.attribute("axis", 0)), len(view.axes))
    size_operands = [None, call.constant(1, "its sizes") if call.has(1) else None]
    sizes = split_sizes(view.shape[axis], size_operands, call.operator.attributes)
    view, _ = placed(call.nodes, view, axis)
    parts, begin = list[Operand](), 0
    for name, size in zip(call.operator.outputs, sizes):
        part = range(begin, begin + size)
        empty = np.zeros((*view.shape[:axis], 0, *view.shape[axis + 1 :]), np.float32)
        parts.append((sliced(call, view, axis, part) if size else empty) if name else view)
        begin += size
    return parts


def _gather(call: Call) -> list[View]:
    if not call.is_constant(1):
        return gathered(call)
    view, indices = call.view(), call.constant(1, "indices").astype(np.int64)
    axis = call.axis(int(call.attribute("axis", 0)), len(view.axes))
    size = view.shape[axis]
    from_start = [int(index) + size if index < 0 else int(index) for index in indices.reshape(-1)]
    if not from_start or min(from_start) < 0 or max(from_start) >= size:
        raise call.refused(f"indices {from_start[:8]} of an axis of {size}", "the file is damaged")
    shape = (*view.shape[:axis], *indices.shape, *view.shape[axis + 1 :])
    return [call.reshaped(_gathered_constant(call, view, axis, from_start), shape)]


def _gathered_constant(call: Call, view: View, axis: int, indices: Sequence[int]) -> View:
    """Return the elements at the constant indices of an axis, in that order."""
    step = indices[1] - indices[0] if len(indices) > 1 else 1
    arithmetic_run = range(indices[0], indices[0] + step * len(indices), step) if step else range(0)
    if list(arithmetic_run) == list(indices):
        return sliced(call, view, axis, arithmetic_run)
    view, dim = placed(call.nodes, view, axis)
    dims = call.nodes.shape(view.node)
    if dim == len(dims) - 1 and len(dims) in TEXTURE_RANKS:
        op = "vector_gather" if len(dims) == 1 else "channel_gather"
        node = call.nodes.emit(op, view.node, part="picked", channels=tuple(indices))
        return resized(view, axis, len(indices), node)
    if len(indices) > MOST_SLICES:
        return gathered_constant(call, view, axis, indices)
    return concatenated(call, [sliced(call, view, axis, range(index, index + 1)) for index in indices], axis)


def _concat(call: Call) -> list[View]:
    return concat_operands(call, call.operands)


def concat_operands(call: Call, operands: Sequence[Operand]) -> list[View]:
    """Return tensors and constants concatenated along the attribute ``axis``."""
    views = [value for value in operands if isinstance(value, View)]
    axis = call.axis(int(call.attribute("axis", 1)), len(views[0].axes))
    operands = _with_zero_channels(call, operands, axis)
    tensors = [
        as_view(call, value, views[0]) if isinstance(value, np.ndarray) else value
        for value in operands
        if not isinstance(value, np.ndarray) or value.size
    ]
    all_views = [value for value in tensors if isinstance(value, View)]
    shapes = {tuple(size for index, size in enumerate(view.shape) if index != axis) for view in all_views}
    if len(shapes) != 1 or len(all_views) != len(tensors):
        raise call.refused(f"of shapes {[view.shape for view in all_views]}", "the file is damaged")
    return [concatenated(call, all_views, axis)]


def _with_zero_channels(call: Call, operands: Sequence[Operand], axis: int) -> list[Operand]:
    """Return the inputs with constants of zeros merged as channels into the adjacent map.

    The shader that pads the map draws these zeros.
    """
    merged = list(operands)
    for index, view in enumerate(operands):
        if not isinstance(view, View):
            continue
        before, after = (
            _zeros_along(merged[neighbour], view.shape, axis) if 0 <= neighbour < len(merged) else 0
            for neighbour in (index - 1, index + 1)
        )
        if not 0 < before + after <= MAX_TEXTURE_SIZE:
            continue
        ordered, dim = placed(call.nodes, view, axis)
        dims = call.nodes.shape(ordered.node)
        if len(dims) != 3 or dim != 2:
            continue
        node = _zero_channels(call, ordered.node, before, after)
        merged[index] = resized(ordered, axis, dims[2] + before + after, node)
        if before:
            merged[index - 1] = np.zeros(0, np.float32)
        if after:
            merged[index + 1] = np.zeros(0, np.float32)
    return merged


def _zeros_along(operand: Operand, shape: Sequence[int], axis: int) -> int:
    """Return the length along an axis of a constant of zeros that otherwise has ``shape``; 0 for another operand."""
    if not isinstance(operand, np.ndarray) or operand.any() or operand.ndim != len(shape):
        return 0
    has_shape = all(operand.shape[other] == size for other, size in enumerate(shape) if other != axis)
    return operand.shape[axis] if has_shape else 0


def _zero_channels(call: Call, node: str, before: int, after: int) -> str:
    """Return a map with channels of zeros before and after its own."""
    return _pad_node(call, node, [(0, 0), (0, 0), (before, after)], "constant", 0.0)


def as_view(call: Call, value: Numbers, like: View) -> View:
    """Return a constant as a tensor: one value of another tensor, times 0, plus the constant."""
    shape = tuple(value.shape)
    element = like
    for axis, size in enumerate(like.shape):
        element = sliced(call, element, axis, range(min(size, 1)))
    node = call.nodes.shaped(element.node, (1,) * max(len(shape), 2))
    zeros = call.nodes.constant("multiply", node, np.zeros(shape or (1,)))
    return fresh(call.nodes.constant("add", zeros, call.finite(value, "a constant")), shape)


def concatenated(call: Call, views: Sequence[View], axis: int) -> View:
    """Return tensors concatenated along an axis."""
    if len(views) == 1:
        return views[0]
    nodes = call.nodes
    order = common(nodes, views, axis)
    other_axes = [other for other in range(len(views[0].axes)) if other not in order]
    ordered = [relayout.ordered(nodes, view, [*order, *other_axes]) for view in views]
    shape = list(views[0].shape)
    shape[axis] = sum(view.shape[axis] for view in views)
    by_channels = _concatenated_channels(call, ordered, order, axis)
    if by_channels is not None:
        return by_channels
    axes: Sequence[int] = triple(order, tuple(shape)) or order
    are_steps = _are_steps(call, ordered, order, axis, shape[axis])
    if len(order) == 2 and len(shape) == 3 and (are_steps or _are_rows(call, ordered)):
        height = other_axes[0]
        axes = (height, *order)  # a row is a map of height 1, as are the steps of a sequence
    sources = [nodes.shaped(view.node, tuple(view.shape[other] for other in axes)) for view in ordered]
    dim = list(axes).index(axis)
    is_small_batch = len(shape) == 4 and len(sources) <= moves.MOST_JOINED and shape[axis] <= MAX_TEXTURE_SIZE
    if (are_steps or is_small_batch) and len(axes) == 3 and dim < 2 and all(map(nodes.in_textures, sources)):
        node = _concatenated_pixels(call, sources, dim)
    else:
        node = _concat_node(call, sources, dim, len(axes))
    return fresh(node, tuple(shape), order)


def _are_rows(call: Call, views: Sequence[View]) -> bool:
    """Return whether each view is a map of height 1."""
    shapes = [call.nodes.shape(view.node) for view in views]
    return all(len(shape) == 3 and shape[0] == 1 for shape in shapes)


def _are_steps(call: Call, views: Sequence[View], order: Sequence[int], axis: int, length: int) -> bool:
    """Return whether each view is a vector in textures that becomes one step of a sequence.

    Args:
        call: the operator.
        views: the inputs, all in the same order.
        order: the axes of their nodes.
        axis: the axis of concatenation.
        length: size of the result along it.
    """
    return (
        len(order) == 2
        and order[0] == axis
        and len(views) == length <= MOST_STEPS
        and all(call.nodes.in_textures(view.node) for view in views)
    )


def _concatenated_pixels(call: Call, sources: Sequence[str], dim: int) -> str:
    """Return the map of maps that shaders concatenate along rows (``dim`` 0) or columns (1)."""
    shapes = [call.nodes.shape(source) for source in sources]
    return call.nodes.add(moves.concatenated(call.nodes.new_name("placed"), sources, shapes, dim))


def _concatenated_channels(call: Call, views: Sequence[View], order: Sequence[int], axis: int) -> View | None:
    """Return maps concatenated along their channels, regardless of the order of their rows and columns; or None."""
    shapes = [call.nodes.shape(view.node) for view in views]
    fits = all(len(shape) == 3 and shape[:2] == shapes[0][:2] for shape in shapes) and order[-1] == axis
    if not fits or any(view.shape[axis] != shape[2] for view, shape in zip(views, shapes)):
        return None
    node = _concat_node(call, [view.node for view in views], 2, 3)
    first = views[0].merged()
    return resized(first, axis, sum(shape[2] for shape in shapes), node)


def _concat_node(call: Call, sources: Sequence[str], dim: int, rank: int) -> str:
    nodes = call.nodes
    if (rank == 3 and dim == 2) or rank == 1:
        return nodes.emit("concat", *sources, part="joined")
    remaining = list(sources)
    while len(remaining) > MOST_SLICES:
        first = nodes.emit("tensor_concat", *remaining[:MOST_SLICES], part="joined", axis=dim)
        remaining = [first, *remaining[MOST_SLICES:]]
    return nodes.emit("tensor_concat", *remaining, part="joined", axis=dim)


def _pad(call: Call) -> list[View]:
    view = call.view()
    rank = len(view.axes)
    widths_by_axis = _pad_widths(call, view)
    value = call.number(2, "a value", "value", 0.0)
    mode = call.attribute("mode", "constant")
    if not widths_by_axis:
        return [view]
    if mode == "wrap":
        for axis, widths in widths_by_axis.items():
            view = _wrapped(call, view, axis, widths)
        return [view]
    if mode not in ("constant", "reflect", "edge") or not np.isfinite(value):
        raise call.refused(f"mode '{mode}' with {value}", "give constant with a finite number, reflect or edge")
    if rank in (3, 4) and 0 not in widths_by_axis and view.shape[0] == 1:
        return [_map_padded(call, widths_by_axis, mode, value, map_axes(view) if rank == 4 else None)]
    for axis, widths in widths_by_axis.items():
        view = _axis_padded(call, view, axis, widths, mode, value)
    return [view]


def _pad_widths(call: Call, view: View) -> dict[int, tuple[int, int]]:
    """Return (before, after) by axis, for the axes that a Pad changes."""
    rank = len(view.axes)
    pads = call.integers(1, "its widths", "pads" if "pads" in call.operator.attributes else "paddings") or []
    axes = (call.integers(3, "axes") if call.has(3) else list(range(rank))) or []
    if len(pads) != 2 * len(axes):
        raise call.refused(f"by {pads} on {view.shape}", "give two widths for each axis")
    widths_by_axis = {call.axis(axis, rank): widths for axis, widths in zip(axes, zip(pads, pads[len(axes) :]))}
    return {axis: widths for axis, widths in widths_by_axis.items() if any(widths)}


def _map_padded(
    call: Call, widths_by_axis: dict[int, tuple[int, int]], mode: str, value: float, axes: tuple[int, int, int] | None
) -> View:
    """Return a padded map with the axes (rows, columns, channels), or a padded line (1, channels, length)."""
    node, shape = call.map() if axes is None else relayout.as_map(call.nodes, call.view(), axes)
    rows, columns, last = axes or (0, 2, 1)
    channels = widths_by_axis.get(last, (0, 0))
    zeros = mode == "constant" and not value and min(channels) >= 0 and sum(channels) <= emit.MOST_ZEROS
    widths = [widths_by_axis.get(rows, (0, 0)), widths_by_axis.get(columns, (0, 0)), channels if zeros else (0, 0)]
    node = _pad_node(call, node, widths, mode, value)
    view = call.mapped(node, 3) if axes is None else of_map(node, call.nodes.shape(node), axes)
    if any(channels) and view.shape[last] == shape[2]:
        view = _axis_padded(call, view, last, channels, mode, value)
    return view


def _pad_node(call: Call, node: str, widths: Sequence[tuple[int, int]], mode: str, value: float) -> str:
    if not any(map(any, widths)):
        return node
    return call.nodes.add(emit.padded(call.nodes.new_name("padded"), node, call.nodes.shape(node), widths, mode, value))


def _axis_padded(call: Call, view: View, axis: int, widths: tuple[int, int], mode: str, value: float) -> View:
    """Return a tensor padded along one axis, as a map whose columns are the axis."""
    view, dim = placed(call.nodes, view, axis)
    dims = call.nodes.shape(view.node)
    block = call.nodes.shaped(view.node, (math.prod(dims[:dim]), dims[dim], math.prod(dims[dim + 1 :])))
    padded = _pad_node(call, block, [(0, 0), widths, (0, 0)], mode, value)
    size = dims[dim] + sum(widths)
    node = call.nodes.shaped(padded, (*dims[:dim], size, *dims[dim + 1 :]))
    return resized(view, axis, size, node, math.prod(dims[:dim]))


def _wrapped(call: Call, view: View, axis: int, widths: tuple[int, int]) -> View:
    size = view.shape[axis]
    if min(widths) < 0 or max(widths) > size:
        raise call.refused(f"wrapping {widths} around {size}", f"pad at most {size} on each side")
    parts = [sliced(call, view, axis, range(size - widths[0], size))] if widths[0] else []
    parts.append(view)
    if widths[1]:
        parts.append(sliced(call, view, axis, range(widths[1])))
    return concatenated(call, parts, axis)


CONVERTERS: dict[str, Converter] = {
    "Concat": _concat,
    "Gather": _gather,
    "Pad": _pad,
    "Slice": _slice,
}
