"""Converters of convolutions and dense layers."""

from __future__ import annotations

import math
import struct

import numpy as np
from numpy.typing import NDArray

from glsl_infer.graph import Node
from glsl_infer.importers.core import emit
from glsl_infer.importers.core.convolutions import Pair, Transposed, convolved, transposed
from glsl_infer.importers.tflite.call import Call


def convolution(call: Call) -> list[Node]:
    """Convert a CONV_2D: weights are (filters, height, width, channels of a group)."""
    weights = call.weights(1, "a kernel", 4).transpose(1, 2, 3, 0)
    channels = call.feature_map()[2]
    if channels % weights.shape[2]:
        raise call.refused(f"a kernel for {weights.shape[2]} channels on {channels}", "the file is damaged")
    return _convolution(call, weights, channels // weights.shape[2])


def depthwise(call: Call) -> list[Node]:
    """Convert a DEPTHWISE_CONV_2D: weights are (1, height, width, filters)."""
    weights = call.weights(1, "a kernel", 4)
    channels = call.feature_map()[2]
    if weights.shape[0] != 1 or weights.shape[3] % channels:
        raise call.refused(f"a kernel of {weights.shape} on {channels} channels", "the file is damaged")
    return _convolution(call, weights.transpose(1, 2, 0, 3), channels)


def _convolution(call: Call, weights: NDArray[np.float32], groups: int) -> list[Node]:
    bias, window = call.bias(2, weights.shape[3]), call.window((weights.shape[0], weights.shape[1]))
    return call.activated(convolved(call.name, call.inputs[0], weights, bias, window, groups))


def transposed_convolution(call: Call) -> list[Node]:
    """Convert a TRANSPOSE_CONV. Its inputs are the output's shape, weights, a map and optionally a bias."""
    weights = call.weights(1, "a kernel", 4)
    strides = (call.option("StrideH"), call.option("StrideW"))
    height, width = call.integers(0, "its output's shape")[1:3]
    same = call.option("Padding") == 0
    return _transposed(call, weights, call.bias(3, weights.shape[0]), strides, (height, width), same)


def transposed_with_bias(call: Call) -> list[Node]:
    """Convert MediaPipe's own Convolution2DTransposeBias. Its inputs are a map, weights and a bias."""
    try:
        padding, stride_x, stride_y = struct.unpack("<3i", call.operator.custom_options[:12])
    except struct.error:
        raise call.refused("without its options", "the file is damaged; get it anew") from None
    weights = call.weights(1, "a kernel", 4)
    height, width = call.shape[:2]
    bias = call.bias(2, weights.shape[0])
    return _transposed(call, weights, bias, (stride_y, stride_x), (height, width), padding == 1)


def _transposed(
    call: Call,
    weights: NDArray[np.float32],
    bias: NDArray[np.float32],
    strides: Pair,
    output_size: Pair,
    same: bool,
) -> list[Node]:
    shape = call.feature_map()
    if not all(1 <= stride <= 64 for stride in strides):
        raise call.refused(f"a transposed convolution with strides {strides}", "give strides of 1 to 64")
    if weights.shape[3] != shape[2]:
        raise call.refused(f"a kernel of {weights.shape} on {shape[2]} channels", "the file is damaged")
    layer = Transposed(weights.transpose(1, 2, 0, 3), bias, strides, output_size, None if same else (0, 0))
    return transposed(call.name, call.inputs[0], shape, layer, call.activated)


def fully_connected(call: Call) -> list[Node]:
    """Convert a FULLY_CONNECTED: weights are (outputs, inputs). It reads all values of a map, or each pixel's."""
    weights = call.weights(1, "weights", 2)
    if call.option("WeightsFormat", 0):
        raise call.refused("shuffled weights", "convert the model without the legacy option that shuffles them")
    if not call.inputs:
        raise call.refused("of a constant", "the file is damaged")
    kernel, bias = np.ascontiguousarray(weights.T), call.bias(2, weights.shape[0])
    shape, inputs = call.shapes[0], len(kernel)
    rows, remainder = divmod(math.prod(shape), inputs)
    if remainder or not rows:
        raise call.refused(f"weights for {inputs} numbers on {shape}", "the file is damaged")
    chain = emit.Chain(call.name, call.inputs[0], shape)
    if shape[-1] != inputs or (len(shape) == 3 and rows == 1):
        chain.reshaped((inputs,) if rows == 1 and emit.in_textures(shape) else (rows, inputs))
    chain.extend([emit.product(chain.free("sum"), chain.last, chain.shape, kernel, bias)])
    return call.activated(chain.nodes)
