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
    where = (sources // (width * channels), sources // channels % width, sources % channels)
    for candidate in _candidates(where, shape, source_shape):
        if (_sources(candidate, source_shape) == sources).all():
            return candidate
    return None


def _candidates(where: tuple[Indices, Indices, Indices], shape: Shape, before: Shape) -> Iterator[Arrangement]:
    """Yield the moves matching a few of the sources."""
    rows, columns, channels = where
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

Numbers = NDArray[np.int64]


def placed(name: str, source: str, source_shape: Shape, numbers: Numbers) -> list[Node]:
    """Return the nodes that gather elements by their flat indices.

    Shaders gather the elements of maps and vectors if they can (``arrangement``). On the CPU, a block whose axes are
    sliced, permuted and renamed becomes a slice and a transposition. Any other gather stores every index.

    Args:
        name: of the first node.
        source: name of the input node.
        source_shape: its shape.
        numbers: the flat index of each element of the result, in the result's shape.
    """
    if np.array_equal(numbers.reshape(-1), np.arange(math.prod(source_shape))):
        return [Node(name, "reshape", (source,), {"shape": numbers.shape})]
    if len(source_shape) == numbers.ndim == 1:
        return [Node(name, "vector_gather", (source,), {"channels": tuple(numbers.tolist())})]
    drawn = arrangement(numbers, source_shape) if len(source_shape) == numbers.ndim == 3 else None
    if drawn is not None:
        return drawn.nodes(name, source, source_shape)
    block = _block(numbers, math.prod(source_shape))
    if block is None:
        row = Node(name, "tensor_reshape", (source,), {"shape": (math.prod(source_shape),)})
        flat = numbers if numbers.ndim < MOST_AXES else numbers.reshape(-1)
        places = {"indices": flat[..., None].astype(np.float32)}
        nodes = [row, Node(f"{name}-places", "gather_points", (name,), {"batch": 0}, places)]
        if flat is numbers:
            return nodes
        return [*nodes, Node(f"{name}-shape", "tensor_reshape", (nodes[-1].name,), {"shape": numbers.shape})]
    sizes, begin, slice_sizes, order = block
    nodes = [Node(name, "tensor_reshape", (source,), {"shape": sizes})]
    if slice_sizes != sizes:
        cut = {"begin": begin, "size": slice_sizes, "strides": (1,) * len(sizes)}
        nodes.append(Node(f"{name}-cut", "tensor_slice", (nodes[-1].name,), cut))
    if order != tuple(range(len(order))):
        nodes.append(Node(f"{name}-moved", "tensor_transpose", (nodes[-1].name,), {"axes": order}))
    return [*nodes, Node(f"{name}-shape", "tensor_reshape", (nodes[-1].name,), {"shape": numbers.shape})]


def _block(numbers: Numbers, total: int) -> tuple[Shape, Shape, Shape, Shape] | None:
    """Return (sizes, begin, size, order) of a reshape, a slice and a transposition with the same result; or None."""
    if not numbers.size:
        return None
    first, axes = int(numbers.flat[0]), [axis for axis, size in enumerate(numbers.shape) if size > 1]
    steps = [int(np.take(numbers, 1, axis).flat[0]) - first for axis in axes]
    lengths = [numbers.shape[axis] for axis in axes]
    grid = sum(
        (step * np.arange(size).reshape(-1, *(1,) * (len(axes) - index - 1)))
        for index, (step, size) in enumerate(zip(steps, lengths))
    )
    if min(steps, default=1) < 1 or not np.array_equal(numbers.reshape(-1), np.reshape(first + grid, -1)):
        return None
    ordered = sorted(range(len(axes)), key=lambda index: -steps[index])
    sizes, begin, slice_sizes, left, remaining = list[int](), list[int](), list[int](), first, total
    for index in ordered:
        step = steps[index]
        if remaining % step:
            return None
        sizes.append(remaining // step)
        begin.append(left // step)
        slice_sizes.append(lengths[index])
        left, remaining = left % step, step
        if begin[-1] + slice_sizes[-1] > sizes[-1]:
            return None
    if remaining > 1:
        sizes, begin, slice_sizes = [*sizes, remaining], [*begin, left], [*slice_sizes, 1]
    order = [ordered.index(index) for index in range(len(axes))] + list(range(len(axes), len(sizes)))
    return tuple(sizes), tuple(begin), tuple(slice_sizes), tuple(order)


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

    def padded(number: int) -> str:
        around = (sum(lengths[:number]), sum(lengths[number + 1 :]))
        padding = (*around, 0, 0) if axis == 0 else (0, 0, *around)
        own = f"{name}-{number + 1}" if number else name
        nodes.append(Node(own, "zero_padding", (inputs[number],), {"padding": padding}))
        return own

    def joined(single: str, other: str) -> str:
        nodes.append(Node(f"{name}-joined-{len(nodes)}", "add", (single, other), {"activation": "linear"}))
        return nodes[-1].name

    maps: Iterator[str] = map(padded, range(len(inputs)))
    if len(inputs) > MOST_JOINED:  # pairwise sums round each value as few times as possible
        left = list(maps)
        while len(left) > MOST_JOINED:
            left = [*map(joined, left[::2], left[1::2]), *left[len(left) // 2 * 2 :]]
        maps = iter(left)
    reduce(joined, maps)
    return nodes
