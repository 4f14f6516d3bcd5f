"""Keras' separable and transposed convolutions -> nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from glsl_infer.graph import Node
from glsl_infer.importers.core.convolutions import PLAIN
from glsl_infer.importers.core.convolutions import transposed as transposed_nodes
from glsl_infer.importers.keras.activations import own_activation
from glsl_infer.importers.keras.call import Call, array, bias, kernel, pair
from glsl_infer.ops.convolution_window import dilated


def window(call: Call, kernel_size: Sequence[int]) -> dict[str, Any]:
    """Return the attributes ``strides``, ``padding`` and ``dilations`` of a convolution by a kernel (height, width)."""
    strides, dilations = pair(call.layer.strides), pair(call.layer.dilation_rate)
    padding = call.padding(dilated(kernel_size, dilations), strides)
    return {"strides": strides, "padding": padding, "dilations": dilations}


def of_constants(call: Call) -> list[Node]:
    """Convert ``keras.ops.conv`` and ``depthwise_conv`` of a map by a constant kernel."""
    if len(call.inputs) != 1 or len(call.arguments) != 2 or not hasattr(call.arguments[0], "_keras_history"):
        raise call.refused("a kernel that the network computes", "give it a constant kernel")
    call.require_channels_last()
    weights, (*_, channels) = array(call.arguments[1]), call.shapes[0]
    if len(call.shapes[0]) != 3 or weights.ndim != 4:
        raise call.refused(
            f"a kernel of shape {weights.shape} on an input of {call.shapes[0]}", "give it a feature map"
        )
    height, width, group, outputs = weights.shape
    if type(call.layer).__name__ == "DepthwiseConv":
        group, outputs = 1, channels * outputs
    attrs = {**PLAIN, **window(call, (height, width)), "groups": channels // group}
    kernel_of = weights.reshape(height, width, group, outputs)
    return [call.node("conv2d", attrs, kernel=kernel_of, bias=np.zeros(outputs, np.float32))]


def separable(call: Call) -> list[Node]:
    """Convert a SeparableConv2D: a depthwise convolution, then a 1x1 convolution."""
    call.require_channels_last()
    layer = call.layer
    depthwise, pointwise = array(layer.depthwise_kernel), array(layer.pointwise_kernel)
    height, width, channels, multiplier = depthwise.shape
    attrs = {**PLAIN, **window(call, (height, width)), "groups": channels}
    weights = depthwise.reshape(height, width, 1, channels * multiplier)
    first = call.node("conv2d", attrs, kernel=weights, bias=np.zeros(channels * multiplier, np.float32))
    name = f"{call.name}-pointwise"
    mixed = Node(name, "conv2d", (call.name,), dict(PLAIN), {"kernel": pointwise, "bias": bias(call, layer.filters)})
    return [first, mixed, *own_activation(call, name)]


def transposed(call: Call) -> list[Node]:
    """Convert a Conv2DTranspose: a convolution that computes every phase of the output, and depth to space."""
    call.require_channels_last()
    layer, weights = call.layer, kernel(call)  # (height, width, filters, channels)
    strides, dilations, shape = pair(layer.strides), pair(layer.dilation_rate), call.shapes[0]
    if strides != (1, 1) and dilations != (1, 1):
        raise call.refused(
            f"strides={strides} with dilation_rate={dilations}", "give one of them; Keras computes no such layer either"
        )
    activation = own_activation(call)
    alone = all(node.op == "activation" for node in activation)  # a softmax must follow the depth to space
    nodes = transposed_nodes(
        call.name,
        call.inputs[0],
        weights,
        bias(call, weights.shape[2]),
        strides=strides,
        shape=shape,
        output_size=tuple(int(size) for size in layer.compute_output_shape((1, *shape))[1:3]),
        same=layer.padding != "valid",
        dilations=dilations,
        activation=activation if alone else (),
    )
    return nodes if alone else [*nodes, *own_activation(call, nodes[-1].name)]
