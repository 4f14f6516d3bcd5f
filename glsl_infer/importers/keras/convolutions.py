"""Keras' composed convolutions -> nodes: separable and transposed ones."""

from __future__ import annotations

import numpy as np

from glsl_infer.graph import Node
from glsl_infer.importers.keras.activations import own_activation
from glsl_infer.importers.keras.call import Call, pair
from glsl_infer.importers.keras.weights import array, bias, kernel
from glsl_infer.importers.shared.transposed import PLAIN, cut_for_same
from glsl_infer.importers.shared.transposed import transposed as transposed_nodes


def separable(call: Call) -> list[Node]:
    """Convert a SeparableConv2D: a depthwise convolution, then one of single pixels."""
    call.require_channels_last()
    layer = call.layer
    if pair(layer.dilation_rate) != (1, 1):
        raise call.refused(f"dilation_rate={pair(layer.dilation_rate)}", "only (1, 1) can be exported")
    depthwise, pointwise = array(layer.depthwise_kernel), array(layer.pointwise_kernel)
    height, width, channels, multiplier = depthwise.shape
    strides = pair(layer.strides)
    attrs = {**PLAIN, "strides": strides, "padding": call.padding((height, width), strides), "groups": channels}
    weights = depthwise.reshape(height, width, 1, channels * multiplier)
    first = call.node("conv2d", attrs, kernel=weights, bias=np.zeros(channels * multiplier, np.float32))
    name = f"{call.name}-pointwise"
    mixed = Node(name, "conv2d", (call.name,), dict(PLAIN), {"kernel": pointwise, "bias": bias(call, layer.filters)})
    return [first, mixed, *own_activation(call, name)]


def transposed(call: Call) -> list[Node]:
    """Convert a Conv2DTranspose: a convolution that computes every phase of the output, and depth to space."""
    call.require_channels_last()
    layer, weights = call.layer, kernel(call)  # (height, width, filters, channels)
    if pair(layer.dilation_rate) != (1, 1):
        raise call.refused(f"dilation_rate={pair(layer.dilation_rate)}", "only (1, 1) can be exported")
    strides, shape = pair(layer.strides), call.shapes[0]
    block = max(strides)
    if strides != (block, block):
        raise call.refused(f"a transposed convolution with strides {strides}", "give both axes the same stride")
    wanted = tuple(int(size) for size in layer.compute_output_shape((1, *shape))[1:3])
    cut = (0, 0) if layer.padding == "valid" else cut_for_same(shape, wanted, weights.shape, block)
    return transposed_nodes(
        call.name,
        call.inputs[0],
        weights,
        bias(call, weights.shape[2]),
        block,
        given=shape,
        wanted=wanted,
        begin=cut,
        activation=own_activation(call),
    )
