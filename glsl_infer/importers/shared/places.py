"""Moves of the elements of tensors of any rank as nodes for the CPU, and concatenation of maps by shaders."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from glsl_infer.graph import Node, Shape

MOST_JOINED = 4
"""Largest number of maps that shaders concatenate along rows or columns: each map is drawn twice."""

MOST_AXES = 6
"""Largest rank of a weight in a bundle."""

Numbers = NDArray[np.int64]


def placed(name: str, source: str, given: Shape, numbers: Numbers) -> list[Node]:
    """Return the nodes that gather elements by their flat indices.

    A block whose axes are sliced, permuted and renamed becomes a slice and a transposition. Any other gather stores
    every index.

    Args:
        name: of the first node.
        source: name of the input node.
        given: its shape.
        numbers: the flat index of each element of the result, in the result's shape.
    """
    if np.array_equal(numbers.reshape(-1), np.arange(math.prod(given))):
        return [Node(name, "reshape", (source,), {"shape": numbers.shape})]
    block = _block(numbers, math.prod(given))
    if block is None:
        row = Node(name, "tensor_reshape", (source,), {"shape": (math.prod(given),)})
        flat = numbers if numbers.ndim < MOST_AXES else numbers.reshape(-1)
        places = {"indices": flat[..., None].astype(np.float32)}
        nodes = [row, Node(f"{name}-places", "gather_points", (name,), {"batch": 0}, places)]
        if flat is numbers:
            return nodes
        return [*nodes, Node(f"{name}-shape", "tensor_reshape", (nodes[-1].name,), {"shape": numbers.shape})]
    sizes, begin, taken, order = block
    nodes = [Node(name, "tensor_reshape", (source,), {"shape": sizes})]
    if taken != sizes:
        cut = {"begin": begin, "size": taken, "strides": (1,) * len(sizes)}
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
    apart = [numbers.shape[axis] for axis in axes]
    grid = sum(
        (step * np.arange(size).reshape(-1, *(1,) * (len(axes) - place - 1)))
        for place, (step, size) in enumerate(zip(steps, apart))
    )
    if min(steps, default=1) < 1 or not np.array_equal(numbers.reshape(-1), np.reshape(first + grid, -1)):
        return None
    ordered = sorted(range(len(axes)), key=lambda place: -steps[place])
    sizes, begin, taken, left, whole = list[int](), list[int](), list[int](), first, total
    for place in ordered:
        step = steps[place]
        if whole % step:
            return None
        sizes.append(whole // step)
        begin.append(left // step)
        taken.append(apart[place])
        left, whole = left % step, step
        if begin[-1] + taken[-1] > sizes[-1]:
            return None
    if whole > 1:
        sizes, begin, taken = [*sizes, whole], [*begin, left], [*taken, 1]
    order = [ordered.index(place) for place in range(len(axes))] + list(range(len(axes), len(sizes)))
    return tuple(sizes), tuple(begin), tuple(taken), tuple(order)


def joined(name: str, inputs: Sequence[str], shapes: Sequence[Shape], axis: int) -> list[Node]:
    """Return the nodes for a concatenation of maps: each is padded with zeros to the full size, and they are added.

    Args:
        name: of the first node.
        inputs: the maps, at most ``MOST_JOINED``.
        shapes: of the maps.
        axis: 0 for rows, 1 for columns.
    """
    whole = sum(shape[axis] for shape in shapes)
    nodes: list[Node] = []
    before, start = "", 0
    for number, (source, shape) in enumerate(zip(inputs, shapes)):
        around = (start, whole - start - shape[axis])
        padding = (*around, 0, 0) if axis == 0 else (0, 0, *around)
        own = name if not number else f"{name}-{number + 1}"
        nodes.append(Node(own, "zero_padding", (source,), {"padding": padding}))
        start += shape[axis]
        if before:
            nodes.append(Node(f"{own}-joined", "add", (before, own), {"activation": "linear"}))
        before = nodes[-1].name
    return nodes
