"""Convolutions, plain and transposed -> nodes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from glsl_infer.graph import Node, Shape
from glsl_infer.importers.core.convolutions import Padding, same_padding, transposed
from glsl_infer.importers.onnx import relayout
from glsl_infer.importers.onnx.call import Call, Converter
from glsl_infer.importers.onnx.parts import of_each
from glsl_infer.importers.onnx.view import View, fresh

Weights = NDArray[np.float32]


def pair(call: Call, name: str, axes: int, default: int = 1) -> tuple[int, int]:
    """Return a per-axis attribute as (y, x); for a line, whose only axis is x, as (default, x)."""
    value = call.attribute(name, (default,) * axes)
    if len(value) != axes:
        raise call.refused(f"{name} of {value}", f"give {axes} numbers")
    return (default, int(value[0])) if axes == 1 else (int(value[0]), int(value[1]))


def padding(
    call: Call, size: Sequence[int], window: Sequence[int], strides: Sequence[int], dilations: Sequence[int]
) -> Padding:
    """Return (top, bottom, left, right) of a window over a map."""
    auto = call.attribute("auto_pad", "NOTSET")
    if auto in ("SAME_UPPER", "SAME_LOWER"):
        around = [same_padding(*each) for each in zip(size, window, strides, dilations)]
        if auto == "SAME_LOWER":
            around = [(after, before) for before, after in around]
        return (*around[0], *around[1])
    if auto not in ("NOTSET", "VALID", ""):
        raise call.refused(f"auto_pad {auto!r:.40}", "NOTSET, VALID, SAME_UPPER and SAME_LOWER are known")
    pads = call.attribute("pads", ())
    if auto == "VALID" or not pads:
        return 0, 0, 0, 0
    if len(pads) == 2:
        return 0, 0, pads[0], pads[1]
    if len(pads) != 4:
        raise call.refused(f"pads of {pads}", "give two for each axis of the image")
    return pads[0], pads[2], pads[1], pads[3]


def kernel_of(call: Call, place: int = 1) -> Weights:
    """Return weights (filters, channels, y, x). The y of weights for lines is 1."""
    weights = np.asarray(call.finite(call.constant(place, "a kernel"), "a kernel"), np.float32)
    if weights.ndim not in (3, 4) or not weights.size:
        raise call.refused(f"a kernel of shape {weights.shape}", "images and lines can be convolved")
    return weights[:, :, None] if weights.ndim == 3 else weights


def bias_of(call: Call, place: int, count: int) -> Weights:
    """Return a bias, or zeros if it is left out."""
    if not call.has(place):
        return np.zeros(count, np.float32)
    value = np.asarray(call.finite(call.constant(place, "a bias"), "a bias"), np.float32)
    if value.size != count:
        raise call.refused(f"a bias of shape {value.shape} for {count} outputs", "make them equal")
    return value.reshape(-1)


def convolution(call: Call) -> list[View]:
    """Convert a Conv."""
    return convolved(call, kernel_of(call), bias_of(call, 2, len(kernel_of(call))))


def convolved(call: Call, kernel: Weights, bias: Weights) -> list[View]:
    """Return a convolution of the first input by weights (filters, channels of a group, y, x)."""
    view = call.view()
    rank = len(view.axes)
    groups = int(call.attribute("group", 1))
    if rank not in (3, 4):
        raise call.refused(f"on a tensor of shape {view.shape}", "images and lines can be convolved")
    strides, dilations = (pair(call, name, rank - 2) for name in ("strides", "dilations"))
    if view.shape[1] != kernel.shape[1] * groups or kernel.shape[0] % groups or min(*strides, *dilations) < 1:
        raise call.refused(f"a kernel of {kernel.shape} in {groups} groups on {view.shape}", "the file is damaged")
    single = kernel.shape[2:] == (1, 1) and strides == (1, 1) and groups == 1 and not any(call.attribute("pads", ()))
    if single and view.shape[0] != 1:
        return [_of_batch(call, view, kernel, bias)]
    if rank == 4 and view.shape[0] != 1:
        return of_each(lambda one: convolved(one, kernel, bias))(call)
    source, shape = call.map(lines=True)
    window = (kernel.shape[2], kernel.shape[3])
    around = padding(call, shape, window, strides, dilations)
    if min(around) < 0:
        source = call.nodes.emit("zero_padding", source, part="cut", padding=around)
        around = (0, 0, 0, 0)
    node = call.nodes.emit(
        "conv2d",
        source,
        part="conv",
        weights={"kernel": kernel.transpose(2, 3, 1, 0), "bias": bias},
        strides=strides,
        padding=around,
        groups=groups,
        dilations=dilations,
        activation="linear",
    )
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
    filters = weights.shape[1] * groups
    bias = bias_of(call, 2, filters)
    if strides != (1, 1) and dilations != (1, 1):
        weights, dilations = _spread(weights, dilations), (1, 1)
    more = pair(call, "output_padding", rank - 2, 0)
    output_size, crop = _sizes(call, shape, weights.shape[2:], strides, dilations, more)
    parts = []
    for group in range(groups):
        own = source
        count = shape[2] // groups
        if groups > 1:
            channels = tuple(range(group * count, (group + 1) * count))
            own = call.nodes.emit("channel_gather", source, part=f"group-{group}", channels=channels)
        parts.append(
            _transposed(
                call,
                own,
                weights[group * count : (group + 1) * count],
                bias[group * weights.shape[1] : (group + 1) * weights.shape[1]],
                (strides, dilations, output_size, crop),
                (shape[0], shape[1], count),
            )
        )
    node = parts[0] if groups == 1 else call.nodes.emit("concat", *parts, part="joined")
    return [call.mapped(node, rank, lines=True)]


def _transposed(
    call: Call,
    source: str,
    weights: Weights,
    bias: Weights,
    how: tuple[tuple[int, int], tuple[int, int], tuple[int, int], tuple[int, int]],
    shape: Shape,
) -> str:
    """Return one group of a transposed convolution. Leading pads are computed and then cropped."""
    strides, dilations, output_size, crop = how
    name = call.nodes.new_name("transposed")
    full_size = (output_size[0] + crop[0], output_size[1] + crop[1])
    nodes: list[Node] = transposed(
        name,
        source,
        weights.transpose(2, 3, 1, 0),
        bias,
        strides=strides,
        shape=shape,
        output_size=full_size,
        same=False,
        dilations=dilations,
    )
    node = call.nodes.add(nodes)
    if not any(crop):
        return node
    return call.nodes.emit("spatial_slice", node, part="begin", begin=crop, size=output_size, strides=(1, 1))


def _spread(weights: Weights, dilations: tuple[int, int]) -> Weights:
    """Return dilated weights with zeros between the taps."""
    height, width = ((size - 1) * dilation + 1 for size, dilation in zip(weights.shape[2:], dilations))
    wide = np.zeros((*weights.shape[:2], height, width), np.float32)
    wide[:, :, :: dilations[0], :: dilations[1]] = weights
    return wide


def _sizes(
    call: Call,
    shape: Shape,
    window: Sequence[int],
    strides: tuple[int, int],
    dilations: tuple[int, int],
    more: tuple[int, int],
) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return (height, width) of the output, and the numbers of leading rows and columns to crop."""
    auto, output_shape = call.attribute("auto_pad", "NOTSET"), call.attribute("output_shape", ())
    pads = (
        padding(call, shape, window, strides, dilations) if auto not in ("SAME_UPPER", "SAME_LOWER") else (0, 0, 0, 0)
    )
    output_size, crop = [], []
    for axis in range(2):
        span = strides[axis] * (shape[axis] - 1) + more[axis] + (window[axis] - 1) * dilations[axis] + 1
        size, before = span - pads[2 * axis] - pads[2 * axis + 1], pads[2 * axis]
        if auto in ("SAME_UPPER", "SAME_LOWER") or output_shape:
            own = (
                output_shape[axis - 2 + len(output_shape)]
                if output_shape and len(output_shape) > 1 - axis
                else shape[axis] * strides[axis]
            )
            size = int(own) if output_shape else shape[axis] * strides[axis]
            total = max(span - size, 0)
            before = total // 2 if auto == "SAME_UPPER" else total - total // 2
        if size < 1 or before < 0:
            raise call.refused(f"an output of {size} pixels", "the file is damaged")
        output_size.append(size)
        crop.append(before)
    return (output_size[0], output_size[1]), (crop[0], crop[1])


CONVERTERS: dict[str, Converter] = {"Conv": convolution, "ConvTranspose": of_each(transposed_convolution, lines=False)}
