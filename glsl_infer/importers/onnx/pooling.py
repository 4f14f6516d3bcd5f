"""Converters of mean and max pooling, by windows and over entire maps."""

from __future__ import annotations

import math
from typing import Any

from glsl_infer.graph import Shape
from glsl_infer.graph.activations import powers
from glsl_infer.importers.core import emit
from glsl_infer.importers.core.convolutions import Window
from glsl_infer.importers.core.pooling import grown, is_adjacent, pooled, sums
from glsl_infer.importers.onnx.call import Call, Converter
from glsl_infer.importers.onnx.convolutions import pair, window_of
from glsl_infer.importers.onnx.slice_concat_pad import for_each_map
from glsl_infer.importers.onnx.view import View


def pool(call: Call) -> list[View]:
    """Convert a pooling by a window."""
    rank = len(call.view().axes)
    source, shape = call.map(lines=True)
    if rank not in (3, 4):
        raise call.refused(f"on a tensor of {rank} axes", "it needs an image or a line")
    window = window_of(call, pair(call, "kernel_shape", rank - 2), shape)
    counted = window.padding if call.attribute("count_include_pad", 0) else (0, 0, 0, 0)
    if call.attribute("ceil_mode", 0):
        window = grown(shape, window)
    if call.kind == "LpPool":
        return [call.mapped(_lp(call, source, shape, window), rank, lines=True)]
    op = "max_pool" if call.kind == "MaxPool" else "average_pool"
    node = call.nodes.add(pooled(call.nodes.new_name(op), source, shape, op, window, counted))
    return [call.mapped(node, rank, lines=True)]


def _lp(call: Call, source: str, shape: Shape, window: Window) -> str:
    """Return a pooling by a norm. The padding does not change the result."""
    exponent, size, nodes = float(call.attribute("p", 2)), math.prod(window.size), call.nodes
    if not is_adjacent(window):
        powers_of = _powers(call, source, exponent)
        return _root(call, nodes.add(sums(nodes.new_name("mean"), powers_of, shape, window)), exponent, size)
    if any(window.padding):
        source = nodes.emit("zero_padding", source, part="padded", padding=window.padding)
    attrs: dict[str, Any] = {"pool": window.size, "strides": window.strides, "padding": (0, 0, 0, 0)}
    if exponent == 2.0:
        return call.nodes.scaled(nodes.emit("l2_pool", source, part="root", **attrs), math.sqrt(size))
    mean = nodes.emit("average_pool", _powers(call, source, exponent), part="mean", **attrs)
    return _root(call, mean, exponent, size)


def _powers(call: Call, node: str, exponent: float) -> str:
    """Return the absolute values to a power."""
    return _power(call, call.nodes.function(node, "absolute"), exponent)


def _root(call: Call, mean: str, exponent: float, size: int) -> str:
    """Return the root of ``size`` times a mean of powers."""
    return call.nodes.scaled(_power(call, mean, 1.0 / exponent), size ** (1.0 / exponent))


def _power(call: Call, node: str, exponent: float) -> str:
    """Return values to a power; refuse an exponent of the operator that shaders cannot compute."""
    if exponent == 1.0:
        return node
    try:
        return call.nodes.function(node, powers.power(exponent).text)
    except ValueError:
        raise call.refused(f"p={call.attribute('p', 2)}", "give p from 1 to 8") from None


def _global(kind: str) -> Converter:
    """Return the converter of a GlobalAveragePool or a GlobalMaxPool."""

    def convert(call: Call) -> list[View]:
        source, shape = call.map()
        node = call.nodes.add(emit.reduced(call.nodes.new_name(kind), source, shape, kind, (0, 1), keep=True))
        return [_with_axes_of_one(call.mapped(node), len(call.view().axes))]

    return convert


def global_norm(call: Call) -> list[View]:
    """Convert a GlobalLpPool."""
    source, shape = call.map()
    exponent = float(call.attribute("p", 2))
    if exponent < 1.0:
        raise call.refused(f"p={exponent:g}", "give p from 1 to 8")
    mean = call.nodes.emit("global_average_pool", _powers(call, source, exponent), part="mean", scale=None)
    node = call.nodes.shaped(_root(call, mean, exponent, math.prod(shape[:2])), (1, 1, shape[2]))
    return [_with_axes_of_one(call.mapped(node), len(call.view().axes))]


def _with_axes_of_one(view: View, rank: int) -> View:
    """Return the tensor of a map of one pixel with ``rank`` axes, all but the first two of length 1."""
    return View(view.node, view.stored, (*view.axes[:2], *((),) * (rank - 2)))


CONVERTERS: dict[str, Converter] = {
    **dict.fromkeys(("AveragePool", "LpPool", "MaxPool"), for_each_map(pool, include_1d=False)),
    "GlobalAveragePool": for_each_map(_global("mean")),
    "GlobalLpPool": for_each_map(global_norm),
    "GlobalMaxPool": for_each_map(_global("max")),
}
