"""Moves of the elements of tensors as nodes, also recognised from the source index of each element."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from glsl_infer.graph import Node, Shape

Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Arrangement:
    """A move of values: a channel gather, one step, and another channel gather.

    Attributes:
        shape: shape of the result.
        step: ``""``, ``transpose``, ``reshape``, ``depth_to_space`` or ``space_to_depth`` (by ``block``), ``part`` (of
            ``rows`` and ``columns``), ``repeat`` (pixels, ``block`` times down and across).
        before, after: indices of the gathered channels; None for all in order.
        block: (down, across).
        rows, columns: the rows and columns of ``part``.
    """

    shape: Shape
    step: str = ""
    before: tuple[int, ...] | None = None
    after: tuple[int, ...] | None = None
    block: tuple[int, int] = (1, 1)
    rows: range = range(0)
    columns: range = range(0)

    def nodes(self, name: str, source: str, source_shape: Shape) -> list[Node]:
        """Return the nodes of the move of a map of shape ``source_shape``. The first node is called ``name``."""
        nodes: list[Node] = []

        def add(op: str, **attrs: object) -> None:
            read = nodes[-1].name if nodes else source
            nodes.append(Node(f"{name}-{op}" if nodes else name, op, (read,), attrs))

        if self.before is not None:
            add("channel_gather", channels=self.before)
        if self.step == "transpose":
            add("transpose")
        elif self.step == "reshape":
            add("reshape", shape=self.shape)
        elif self.step == "depth_to_space":
            add("depth_to_space", block=self.block[0] if self.block[0] == self.block[1] else self.block)
        elif self.step == "space_to_depth":
            own = f"{name}-phases" if nodes else name
            nodes += space_to_depth(own, nodes[-1].name if nodes else source, source_shape, self.block)
        elif self.step == "part":
            parts = (self.rows, self.columns, range(source_shape[2]))
            own = f"{name}-part" if nodes else name
            nodes += part_of(own, nodes[-1].name if nodes else source, source_shape, parts)
        elif self.step == "repeat":
            add("upsample_nearest", size=self.block)
        if self.after is not None:
            add("channel_gather", channels=self.after)
        return nodes or [Node(name, "identity", (source,))]


def arrangement(sources: Indices, source_shape: Shape) -> Arrangement | None:
    """Return the move with these sources, or None if shaders do not support it.

    Args:
        sources: (height, width, channels): the flat index of each value in the source map.
        source_shape: shape of the source map.
    """
    shape = sources.shape
    total = int(np.prod(source_shape))
    if not sources.size or not total:
        return None
    if sources.size == total and (sources.reshape(-1) == np.arange(total)).all():
        return Arrangement(shape, "" if shape == tuple(source_shape) else "reshape")
    width, channels = source_shape[1], source_shape[2]
    coordinates = (sources // (width * channels), sources // channels % width, sources % channels)
    for candidate in _candidates(coordinates, shape, source_shape):
        if (_sources(candidate, source_shape) == sources).all():
            return candidate
    return None


def _candidates(coordinates: tuple[Indices, Indices, Indices], shape: Shape, before: Shape) -> Iterator[Arrangement]:
    """Yield the moves matching a few of the sources.

    Args:
        coordinates: row, column and channel of the source of each value, arrays of ``shape``.
        shape: shape of the result.
        before: shape of the source map.
    """
    rows, columns, channels = coordinates
    first = _order(channels[0, 0], before[2])
    if shape[:2] == (before[1], before[0]):
        yield Arrangement(shape, "transpose", after=first)
    down, across = shape[0] // before[0], shape[1] // before[1]
    if (down * before[0], across * before[1]) == tuple(shape[:2]) and down * across > 1:
        yield Arrangement(shape, "repeat", after=first, block=(down, across))
        if shape[2] * down * across == before[2]:
            wide = tuple(int(c) for c in channels[:down, :across].reshape(-1))
            yield Arrangement(shape, "depth_to_space", before=_order(np.asarray(wide), before[2]), block=(down, across))
    block = before[0] // shape[0]
    if block > 1 and (block * shape[0], block * shape[1]) == tuple(before[:2]) and shape[2] == before[2] * block**2:
        order = (rows[0, 0] * block + columns[0, 0]) * before[2] + channels[0, 0]
        if order.max() < shape[2]:
            yield Arrangement(shape, "space_to_depth", after=_order(order, shape[2]), block=(block, block))
    steps = [_steps(line) for line in (rows[:, 0, 0], columns[0, :, 0])]
    if steps[0] is not None and steps[1] is not None:
        is_complete = steps == [range(before[0]), range(before[1])]
        yield Arrangement(shape, "" if is_complete else "part", after=first, rows=steps[0], columns=steps[1])


def _order(channels: Indices, count: int) -> tuple[int, ...] | None:
    order = tuple(int(channel) for channel in channels)
    return None if order == tuple(range(count)) else order


def _steps(line: Indices) -> range | None:
    """Return a line of indices as a range, or None if its steps differ or are 0."""
    step = int(line[1] - line[0]) if len(line) > 1 else 1
    if not step:
        return None
    steps = range(int(line[0]), int(line[0]) + step * len(line), step)
    return steps if list(steps) == line.tolist() else None


def _sources(move: Arrangement, source_shape: Shape) -> Indices:
    """Return the flat index of the source of each value of a move."""
    x = np.arange(int(np.prod(source_shape)), dtype=np.int64).reshape(source_shape)
    if move.before is not None:
        x = x[:, :, list(move.before)]
    height, width, channels = source_shape[0], source_shape[1], len(x[0, 0])
    down, across = move.block
    if move.step == "transpose":
        x = x.transpose(1, 0, 2)
    elif move.step == "depth_to_space":
        x = (
            x.reshape(height, width, down, across, -1)
            .transpose(0, 2, 1, 3, 4)
            .reshape(height * down, width * across, -1)
        )
    elif move.step == "space_to_depth":
        x = x.reshape(height // down, down, width // across, across, channels).transpose(0, 2, 1, 3, 4)
        x = x.reshape(height // down, width // across, -1)
    elif move.step == "part":
        x = x[np.ix_(list(move.rows), list(move.columns))]
    elif move.step == "repeat":
        x = x.repeat(down, 0).repeat(across, 1)
    return x if move.after is None else x[:, :, list(move.after)]


def space_to_depth(name: str, source: str, shape: Shape, block: tuple[int, int]) -> list[Node]:
    """Return the nodes of a space to depth. The channels of each phase of pixels are consecutive.

    Args:
        name: of the layer, and of the first node.
        source: name of the input node, of ``shape``.
        shape: (height, width, channels). Height and width are multiples of those of a block.
        block: (height, width).
    """
    size = (shape[0] // block[0], shape[1] // block[1])
    nodes: list[Node] = []
    for y in range(block[0]):
        for x in range(block[1]):
            attrs = {"begin": (y, x), "size": size, "strides": block}
            nodes.append(Node(f"{name}-{y}-{x}" if nodes else name, "spatial_slice", (source,), attrs))
    return [*nodes, Node(f"{name}-joined", "concat", tuple(node.name for node in nodes))]


def part_of(name: str, source: str, shape: Shape, parts: tuple[range, range, range]) -> list[Node]:
    """Return the nodes of a slice of rows, columns and channels of a map of ``shape``. None of the ranges is empty."""
    rows, columns, channels = parts
    nodes: list[Node] = []
    if (rows, columns) != (range(shape[0]), range(shape[1])):
        attrs = {"begin": (rows.start, columns.start), "size": (len(rows), len(columns))}
        nodes.append(Node(name, "spatial_slice", (source,), {**attrs, "strides": (rows.step, columns.step)}))
    if channels != range(shape[2]):
        own, read = (f"{name}-channels", name) if nodes else (name, source)
        nodes.append(Node(own, "channel_gather", (read,), {"channels": tuple(channels)}))
    return nodes or [Node(name, "identity", (source,))]


MOST_JOINED = 4
"""Largest number of maps that shaders concatenate along rows or columns: each map is drawn twice."""

MOST_AXES = 6
"""Largest rank of a weight in a bundle."""


@dataclass(frozen=True)
class _Block:
    """A reshape, a slice and a transposition that together gather the elements of a block.

    Attributes:
        shape: shape of the reshape.
        begin, size: first index and length of the slice along each axis.
        order: axes of the transposition.
    """

    shape: Shape
    begin: Shape
    size: Shape
    order: Shape


def gathered(name: str, source: str, source_shape: Shape, indices: Indices) -> list[Node]:
    """Return the nodes that gather elements by their flat indices.

    Shaders gather the elements of maps and vectors if they can (``arrangement``). On the CPU, a block whose axes are
    sliced, permuted and renamed becomes a slice and a transposition. Any other gather stores every index.

    Args:
        name: of the first node.
        source: name of the input node.
        source_shape: its shape.
        indices: the flat index of each element of the result, in the result's shape.
    """
    if np.array_equal(indices.reshape(-1), np.arange(math.prod(source_shape))):
        return [Node(name, "reshape", (source,), {"shape": indices.shape})]
    if len(source_shape) == indices.ndim == 1:
        return [Node(name, "vector_gather", (source,), {"channels": tuple(indices.tolist())})]
    drawn = arrangement(indices, source_shape) if len(source_shape) == indices.ndim == 3 else None
    if drawn is not None:
        return drawn.nodes(name, source, source_shape)
    block = _block(indices, math.prod(source_shape))
    if block is None:
        return _gathered_by_index(name, source, source_shape, indices)
    nodes = [Node(name, "tensor_reshape", (source,), {"shape": block.shape})]
    if block.size != block.shape:
        attrs = {"begin": block.begin, "size": block.size, "strides": (1,) * len(block.shape)}
        nodes.append(Node(f"{name}-cut", "tensor_slice", (nodes[-1].name,), attrs))
    if block.order != tuple(range(len(block.order))):
        nodes.append(Node(f"{name}-moved", "tensor_transpose", (nodes[-1].name,), {"axes": block.order}))
    return [*nodes, Node(f"{name}-shape", "tensor_reshape", (nodes[-1].name,), {"shape": indices.shape})]


def _gathered_by_index(name: str, source: str, source_shape: Shape, indices: Indices) -> list[Node]:
    """Do as ``gathered``, with every index stored."""
    row = Node(name, "tensor_reshape", (source,), {"shape": (math.prod(source_shape),)})
    stored = indices if indices.ndim < MOST_AXES else indices.reshape(-1)
    weights = {"indices": stored[..., None].astype(np.float32)}
    gather = Node(f"{name}-places", "gather_points", (name,), {"batch": 0}, weights)
    if stored is indices:
        return [row, gather]
    return [row, gather, Node(f"{name}-shape", "tensor_reshape", (gather.name,), {"shape": indices.shape})]


def _block(indices: Indices, total: int) -> _Block | None:
    """Return the block with these flat indices; None if they differ along an axis, or are not those of a block.

    Indices that increase by a fixed step along each axis are those of a block of an array whose axes have these steps
    as strides. Sorted by descending stride, each axis of the array has the length: stride before / own stride.

    Args:
        indices: the flat index of each element, in the shape of the result.
        total: number of elements of the source.
    """
    if not indices.size:
        return None
    first, axes = int(indices.flat[0]), [axis for axis, size in enumerate(indices.shape) if size > 1]
    strides = [int(np.take(indices, 1, axis).flat[0]) - first for axis in axes]
    lengths = [indices.shape[axis] for axis in axes]
    grid = sum(
        (stride * np.arange(size).reshape(-1, *(1,) * (len(axes) - position - 1)))
        for position, (stride, size) in enumerate(zip(strides, lengths))
    )
    if min(strides, default=1) < 1 or not np.array_equal(indices.reshape(-1), np.reshape(first + grid, -1)):
        return None
    descending = sorted(range(len(axes)), key=lambda position: -strides[position])
    shape, begin, size = list[int](), list[int](), list[int]()
    offset, previous_stride = first, total
    for position in descending:
        stride = strides[position]
        if previous_stride % stride:
            return None
        shape.append(previous_stride // stride)
        begin.append(offset // stride)
        size.append(lengths[position])
        offset, previous_stride = offset % stride, stride
        if begin[-1] + size[-1] > shape[-1]:
            return None
    if previous_stride > 1:  # the block has one element of the innermost axis
        shape, begin, size = [*shape, previous_stride], [*begin, offset], [*size, 1]
    order = [descending.index(position) for position in range(len(axes))] + list(range(len(axes), len(shape)))
    return _Block(tuple(shape), tuple(begin), tuple(size), tuple(order))


def concatenated(name: str, inputs: Sequence[str], shapes: Sequence[Shape], axis: int) -> list[Node]:
    """Return the nodes for a concatenation of maps: each is padded with zeros to the full size, and they are added.

    Args:
        name: of the first node.
        inputs: the maps.
        shapes: of the maps.
        axis: 0 for rows, 1 for columns.
    """
    lengths = [shape[axis] for shape in shapes]
    nodes: list[Node] = []

    def padded(index: int) -> str:
        before, after = sum(lengths[:index]), sum(lengths[index + 1 :])
        padding = (before, after, 0, 0) if axis == 0 else (0, 0, before, after)
        own_name = f"{name}-{index + 1}" if index else name
        nodes.append(Node(own_name, "zero_padding", (inputs[index],), {"padding": padding}))
        return own_name

    def added(first: str, second: str) -> str:
        nodes.append(Node(f"{name}-joined-{len(nodes)}", "add", (first, second), {"activation": "linear"}))
        return nodes[-1].name

    maps: Iterator[str] = map(padded, range(len(inputs)))
    if len(inputs) > MOST_JOINED:  # pairwise sums round each value as few times as possible
        terms = list(maps)
        while len(terms) > MOST_JOINED:
            terms = [*map(added, terms[::2], terms[1::2]), *terms[len(terms) // 2 * 2 :]]
        maps = iter(terms)
    reduce(added, maps)  # pads each map just before it is added
    return nodes
