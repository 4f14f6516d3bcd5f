"""Keras' composed convolutions -> nodes: separable and transposed ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glsl_infer.graph import Node
from glsl_infer.importers.keras.activations import own_activation
from glsl_infer.importers.keras.call import Call, pair
from glsl_infer.importers.keras.weights import array, bias, kernel
from glsl_infer.ops.convolution_window import dilated

_MOST_PIXELS = 16
"""Most pixels of a block in depth to space: a draw has so many coordinates (``bindings.MAX_SOURCES``)."""

_PLAIN = {"strides": (1, 1), "padding": (0, 0, 0, 0), "groups": 1, "activation": "linear"}


def window(call: Call, kernel_size: Sequence[int]) -> dict[str, Any]:
    """Return the attributes ``strides``, ``padding`` and ``dilations`` of a convolution by a kernel (height, width)."""
    strides, dilations = pair(call.layer.strides), pair(call.layer.dilation_rate)
    padding = call.padding(dilated(kernel_size, dilations), strides)
    return {"strides": strides, "padding": padding, "dilations": dilations}


def separable(call: Call) -> list[Node]:
    """Convert a SeparableConv2D: a depthwise convolution, then one of single pixels."""
    call.require_channels_last()
    layer = call.layer
    depthwise, pointwise = array(layer.depthwise_kernel), array(layer.pointwise_kernel)
    height, width, channels, multiplier = depthwise.shape
    attrs = {**_PLAIN, **window(call, (height, width)), "groups": channels}
    weights = depthwise.reshape(height, width, 1, channels * multiplier)
    first = call.node("conv2d", attrs, kernel=weights, bias=np.zeros(channels * multiplier, np.float32))
    name = f"{call.name}-pointwise"
    mixed = Node(name, "conv2d", (call.name,), dict(_PLAIN), {"kernel": pointwise, "bias": bias(call, layer.filters)})
    return [first, mixed, *own_activation(call, name)]


def transposed(call: Call) -> list[Node]:
    """Convert a Conv2DTranspose: a convolution that computes every phase of the output, and depth to space.

    Output pixel ``s * b + r`` sums input pixels ``b - j`` times kernel tap ``s * j + r``, for stride s and phase r. So
    a convolution of ceil(k / s) taps gives all phases of a block as channels. Its padding decides which blocks there
    are; what lies beyond the output is cut off. Blocks that no input pixel reaches have the bias.
    """
    call.require_channels_last()
    layer, weights = call.layer, kernel(call)  # (height, width, filters, channels)
    strides, dilations, shape = pair(layer.strides), pair(layer.dilation_rate), call.shapes[0]
    if strides != (1, 1) and dilations != (1, 1):
        raise call.refused(
            f"strides={strides} with dilation_rate={dilations}", "give one of them; Keras computes no such layer either"
        )
    phases = _phases(weights, strides)
    filters, outputs = weights.shape[2], phases.shape[3]
    wanted = tuple(int(size) for size in layer.compute_output_shape((1, *shape))[1:3])
    before, after, begin = [], [], []
    for axis in range(2):
        reach = (phases.shape[axis] - 1) * dilations[axis]  # of the convolution, in blocks
        span = (weights.shape[axis] - 1) * dilations[axis] + 1
        # With 'same', half of what is too much is cut off in front, as TensorFlow does for a given output shape.
        surplus = max((shape[axis] - 1) * strides[axis] + span - wanted[axis], 0)
        skipped, first = (0, 0) if layer.padding == "valid" else divmod(surplus // 2, strides[axis])
        blocks = -(-(first + wanted[axis]) // strides[axis])
        before.append(reach - skipped)
        after.append(max(blocks + skipped - shape[axis], 0))
        begin.append(first)
    attrs = {**_PLAIN, "padding": (before[0], after[0], before[1], after[1]), "dilations": dilations}
    numbers = np.tile(bias(call, filters), outputs // filters).astype(np.float32)
    nodes = [call.node("conv2d", attrs, kernel=phases, bias=numbers), *own_activation(call)]
    for number, (down, across) in enumerate(_blocks(strides)):
        name = f"{call.name}-pixels{f'-{number + 1}' if number else ''}"
        block = down if down == across else (down, across)
        nodes.append(Node(name, "depth_to_space", (nodes[-1].name,), {"block": block}))
    made = tuple(
        (size + first + last - (taps - 1) * apart) * stride
        for size, first, last, taps, apart, stride in zip(shape, before, after, phases.shape, dilations, strides)
    )
    if wanted != made:
        part = {"begin": tuple(begin), "size": wanted, "strides": (1, 1)}
        nodes.append(Node(f"{call.name}-cut", "spatial_slice", (nodes[-1].name,), part))
    return nodes


def _phases(weights: NDArray[np.float32], strides: tuple[int, int]) -> NDArray[np.float32]:
    """Return the kernel (taps, taps, channels, phases * filters) of the convolution of all phases of a block."""
    height, width, filters, channels = weights.shape
    taps_y, taps_x = -(-height // strides[0]), -(-width // strides[1])
    padded = np.zeros((taps_y * strides[0], taps_x * strides[1], filters, channels), np.float32)
    padded[:height, :width] = weights
    blocks = _blocks(strides)
    sizes = [taps_y, *(down for down, _ in blocks), taps_x, *(across for _, across in blocks), filters, channels]
    parts = np.flip(padded.reshape(sizes), (0, 1 + len(blocks)))
    # Taps, channels, then what becomes pixels: of each step the rows and columns.
    inner = [axis + step for step in range(len(blocks)) for axis in (1, 2 + len(blocks))]
    order = [0, 1 + len(blocks), len(sizes) - 1, *inner, len(sizes) - 2]
    return np.ascontiguousarray(parts.transpose(order).reshape(taps_y, taps_x, channels, -1))


def _blocks(strides: tuple[int, int]) -> list[tuple[int, int]]:
    """Return the blocks of the steps by which pixels are made, none of more than ``_MOST_PIXELS`` if it can be.

    A draw of a step reads a slice for each pixel of its block.
    """
    blocks, left = [], list(strides)
    while math.prod(left) > 1:
        fitting = [
            (down, across)
            for down in range(1, left[0] + 1)
            for across in range(1, left[1] + 1)
            if not left[0] % down and not left[1] % across and 1 < down * across <= _MOST_PIXELS
        ]
        block = max(fitting, key=lambda size: (size[0] * size[1], -abs(size[0] - size[1])), default=(left[0], left[1]))
        blocks.append(block)
        left = [size // part for size, part in zip(left, block)]
    return blocks
