"""Operators that take the mean or the largest of several pixels -> nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from glsl_infer.graph import Shape
from glsl_infer.importers.onnx.call import Call, Converter
from glsl_infer.importers.onnx.convolutions import padding, pair
from glsl_infer.importers.onnx.view import View
from glsl_infer.importers.shared.largest import largest_of_taps
from glsl_infer.importers.shared.padding import Padding

_NO_STRIDE = (1, 1)


def pool(call: Call) -> list[View]:
    """Convert a pooling by a window."""
    rank = len(call.view().axes)
    source, shape = call.map()
    if rank not in (3, 4):
        raise call.refused(f"on a tensor of {rank} axes", "it needs a picture or a line")
    window, strides = pair(call, "kernel_shape", rank - 2), pair(call, "strides", rank - 2)
    dilations = pair(call, "dilations", rank - 2)
    if min(*window, *strides, *dilations) < 1:
        raise call.refused(f"a window of {window}, strides {strides}", "the file is damaged")
    around = padding(call, shape, window, strides, dilations)
    kind = call.kind
    counts = bool(call.attribute("count_include_pad", 0)) and kind == "AveragePool"
    grown = _grown(call, shape, window, strides, dilations, around) if call.attribute("ceil_mode", 0) else around
    op = {"AveragePool": "average_pool", "MaxPool": "max_pool", "LpPool": "l2_pool"}[kind]
    if kind == "LpPool":
        if dilations != _NO_STRIDE:
            raise call.refused(f"dilations {dilations}", "leave them out")
        return [call.mapped(_lp(call, source, window, strides, grown), rank)]
    if dilations != (1, 1):
        if kind == "AveragePool":
            return [call.mapped(_dilated_mean(call, source, shape, window, strides, dilations, grown, counts), rank)]
        return [call.mapped(_dilated(call, source, shape, window, strides, dilations, grown), rank)]
    if kind == "AveragePool" and window == shape[:2] and not any(grown):
        mean = call.nodes.emit("global_average_pool", source, part="mean", scale=None)
        return [call.mapped(call.nodes.shaped(mean, (1, 1, shape[2])), rank)]
    if counts and any(around):
        source = call.nodes.emit("zero_padding", source, part="padded", padding=around)
        top, bottom, left, right = (after - before for after, before in zip(grown, around))
        grown = (top, bottom, left, right)
    node = call.nodes.emit(op, source, part=op, pool=window, strides=strides, padding=grown)
    return [call.mapped(node, rank)]


def _grown(
    call: Call,
    shape: Sequence[int],
    window: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    around: Padding,
) -> Padding:
    """Return padding that is larger behind, so that what a rounded up size needs is there."""
    grown = list(around)
    for axis in range(2):
        span = (window[axis] - 1) * dilations[axis] + 1
        room = shape[axis] + around[2 * axis] + around[2 * axis + 1] - span
        count = -(-room // strides[axis]) + 1
        if (count - 1) * strides[axis] >= shape[axis] + around[2 * axis]:  # a window beyond the map is none
            count -= 1
        grown[2 * axis + 1] += max((count - 1) * strides[axis] - room, 0)
    return grown[0], grown[1], grown[2], grown[3]


def _dilated(
    call: Call,
    source: str,
    shape: Shape,
    window: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    around: Padding,
) -> str:
    """Return a maximum over taps that lie apart: the largest of moved maps, axis by axis."""
    if any(around):  # each tap is a pooling by one pixel, whose padding never wins
        source = _edged(call, source, around)
    sides = (shape[0] + around[0] + around[1], shape[1] + around[2] + around[3])
    return largest_of_taps(call.nodes, source, sides, window, strides, dilations)


def _edged(call: Call, source: str, around: Padding) -> str:
    """Return a map with a border that no maximum takes."""
    return call.nodes.emit("constant_padding", source, part="padded", padding=around, value=-1e30)


def _dilated_mean(
    call: Call,
    source: str,
    shape: Shape,
    window: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    around: Padding,
    counts: bool,
) -> str:
    """Return a mean over taps that lie apart: a convolution of equal weights, where no pixel counts differently."""
    if any(around) and not counts:
        raise call.refused("a mean with dilations and padding that does not count", "let count_include_pad be 1")
    weights = np.full((window[0], window[1], 1, shape[2]), 1.0 / (window[0] * window[1]), np.float32)
    attrs: dict[str, Any] = {"strides": tuple(strides), "padding": around, "groups": shape[2], "activation": "linear"}
    arrays = {"kernel": weights, "bias": np.zeros(shape[2], np.float32)}
    return call.nodes.emit("conv2d", source, part="mean", weights=arrays, dilations=tuple(dilations), **attrs)


def _lp(call: Call, source: str, window: Sequence[int], strides: Sequence[int], around: Padding) -> str:
    """Return a pooling by the root of the sum of squares, to which padding adds nothing."""
    if call.attribute("p", 2) != 2:
        raise call.refused(f"p={call.attribute('p', 2)}", "give p=2")
    if any(around):
        source = call.nodes.emit("zero_padding", source, part="padded", padding=around)
    attrs: dict[str, Any] = {"pool": tuple(window), "strides": tuple(strides), "padding": (0, 0, 0, 0)}
    mean = call.nodes.emit("l2_pool", source, part="root", **attrs)
    factor = float(np.sqrt(window[0] * window[1]))
    return call.nodes.affine(mean, np.asarray([factor]), np.zeros(1))


def global_mean(call: Call) -> list[View]:
    """Convert a GlobalAveragePool."""
    source, shape = call.map()
    mean = call.nodes.emit("global_average_pool", source, part="mean", scale=None)
    view = call.mapped(call.nodes.shaped(mean, (1, 1, shape[2])))
    return [_of_pixel(view, len(call.view().axes), mean)]


def global_extreme(call: Call) -> list[View]:
    """Convert a GlobalMaxPool."""
    source, shape = call.map()
    once: dict[str, Any] = {"strides": _NO_STRIDE, "padding": (0, 0, 0, 0)}
    rows = call.nodes.emit("max_pool", source, part="rows", pool=(shape[0], 1), **once)
    node = call.nodes.emit("max_pool", rows, part="columns", pool=(1, shape[1]), **once)
    return [_of_pixel(call.mapped(node), len(call.view().axes), node)]


def _of_pixel(view: View, rank: int, node: str) -> View:
    return View(view.node, view.stored, (*view.axes[:2], *((),) * (rank - 2)))


CONVERTERS: dict[str, Converter] = {
    "AveragePool": pool,
    "GlobalAveragePool": global_mean,
    "GlobalMaxPool": global_extreme,
    "LpPool": pool,
    "MaxPool": pool,
}
