"""Converters of convolutions, plain and transposed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from glsl_infer.graph import Shape
from glsl_infer.importers.core.convolutions import Pair, Transposed, Window, convolved, padded_window, transposed
from glsl_infer.importers.onnx import relayout
from glsl_infer.importers.onnx.call import Call, Converter
from glsl_infer.importers.onnx.nodes import MOST_NUMBERS
from glsl_infer.importers.onnx.slice_concat_pad import for_each_map
from glsl_infer.importers.onnx.view import View, fresh

Weights = NDArray[np.float32]


def pair(call: Call, name: str, axes: int, default: int = 1) -> Pair:
    """Return a per-axis attribute as (y, x); for a line, whose only axis is x, as (default, x)."""
    value = call.attribute(name, (default,) * axes)
    if len(value) != axes:
        raise call.refused(f"{name} of {value}", f"give {axes} numbers")
    return (default, int(value[0])) if axes == 1 else (int(value[0]), int(value[1]))


def window_of(call: Call, size: Pair, shape: Sequence[int]) -> Window:
    """Return the window of an operator over a map of ``shape``, by its attributes."""
    axes = len(call.view().axes) - 2
    window = Window(size, pair(call, "strides", axes), dilations=pair(call, "dilations", axes))
    if min(*size, *window.strides, *window.dilations) < 1:
        raise call.refused(f"a window of {size}, strides {window.strides}", "the file is damaged")
    auto = call.attribute("auto_pad", "NOTSET")
    if auto in ("SAME_UPPER", "SAME_LOWER"):
        window = padded_window("same", shape, window)
        top, bottom, left, right = window.padding
        return window if auto == "SAME_UPPER" else replace(window, padding=(bottom, top, right, left))
    if auto not in ("NOTSET", "VALID", ""):
        raise call.refused(f"auto_pad {auto!r:.40}", "NOTSET, VALID, SAME_UPPER and SAME_LOWER are known")
    pads = call.attribute("pads", ())
    if auto == "VALID" or not pads:
        return window
    if len(pads) not in (2, 4):
        raise call.refused(f"pads of {pads}", "give two for each axis of the image")
    return replace(window, padding=(0, 0, *pads) if len(pads) == 2 else (pads[0], pads[2], pads[1], pads[3]))


def kernel_of(call: Call, index: int = 1) -> Weights:
    """Return weights (filters, channels, y, x). The y of weights for lines is 1."""
    weights = np.asarray(call.finite(call.constant(index, "a kernel"), "a kernel"), np.float32)
    if weights.ndim not in (3, 4) or not weights.size:
        raise call.refused(f"a kernel of shape {weights.shape}", "images and lines can be convolved")
    return weights[:, :, None] if weights.ndim == 3 else weights


def bias_of(call: Call, index: int, count: int) -> Weights:
    """Return a bias, or zeros if it is left out."""
    if not call.has(index):
        return np.zeros(count, np.float32)
    value = np.asarray(call.finite(call.constant(index, "a bias"), "a bias"), np.float32)
    if value.size != count:
        raise call.refused(f"a bias of shape {value.shape} for {count} outputs", "make them equal")
    return value.reshape(-1)


def convolution(call: Call) -> list[View]:
    """Convert a Conv."""
    return by_kernel(call, kernel_of(call), bias_of(call, 2, len(kernel_of(call))))


def by_kernel(call: Call, kernel: Weights, bias: Weights) -> list[View]:
    """Return a convolution of the first input by weights (filters, channels of a group, y, x)."""
    view = call.view()
    rank = len(view.axes)
    groups = int(call.attribute("group", 1))
    if rank not in (3, 4):
        raise call.refused(f"on a tensor of shape {view.shape}", "images and lines can be convolved")
    if view.shape[1] != kernel.shape[1] * groups or kernel.shape[0] % groups:
        raise call.refused(f"a kernel of {kernel.shape} in {groups} groups on {view.shape}", "the file is damaged")
    size = (kernel.shape[2], kernel.shape[3])
    is_product = {*size, *pair(call, "strides", rank - 2), groups} == {1} and not any(call.attribute("pads", ()))
    if is_product and view.shape[0] != 1:
        return [_of_batch(call, view, kernel, bias)]
    if rank == 4 and view.shape[0] != 1:
        return for_each_map(lambda single: by_kernel(single, kernel, bias))(call)
    source, shape = call.map(lines=True)
    name, window = call.nodes.new_name("conv"), window_of(call, size, shape)
    node = call.nodes.add(convolved(name, source, kernel.transpose(2, 3, 1, 0), bias, window, groups))
    return [call.mapped(node, rank, lines=True)]


def _of_batch(call: Call, view: View, kernel: Weights, bias: Weights) -> View:
    """Return a 1x1 convolution of several maps as a matrix product."""
    others = [axis for axis in view.order() or range(len(view.axes)) if axis != 1]
    unit = [axis for axis in range(len(view.axes)) if axis not in (*others, 1)]
    reordered = relayout.ordered(call.nodes, view, [*others, *unit, 1])
    node = call.nodes.shaped(reordered.node, (*(view.shape[axis] for axis in others), view.shape[1]))
    weights = {"kernel": kernel[:, :, 0, 0].T, "bias": bias}
    result = call.nodes.emit("linear", node, part="product", weights=weights)
    shape = tuple(len(bias) if axis == 1 else size for axis, size in enumerate(view.shape))
    return fresh(result, shape, [*others, 1])


def transposed_convolution(call: Call) -> list[View]:
    """Convert a ConvTranspose: weights are (channels, filters of a group, y, x)."""
    view, weights = call.view(), kernel_of(call)
    rank, groups = len(view.axes), int(call.attribute("group", 1))
    source, shape = call.map(lines=True)
    strides, dilations = (pair(call, name, rank - 2) for name in ("strides", "dilations"))
    if not all(1 <= stride <= 64 for stride in strides) or shape[2] != weights.shape[0] or shape[2] % max(groups, 1):
        raise call.refused(f"strides {strides}, a kernel of {weights.shape} on {shape}", "give strides of 1 to 64")
    channels, filters = shape[2] // groups, weights.shape[1]
    bias = bias_of(call, 2, filters * groups)
    output_size, crop = _sizes(call, shape, window_of(call, (weights.shape[2], weights.shape[3]), shape))
    if strides != (1, 1) and dilations != (1, 1):
        weights, dilations = _spread(call, weights, dilations), (1, 1)
    parts = []
    for group in range(groups):
        inputs = slice(group * channels, (group + 1) * channels)
        group_source = source
        if groups > 1:
            group_source = call.nodes.emit("channel_gather", source, channels=tuple(range(shape[2]))[inputs])
        kernel, group_bias = weights[inputs].transpose(2, 3, 1, 0), bias[group * filters : (group + 1) * filters]
        layer = Transposed(kernel, group_bias, strides, output_size, crop, dilations)
        parts.append(call.nodes.add(transposed(call.nodes.new_name("transposed"), group_source, shape, layer)))
    node = parts[0] if groups == 1 else call.nodes.emit("concat", *parts, part="joined")
    return [call.mapped(node, rank, lines=True)]


def _spread(call: Call, weights: Weights, dilations: Pair) -> Weights:
    """Return dilated weights with zeros between the taps."""
    height, width = ((size - 1) * dilation + 1 for size, dilation in zip(weights.shape[2:], dilations))
    if math.prod(weights.shape[:2]) * height * width > MOST_NUMBERS:
        raise call.refused(f"dilations of {dilations}, with a kernel of {height}x{width}", "make them smaller")
    dilated = np.zeros((*weights.shape[:2], height, width), np.float32)
    dilated[:, :, :: dilations[0], :: dilations[1]] = weights
    return dilated


def _sizes(call: Call, shape: Shape, window: Window) -> tuple[Pair, Pair]:
    """Return (height, width) of the output, and the numbers of leading rows and columns to crop."""
    auto, output_shape = call.attribute("auto_pad", "NOTSET"), call.attribute("output_shape", ())
    output_padding = pair(call, "output_padding", len(call.view().axes) - 2, 0)
    output_size, crop = [], []
    for axis, stride in enumerate(window.strides):
        extent = (window.size[axis] - 1) * window.dilations[axis] + 1
        span = stride * (shape[axis] - 1) + output_padding[axis] + extent
        before, after = window.padding[2 * axis : 2 * axis + 2]
        size = span - before - after
        if auto in ("SAME_UPPER", "SAME_LOWER") or output_shape:
            is_declared = len(output_shape) > 1 - axis
            size = int(output_shape[axis - 2 + len(output_shape)]) if is_declared else shape[axis] * stride
            total = max(span - size, 0)
            before = total // 2 if auto == "SAME_UPPER" else total - total // 2
        if size < 1 or before < 0:
            raise call.refused(f"an output of {size} pixels", "the file is damaged")
        output_size.append(size)
        crop.append(before)
    return (output_size[0], output_size[1]), (crop[0], crop[1])


CONVERTERS: dict[str, Converter] = {
    "Conv": convolution,
    "ConvTranspose": for_each_map(transposed_convolution, include_1d=False),
}
