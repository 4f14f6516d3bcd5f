"""Nodes for pooling by windows: maxima, and means of the pixels inside the map."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glsl_infer.graph import Node, Shape
from glsl_infer.importers.core.constants import with_constant
from glsl_infer.importers.core.convolutions import Padding, Window, convolved
from glsl_infer.importers.core.emit import Chain

FEW = 4
"""Largest number of taps to compare one by one. More are compared in steps that double the window."""


def pooled(
    name: str, source: str, shape: Shape, op: str, window: Window, counted: Padding = (0, 0, 0, 0)
) -> list[Node]:
    """Return the nodes of a pooling of a map.

    Args:
        name: of the first node.
        source: name of the input node, of ``shape``.
        shape: of the map.
        op: ``max_pool``, ``average_pool`` or ``l2_pool``.
        window: of the pooling.
        counted: a mean is over the pixels of the map and of this padding of zeros.
    """
    chain = Chain(name, source, shape)
    if op == "max_pool" and not is_adjacent(window):
        _largest(chain, window)
    elif op == "average_pool" and not is_adjacent(window):
        chain.extend(sums(name, source, shape, window))
        factors = math.prod(window.size) / np.maximum(_taps_within(shape, window, counted), 1.0)
        if (factors != 1.0).any():
            chain.extend(with_constant(chain.free("scaled"), chain.last, shape, "multiply", factors[:, :, None]))
    elif op == "average_pool" and window.size == shape[:2] and not any(window.padding):
        chain.add("global_average_pool", part="mean", scale=None)
        chain.add("reshape", part="map", shape=(1, 1, shape[2]))
    else:
        if any(counted):
            chain.add("zero_padding", part="padded", padding=counted)
            top, bottom, left, right = (side - zeros for side, zeros in zip(window.padding, counted))
            window = replace(window, padding=(top, bottom, left, right))
        chain.add(op, pool=window.size, strides=window.strides, padding=window.padding)
    return chain.nodes


def sums(name: str, source: str, shape: Shape, window: Window) -> list[Node]:
    """Return the sum of each window divided by its number of taps: a convolution by equal weights."""
    kernel = np.full((*window.size, 1, shape[2]), 1.0 / math.prod(window.size), np.float32)
    return convolved(name, source, kernel, np.zeros(shape[2], np.float32), window, shape[2])


def is_adjacent(window: Window) -> bool:
    """Return whether the taps of a window are adjacent pixels."""
    return all(size == 1 or dilation == 1 for size, dilation in zip(window.size, window.dilations))


def _taps_within(shape: Shape, window: Window, counted: Padding) -> NDArray[np.int64]:
    """Return the number of taps of each window (y, x) inside the map or its ``counted`` padding."""
    counts_by_axis = []
    for axis in range(2):
        (before, after), size = window.padding[2 * axis : 2 * axis + 2], shape[axis]
        inside = np.arange(window.size[axis]) * window.dilations[axis]
        starts = np.arange(-before, size + after - inside[-1], window.strides[axis])
        taps = starts[:, None] + inside
        is_counted = (taps >= -counted[2 * axis]) & (taps < size + counted[2 * axis + 1])
        counts_by_axis.append(is_counted.sum(axis=1))
    counts: NDArray[np.int64] = np.multiply.outer(*counts_by_axis)
    return counts


def _largest(chain: Chain, window: Window) -> None:
    """Append the maximum of each window of a map, from slices with one tap of every window."""
    top, bottom, left, right = window.padding
    if any(window.padding):  # this padding is never the maximum
        chain.add("constant_padding", part="padded", padding=window.padding, value=-1e30)
    sides = [chain.shape[0] + top + bottom, chain.shape[1] + left + right]
    source = chain.last
    for axis, (size, step, dilation) in enumerate(zip(window.size, window.strides, window.dilations)):
        if size == 1 and step == 1:
            continue

        def sliced(name: str, begin: int, length: int, stride: int, axis: int = axis) -> str:
            starts, lengths, steps = [0, 0], list(sides), [1, 1]
            starts[axis], lengths[axis], steps[axis] = begin, length, stride
            attrs: dict[str, Any] = {"begin": tuple(starts), "size": tuple(lengths), "strides": tuple(steps)}
            return chain.emit("spatial_slice", name, part="tap", **attrs)

        count = (sides[axis] - (size - 1) * dilation - 1) // step + 1
        run, taps, length = source, 1, sides[axis]
        starts = list(range(size))
        if size > FEW:
            while 2 * taps <= size:
                length -= taps * dilation
                pair = sliced(run, 0, length, 1), sliced(run, taps * dilation, length, 1)
                run = chain.emit("binary", *pair, part="maximum", operation="maximum")
                taps *= 2
            starts = sorted({0, size - taps})  # two runs of taps, which can overlap
        source, *others = [sliced(run, start * dilation, count, step) for start in starts]
        for other in others:
            source = chain.emit("binary", source, other, part="maximum", operation="maximum")
        sides[axis] = count


def grown(shape: Shape, window: Window) -> Window:
    """Return a window with padding enlarged at the bottom and right for an output size rounded up."""
    padding = list(window.padding)
    for axis, (size, stride, dilation) in enumerate(zip(window.size, window.strides, window.dilations)):
        before, after = window.padding[2 * axis : 2 * axis + 2]
        last_start = shape[axis] + before + after - (size - 1) * dilation - 1
        count = -(-last_start // stride) + 1
        if (count - 1) * stride >= shape[axis] + before:  # a window outside the map does not count
            count -= 1
        padding[2 * axis + 1] += max((count - 1) * stride - last_start, 0)
    return replace(window, padding=(padding[0], padding[1], padding[2], padding[3]))
