"""Keras' composed convolutions -> nodes: separable and transposed ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glsl_infer.graph import Node
from glsl_infer.importers.keras.activations import own_activation
from glsl_infer.importers.keras.call import Call, pair
from glsl_infer.importers.keras.weights import array, bias, kernel
from glsl_infer.ops.convolution_window import dilated

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
    a convolution of ceil(k / s) taps gives all phases of a block as channels; what lies beyond the output is cut off.
    """
    call.require_channels_last()
    layer, weights = call.layer, kernel(call)  # (height, width, filters, channels)
    if pair(layer.dilation_rate) != (1, 1):
        raise call.refused(f"dilation_rate={pair(layer.dilation_rate)}", "only (1, 1) can be exported")
    strides, shape = pair(layer.strides), call.shapes[0]
    block = max(strides)
    if strides != (block, block):
        raise call.refused(f"a transposed convolution with strides {strides}", "give both axes the same stride")
    phases = _phases(weights, block)
    taps_y, taps_x, _, outputs = phases.shape
    filters = weights.shape[2]
    padding = (taps_y - 1, taps_y - 1, taps_x - 1, taps_x - 1)
    nodes = [
        call.node(
            "conv2d",
            {**_PLAIN, "padding": padding},
            kernel=phases,
            bias=np.tile(bias(call, filters), outputs // filters).astype(np.float32),
        ),
        *own_activation(call),
    ]
    if block > 1:
        last = nodes[-1].name
        nodes.append(Node(f"{call.name}-pixels", "depth_to_space", (last,), {"block": block}))
    wanted = tuple(int(size) for size in layer.compute_output_shape((1, *shape))[1:3])
    # With 'same', half of what is too much is cut off in front, as TensorFlow does for a given output shape.
    begin = tuple(
        0 if layer.padding == "valid" else max((given - 1) * block + size - want, 0) // 2
        for given, want, size in zip(shape, wanted, weights.shape)
    )
    made = ((shape[0] + taps_y - 1) * block, (shape[1] + taps_x - 1) * block)
    short = [want - (size - first) for want, size, first in zip(wanted, made, begin)]
    if max(short) > 0:  # more than the kernel reaches: zeros, plus the bias, which only a wider convolution gives
        raise call.refused(
            f"an output of {wanted[0]}x{wanted[1]} pixels, beyond what the kernel reaches",
            "leave out output_padding, or make the kernel at least as large as the stride",
        )
    if wanted != made:
        attrs = {"begin": begin, "size": wanted, "strides": (1, 1)}
        nodes.append(Node(f"{call.name}-cut", "spatial_slice", (nodes[-1].name,), attrs))
    return nodes


def _phases(weights: NDArray[np.float32], block: int) -> NDArray[np.float32]:
    """Return the kernel (taps, taps, channels, block * block * filters) of the convolution of all phases."""
    height, width, filters, channels = weights.shape
    taps_y, taps_x = -(-height // block), -(-width // block)
    padded = np.zeros((taps_y * block, taps_x * block, filters, channels), np.float32)
    padded[:height, :width] = weights
    parts = padded.reshape(taps_y, block, taps_x, block, filters, channels)[::-1, :, ::-1]
    return np.ascontiguousarray(parts.transpose(0, 2, 5, 1, 3, 4).reshape(taps_y, taps_x, channels, -1))
