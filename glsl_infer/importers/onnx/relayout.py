"""Nodes that move a tensor's axes to the order that an operator needs, and the dimension of a node that is an axis.

Moves with a shader are tried first: channel gathers, a transposition of rows and columns, depth to space and space to
depth. Any other move is a transposition on the CPU.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from glsl_infer.cpu.kernel import LARGEST_RANK
from glsl_infer.errors import ModelError
from glsl_infer.graph import Shape
from glsl_infer.importers.core import moves
from glsl_infer.importers.onnx.nodes import Nodes
from glsl_infer.importers.onnx.view import Atom, View, default_order, fresh

LONGEST_VECTOR = 4096
"""Largest length of a vector that a shader reorders. Longer vectors are left to the CPU."""

Atoms = Sequence[Atom]


def ordered(nodes: Nodes, view: View, order: Sequence[int]) -> View:
    """Return a tensor with the file's axes in an order. No node is added if they already have the order."""
    target = view.atoms_in(order)
    node = _reordered(nodes, view.node, view.stored, target)
    return View(node, tuple(target), view.axes)


def simple(nodes: Nodes, view: View, order: Sequence[int] | None = None) -> View:
    """Return a tensor whose axes are contiguous: unchanged, or in an order, by default that of its rank."""
    if view.order() is not None:
        return view
    return ordered(nodes, view, default_order(len(view.axes)) if order is None else order)


def as_map(nodes: Nodes, view: View, order: Sequence[int] = (2, 3, 1)) -> tuple[str, Shape]:
    """Return a node, and its shape, whose (height, width, channels) are three axes of the file's tensor."""
    reordered = ordered(nodes, view, order)
    height, width, channels = (view.shape[axis] for axis in order)
    shape = (height, width, channels)
    return nodes.shaped(reordered.node, shape), shape


def in_file_order(nodes: Nodes, view: View, shape: Shape | None = None) -> str:
    """Return a node with the values in the file's order. The default shape is the file's without the batch."""
    reordered = ordered(nodes, view, range(len(view.axes)))
    if shape is None:
        shape = view.shape[1:] if len(view.shape) > 1 and view.shape[0] == 1 else view.shape
    return nodes.shaped(reordered.node, shape or (1,))


def _reordered(nodes: Nodes, node: str, stored: Atoms, target: Atoms) -> str:
    """Return a node with the atoms of another in the order ``target``: by a shader if possible."""
    if tuple(stored) == tuple(target):
        return node
    merged = View(node, tuple(stored), (tuple(target),)).merged()
    if len(merged.stored) == 1:
        return node
    dims = nodes.shape(node)
    split = merged.split_at(dims)
    if split is not None and len(dims) == 3:
        split_view, groups = split
        reordered = _reordered_map(nodes, node, groups, split_view.axes[0])
        if reordered is not None:
            return reordered
    if len(dims) == 1 and dims[0] <= LONGEST_VECTOR:
        return nodes.emit("vector_gather", node, part="order", channels=_source_indices(merged.stored, merged.axes[0]))
    return _transposed(nodes, node, merged)


def _transposed(nodes: Nodes, node: str, view: View) -> str:
    """Return a node with the atoms of a view in the order of its only axis, on the CPU.

    Raises:
        ModelError: the view has too many atoms.
    """
    positions = {atom: index for index, atom in enumerate(view.stored)}
    axes = tuple(positions[atom] for atom in view.axes[0])
    if len(axes) > LARGEST_RANK:
        raise ModelError(f"a transposition of {len(axes)} axes; at most {LARGEST_RANK} are possible")
    by_atoms = nodes.shaped(node, tuple(atom.size for atom in view.stored))
    return nodes.emit("tensor_transpose", by_atoms, part="order", axes=axes)


def _source_indices(source: Atoms, target: Atoms) -> tuple[int, ...]:
    """Return the source index of each element of a transposition of atoms."""
    count = math.prod(atom.size for atom in source)
    indices = np.arange(count).reshape([atom.size for atom in source])
    order = [list(source).index(atom) for atom in target]
    return tuple(int(index) for index in indices.transpose(order).reshape(-1))


def _reordered_map(nodes: Nodes, node: str, groups: Sequence[Atoms], target: Atoms) -> str | None:
    """Return a node that reorders a map's atoms by a shader, or None."""
    rows, columns, channels = (list(group) for group in groups)
    if list(target[: len(rows) + len(columns)]) == columns + rows and rows and columns:
        node, rows, columns = nodes.emit("transpose", node), columns, rows
    if list(target[: len(rows) + len(columns)]) == rows + columns:
        return _reordered_channels(nodes, node, channels, target[len(rows) + len(columns) :])
    return _to_pixels(nodes, node, (rows, columns, channels), target) or _to_channels(
        nodes, node, (rows, columns, channels), target
    )


def _reordered_channels(nodes: Nodes, node: str, source: Atoms, target: Atoms) -> str:
    if list(source) == list(target):
        return node
    return nodes.emit("channel_gather", node, part="order", channels=_source_indices(source, target))


def _to_pixels(nodes: Nodes, node: str, groups: Sequence[list[Atom]], target: Atoms) -> str | None:
    """Return the depth to space that moves channels after rows and after columns."""
    rows, columns, channels = groups
    if list(target[: len(rows)]) != rows:
        return None
    index = len(rows)
    down = _run_of(target, index, channels)
    index += len(down)
    if list(target[index : index + len(columns)]) != columns:
        return None
    index += len(columns)
    last = list(target[index:])
    for count in range(len(last) + 1):
        across, depth = last[:count], last[count:]
        if not all(atom in channels for atom in last) or not (down or across):
            continue
        block = _block(down, across)
        if channels == [*depth, *down, *across]:
            return nodes.emit("depth_to_space", node, part="pixels", block=block, order="column_row_depth")
        if channels == [*down, *across, *depth]:
            return nodes.emit("depth_to_space", node, part="pixels", block=block)
    if not down:
        return None
    across = [atom for atom in last if atom in channels][:1]
    return _in_steps(nodes, node, groups, target, down, across)


def _in_steps(
    nodes: Nodes, node: str, groups: Sequence[list[Atom]], target: Atoms, down: Atoms, across: Atoms
) -> str | None:
    """Return a depth to space after a channel gather, or None if the target has another order."""
    rows, columns, channels = groups
    last = list(target[len(rows) + len(down) + len(columns) :])
    depth = [atom for atom in last if atom not in across]
    if last != [*across, *depth]:
        return None
    gathered = _reordered_channels(nodes, node, channels, [*down, *across, *depth])
    return nodes.emit("depth_to_space", gathered, part="pixels", block=_block(down, across))


def _block(down: Atoms, across: Atoms) -> int | tuple[int, int]:
    """Return the attribute ``block`` of a depth to space."""
    height, width = (math.prod(atom.size for atom in atoms) for atoms in (down, across))
    return height if height == width else (height, width)


def _run_of(target: Atoms, index: int, among: Atoms) -> list[Atom]:
    """Return the atoms of a set that are consecutive in the target from a position on."""
    run = []
    while index < len(target) and target[index] in among:
        run.append(target[index])
        index += 1
    return run


def _to_channels(nodes: Nodes, node: str, groups: Sequence[list[Atom]], target: Atoms) -> str | None:
    """Return the space to depth that moves the inner atoms of rows and columns to the channels."""
    rows, columns, channels = groups
    outer_rows = _head(rows, target, 0)
    outer_columns = _head(columns, target, len(outer_rows))
    outer_count = len(outer_rows) + len(outer_columns)
    if not outer_rows or not outer_columns or outer_count == len(rows) + len(columns):
        return None
    inner_rows, inner_columns = rows[len(outer_rows) :], columns[len(outer_columns) :]
    down, across = (math.prod(atom.size for atom in atoms) for atoms in (inner_rows, inner_columns))
    blocks = nodes.add(moves.space_to_depth(nodes.new_name("phases"), node, nodes.shape(node), (down, across)))
    return _reordered_channels(nodes, blocks, [*inner_rows, *inner_columns, *channels], target[outer_count:])


def _head(atoms: Atoms, target: Atoms, index: int) -> list[Atom]:
    """Return the leading atoms that are consecutive in the target from a position on."""
    head: list[Atom] = []
    for atom, expected in zip(atoms, target[index:]):
        if atom is not expected:
            break
        head.append(atom)
    return head


_MAPS = ((2, 3, 1), (1, 2, 3), (3, 2, 1), (2, 1, 3), (3, 1, 2), (1, 3, 2))
"""Orders of the last three of four axes in a map, common ones first."""


def placed(nodes: Nodes, view: View, axis: int) -> tuple[View, int]:
    """Return a tensor, and the dimension of its node that equals an axis of the tensor."""
    merged = view.merged()  # other axes may be split: each step of a sequence is then a slice of the map
    if len(merged.axes[axis]) == 1 and (dimension := _dimension_of(nodes, merged, axis)) is not None:
        return merged, dimension
    contiguous = simple(nodes, view).merged()
    dimension = _dimension_of(nodes, contiguous, axis)
    if dimension is not None:
        return contiguous, dimension
    order = _with_axis(contiguous.order() or (), axis, len(view.axes))
    dims = triple(order, view.shape)
    axes: Sequence[int] = order if dims is None else dims
    node = nodes.shaped(contiguous.node, tuple(view.shape[other] for other in axes))
    return contiguous.at(node), list(axes).index(axis)


def _dimension_of(nodes: Nodes, view: View, axis: int) -> int | None:
    """Return the dimension of a node that equals an axis of at most one atom, or None."""
    if not view.axes[axis]:
        return None
    (atom,) = view.axes[axis]
    elements_before = math.prod(other.size for other in view.stored[: view.stored.index(atom)])
    dims = nodes.shape(view.node)
    matches = (dim for dim, size in enumerate(dims) if size == atom.size and math.prod(dims[:dim]) == elements_before)
    return next(matches, None)


def _with_axis(order: Sequence[int], axis: int, rank: int) -> tuple[int, ...]:
    """Return the order with an axis of length 1 inserted at its default position."""
    if axis in order:
        return tuple(order)
    for full_order in (*(_MAPS if rank == 4 else ()), default_order(rank), tuple(range(rank))):
        if axis in full_order and is_part(order, full_order):
            return tuple(other for other in full_order if other in order or other == axis)
    return (axis, *order)


def is_part(order: Sequence[int], full_order: Sequence[int]) -> bool:
    """Return whether axes have the same relative order in another order."""
    return tuple(axis for axis in full_order if axis in order) == tuple(order)


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
    order = next((own_order for view in ranked if (own_order := view.order()) is not None), default_order(rank))
    order = _with_axis(tuple(other for other in order if any(view.shape[other] > 1 for view in views)), axis, rank)
    missing = [other for other in range(rank) if other not in order and any(view.shape[other] > 1 for view in views)]
    return order if not missing else tuple(default_order(rank))


def resized(view: View, axis: int, size: int, node: str, before: int | None = None) -> View:
    """Return the tensor of a node with another length of one axis. The axis has at most one atom.

    Args:
        view: the tensor before.
        axis: of the tensor.
        size: its new length.
        node: the node of the result.
        before: for an axis of length 1, the number of elements of the node's dimensions before it; default: all.
    """
    old = view.axes[axis]
    new = (Atom(size),) if size > 1 else ()
    stored: tuple[Atom, ...]
    if old:
        index = view.stored.index(old[0])
        stored = (*view.stored[:index], *new, *view.stored[index + 1 :])
    else:
        counts = [math.prod(atom.size for atom in view.stored[:index]) for index in range(len(view.stored) + 1)]
        index = counts.index(counts[-1] if before is None else before)
        stored = (*view.stored[:index], *new, *view.stored[index:])
    return View(node, stored, (*view.axes[:axis], new, *view.axes[axis + 1 :]))
