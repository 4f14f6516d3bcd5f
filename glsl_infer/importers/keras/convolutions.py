"""Converters of Keras' plain, depthwise, separable and transposed convolutions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from glsl_infer.graph import Node
from glsl_infer.importers.core.convolutions import Transposed, Window, convolved
from glsl_infer.importers.core.convolutions import transposed as transposed_nodes
from glsl_infer.importers.keras.activations import own_activation
from glsl_infer.importers.keras.call import Call, array, bias, kernel, pair

Weights = NDArray[np.float32]


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
    weights, window = weights.reshape(height, width, group, outputs), call.window((height, width))
    return convolved(call.name, call.inputs[0], weights, np.zeros(outputs), window, channels // group)


def plain(call: Call) -> list[Node]:
    """Convert a Conv2D."""
    return [*_convolved(call, kernel(call), int(call.layer.groups)), *own_activation(call)]


def depthwise(call: Call) -> list[Node]:
    """Convert a DepthwiseConv2D."""
    return [*_depthwise(call, kernel(call)), *own_activation(call)]


def _convolved(call: Call, weights: Weights, groups: int, *, with_bias: bool = True) -> list[Node]:
    call.require_channels_last()
    outputs, window = weights.shape[3], call.window(weights.shape[:2])
    own = bias(call, outputs) if with_bias else np.zeros(outputs)
    return convolved(call.name, call.inputs[0], weights, own, window, groups)


def _depthwise(call: Call, weights: Weights, *, with_bias: bool = True) -> list[Node]:
    height, width, channels, multiplier = weights.shape
    return _convolved(call, weights.reshape(height, width, 1, channels * multiplier), channels, with_bias=with_bias)


def separable(call: Call) -> list[Node]:
    """Convert a SeparableConv2D: a depthwise convolution, then a 1x1 convolution."""
    layer = call.layer
    first = _depthwise(call, array(layer.depthwise_kernel), with_bias=False)
    name, pointwise = f"{call.name}-pointwise", array(layer.pointwise_kernel)
    mixed = convolved(name, call.name, pointwise, bias(call, layer.filters), Window((1, 1)))
    return [*first, *mixed, *own_activation(call, name)]


def transposed(call: Call) -> list[Node]:
    """Convert a Conv2DTranspose: a convolution that computes every phase of the output, and depth to space."""
    call.require_channels_last()
    layer, weights = call.layer, kernel(call)  # (height, width, filters, channels)
    strides, dilations, shape = pair(layer.strides), pair(layer.dilation_rate), call.shapes[0]
    if strides != (1, 1) and dilations != (1, 1):
        raise call.refused(
            f"strides={strides} with dilation_rate={dilations}", "give one of them; Keras computes no such layer either"
        )

    def activated(nodes: list[Node]) -> list[Node]:
        return [*nodes, *own_activation(call, nodes[-1].name)]

    alone = all(node.op == "activation" for node in own_activation(call))  # a softmax must follow the depth to space
    size, crop = pair(layer.compute_output_shape((1, *shape))[1:3]), (0, 0) if layer.padding == "valid" else None
    own = Transposed(weights, bias(call, weights.shape[2]), strides, size, crop, dilations)
    nodes = transposed_nodes(call.name, call.inputs[0], shape, own, activated if alone else list)
    return nodes if alone else activated(nodes)
