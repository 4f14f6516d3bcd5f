"""Mean and max pooling by windows and over entire maps -> nodes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from glsl_infer.graph import Shape
from glsl_infer.graph.activations import powers
from glsl_infer.importers.core import emit
from glsl_infer.importers.core.convolutions import Padding
from glsl_infer.importers.onnx.call import Call, Converter
from glsl_infer.importers.onnx.convolutions import padding, pair
from glsl_infer.importers.onnx.parts import of_each
from glsl_infer.importers.onnx.view import View


def pool(call: Call) -> list[View]:
    """Convert a pooling by a window."""
    rank = len(call.view().axes)
    source, shape = call.map(lines=True)
    if rank not in (3, 4):
        raise call.refused(f"on a tensor of {rank} axes", "it needs an image or a line")
    window, strides = pair(call, "kernel_shape", rank - 2), pair(call, "strides", rank - 2)
    dilations = pair(call, "dilations", rank - 2)
    if min(*window, *strides, *dilations) < 1:
        raise call.refused(f"a window of {window}, strides {strides}", "the file is damaged")
    around = padding(call, shape, window, strides, dilations)
    grown = _grown(shape, window, strides, dilations, around) if call.attribute("ceil_mode", 0) else around
    taps = Taps(shape, window, strides, dilations, grown)
    if call.kind == "LpPool":
        node = _lp(call, source, taps)
    elif call.kind == "MaxPool":
        node = _largest(call, source, taps)
    else:
        counted = around if call.attribute("count_include_pad", 0) else (0, 0, 0, 0)
        node = _mean(call, source, taps, counted)
    return [call.mapped(node, rank, lines=True)]


@dataclass(frozen=True)
class Taps:
    """The pixels that each window of a pooling reads.

    Attributes:
        shape: (height, width, channels) of the map.
        window: rows and columns of taps.
        strides: between windows, (y, x).
        dilations: between taps, (y, x).
        around: (top, bottom, left, right) pixels by which windows extend beyond the map.
    """

    shape: Shape
    window: tuple[int, int]
    strides: tuple[int, int]
    dilations: tuple[int, int]
    around: Padding

    @property
    def adjacent(self) -> bool:
        """True if the taps of a window are adjacent pixels."""
        return all(size == 1 or apart == 1 for size, apart in zip(self.window, self.dilations))

    def within(self, counted: Padding) -> NDArray[np.int64]:
        """Return the number of taps of each window (y, x) inside the map or its ``counted`` padding."""
        numbers = []
        for axis in range(2):
            before, after = self.around[2 * axis : 2 * axis + 2]
            size, apart, step = self.shape[axis], self.dilations[axis], self.strides[axis]
            reach = (self.window[axis] - 1) * apart + 1
            starts = np.arange((size + before + after - reach) // step + 1) * step - before
            taps = starts[:, None] + np.arange(self.window[axis]) * apart
            low, high = -counted[2 * axis], size + counted[2 * axis + 1]
            numbers.append(((taps >= low) & (taps < high)).sum(axis=1))
        counts: NDArray[np.int64] = np.multiply.outer(*numbers)
        return counts


def _largest(call: Call, source: str, taps: Taps) -> str:
    """Return the maximum of each window."""
    if taps.adjacent:
        attrs: dict[str, Any] = {"pool": taps.window, "strides": taps.strides, "padding": taps.around}
        return call.nodes.emit("max_pool", source, part="max_pool", **attrs)
    top, bottom, left, right = taps.around
    if any(taps.around):  # each tap is a pooling by one pixel, and this padding is never the maximum
        source = call.nodes.emit("constant_padding", source, part="padded", padding=taps.around, value=-1e30)
    sides = (taps.shape[0] + top + bottom, taps.shape[1] + left + right)
    return largest_of_taps(call.nodes, source, sides, taps.window, taps.strides, taps.dilations)


def _mean(call: Call, source: str, taps: Taps, counted: Padding) -> str:
    """Return the mean of each window over the map and its ``counted`` padding of zeros.

    Pixels beyond both, which windows can include with ``ceil_mode``, do not count.
    """
    if not taps.adjacent:
        return _per_count(call, _sums(call, source, taps), taps, counted)
    if taps.window == taps.shape[:2] and not any(taps.around):
        mean = call.nodes.emit("global_average_pool", source, part="mean", scale=None)
        return call.nodes.shaped(mean, (1, 1, taps.shape[2]))
    around = taps.around
    if any(counted):
        source = call.nodes.emit("zero_padding", source, part="padded", padding=counted)
        top, bottom, left, right = (whole - own for whole, own in zip(around, counted))
        around = (top, bottom, left, right)
    attrs: dict[str, Any] = {"pool": taps.window, "strides": taps.strides, "padding": around}
    return call.nodes.emit("average_pool", source, part="average_pool", **attrs)


def _sums(call: Call, source: str, taps: Taps) -> str:
    """Return the sum of each window divided by its number of taps: a convolution by equal weights."""
    channels = taps.shape[2]
    weights = np.full((*taps.window, 1, channels), 1.0 / math.prod(taps.window), np.float32)
    return call.nodes.emit(
        "conv2d",
        source,
        part="mean",
        weights={"kernel": weights, "bias": np.zeros(channels, np.float32)},
        strides=taps.strides,
        padding=taps.around,
        groups=channels,
        dilations=taps.dilations,
        activation="linear",
    )


def _per_count(call: Call, node: str, taps: Taps, counted: Padding) -> str:
    """Return means over all taps of windows as means over the counted taps, or 0 for a window without any."""
    factors = math.prod(taps.window) / np.maximum(taps.within(counted), 1.0)
    if (factors == 1.0).all():
        return node
    return call.nodes.affine(node, factors[:, :, None], np.zeros(1))


def _grown(
    shape: Sequence[int], window: Sequence[int], strides: Sequence[int], dilations: Sequence[int], around: Padding
) -> Padding:
    """Return padding enlarged at the bottom and right for an output size rounded up."""
    grown = list(around)
    for axis in range(2):
        span = (window[axis] - 1) * dilations[axis] + 1
        room = shape[axis] + around[2 * axis] + around[2 * axis + 1] - span
        count = -(-room // strides[axis]) + 1
        if (count - 1) * strides[axis] >= shape[axis] + around[2 * axis]:  # a window outside the map does not count
            count -= 1
        grown[2 * axis + 1] += max((count - 1) * strides[axis] - room, 0)
    return grown[0], grown[1], grown[2], grown[3]


def _lp(call: Call, source: str, taps: Taps) -> str:
    """Return a pooling by a norm. The padding does not change the result."""
    exponent, size = float(call.attribute("p", 2)), math.prod(taps.window)
    if taps.adjacent:
        if any(taps.around):
            source = call.nodes.emit("zero_padding", source, part="padded", padding=taps.around)
        attrs: dict[str, Any] = {"pool": taps.window, "strides": taps.strides, "padding": (0, 0, 0, 0)}
        if exponent == 2.0:
            return _scaled(call, call.nodes.emit("l2_pool", source, part="root", **attrs), math.sqrt(size))
        mean = call.nodes.emit("average_pool", _powers(call, source, exponent), part="mean", **attrs)
    else:
        mean = _sums(call, _powers(call, source, exponent), taps)
    return _root(call, mean, exponent, size)


def _powers(call: Call, node: str, exponent: float) -> str:
    """Return the absolute values to a power."""
    sizes = call.nodes.function(node, "absolute")
    return _power(call, sizes, exponent)


def _root(call: Call, mean: str, exponent: float, size: int) -> str:
    """Return the root of ``size`` times a mean of powers."""
    return _scaled(call, _power(call, mean, 1.0 / exponent), size ** (1.0 / exponent))


def _power(call: Call, node: str, exponent: float) -> str:
    if exponent == 1.0:
        return node
    try:
        return call.nodes.function(node, powers.power(exponent).text)
    except ValueError:
        raise call.refused(f"p={call.attribute('p', 2)}", "give p from 1 to 8") from None


def _scaled(call: Call, node: str, factor: float) -> str:
    return call.nodes.affine(node, np.asarray([factor]), np.zeros(1))


def _global(kind: str) -> Converter:
    """Return the converter of a GlobalAveragePool or a GlobalMaxPool."""

    def convert(call: Call) -> list[View]:
        source, shape = call.map()
        node = call.nodes.add(emit.reduced(call.nodes.new_name(kind), source, shape, kind, (0, 1), keep=True))
        return [_of_pixel(call.mapped(node), len(call.view().axes))]

    return convert


def global_norm(call: Call) -> list[View]:
    """Convert a GlobalLpPool."""
    source, shape = call.map()
    exponent = float(call.attribute("p", 2))
    if exponent < 1.0:
        raise call.refused(f"p={exponent:g}", "give p from 1 to 8")
    mean = call.nodes.emit("global_average_pool", _powers(call, source, exponent), part="mean", scale=None)
    node = call.nodes.shaped(_root(call, mean, exponent, math.prod(shape[:2])), (1, 1, shape[2]))
    return [_of_pixel(call.mapped(node), len(call.view().axes))]


def _of_pixel(view: View, rank: int) -> View:
    return View(view.node, view.stored, (*view.axes[:2], *((),) * (rank - 2)))


CONVERTERS: dict[str, Converter] = {
    **dict.fromkeys(("AveragePool", "LpPool", "MaxPool"), of_each(pool, lines=False)),
    "GlobalAveragePool": of_each(_global("mean")),
    "GlobalLpPool": of_each(global_norm),
    "GlobalMaxPool": of_each(_global("max")),
}


FEW = 4
"""Largest number of taps to compare one by one. More are compared in steps that double the window."""


class Emits(Protocol):
    """Interface of the factory for nodes, as ``Nodes`` of an importer implements it."""

    def emit(self, op: str, *inputs: str, part: str = "", **attrs: Any) -> str:
        """Create a node and return its name."""


def largest_of_taps(
    nodes: Emits,
    source: str,
    shape: Sequence[int],
    window: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
) -> str:
    """Return the name of the node with the maximum of each window.

    Args:
        nodes: factory for the nodes.
        source: a map that includes the padding of the windows.
        shape: its height and width.
        window: rows and columns of taps.
        strides: between windows, (y, x).
        dilations: between taps, (y, x).
    """
    sides = [shape[0], shape[1]]
    for axis in range(2):
        if window[axis] == 1 and strides[axis] == 1:
            continue

        def moved(name: str, begin: int, length: int, stride: int, axis: int = axis) -> str:
            at, size, steps = [0, 0], list(sides), [1, 1]
            at[axis], size[axis], steps[axis] = begin, length, stride
            attrs = {"begin": tuple(at), "size": tuple(size), "strides": tuple(steps)}
            return nodes.emit("spatial_slice", name, part="tap", **attrs)

        apart, step = dilations[axis], strides[axis]
        count = (sides[axis] - (window[axis] - 1) * apart - 1) // step + 1
        given, taps, length = source, 1, sides[axis]
        starts = list(range(window[axis]))
        if window[axis] > FEW:
            while 2 * taps <= window[axis]:
                length -= taps * apart
                pair = moved(given, 0, length, 1), moved(given, taps * apart, length, 1)
                given = nodes.emit("binary", *pair, part="maximum", operation="maximum")
                taps *= 2
            starts = sorted({0, window[axis] - taps})  # two runs of taps, which can overlap
        parts = [moved(given, start * apart, count, step) for start in starts]
        source = parts[0]
        for part in parts[1:]:
            source = nodes.emit("binary", source, part, part="maximum", operation="maximum")
        sides[axis] = count
    return source
