"""Converters of Keras layers: one function for each type of layer, and the table of these functions."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from glsl_infer.graph import Node
from glsl_infer.importers.core import emit
from glsl_infer.importers.core.pooling import pooled
from glsl_infer.importers.keras import activations, convolutions, elementwise, geometry, moves, normalizations, resizes
from glsl_infer.importers.keras.call import Call, Converter, array, bias, kernel, pair, per_channel
from glsl_infer.importers.keras.inputs import input_nodes

_EPSILON = 1e-7
"""Smallest divisor of Keras' Normalization: the epsilon of its backend."""


def _rescaling(call: Call) -> list[Node]:
    scales = per_channel(call, call.layer.scale, "a scale")
    return [call.node("rescaling", {"scales": scales, "offsets": per_channel(call, call.layer.offset, "an offset")})]


def _layer_scale(call: Call) -> list[Node]:
    """Convert the LayerScale of Keras' ConvNeXt: a factor per channel."""
    scales = tuple(array(call.layer.gamma).reshape(-1).tolist())
    return [call.node("rescaling", {"scales": scales, "offsets": (0.0,)})]


def _scaled_residual(call: Call) -> list[Node]:
    """Convert the CustomScaleLayer of Keras' InceptionResNetV2: a map plus a constant times another map."""
    if len(call.inputs) != 2:
        raise call.refused(f"{len(call.inputs)} inputs", "give it two maps")
    scaled = Node(call.name, "rescaling", call.inputs[1:], {"scales": (float(call.layer.scale),), "offsets": (0.0,)})
    return [scaled, Node(f"{call.name}-sum", "add", (call.inputs[0], call.name), {"activation": "linear"})]


def _dense(call: Call) -> list[Node]:
    weights = kernel(call)
    node = emit.product(call.name, call.inputs[0], call.shapes[0], weights, bias(call, weights.shape[1]))
    return [node, *activations.own_activation(call)]


def _batch_norm(call: Call) -> list[Node]:
    layer, mean = call.layer, array(call.layer.moving_mean)
    weights = {
        "gamma": array(layer.gamma) if layer.scale else np.ones(mean.shape, np.float32),
        "beta": array(layer.beta) if layer.center else np.zeros(mean.shape, np.float32),
        "mean": mean,
        "variance": array(layer.moving_variance),
    }
    if not call.is_channel_axis():
        exact = {name: weight.astype(np.float64) for name, weight in weights.items()}
        factor = exact["gamma"] / np.sqrt(exact["variance"] + float(layer.epsilon))
        return elementwise.rescaled(call, layer.axis, factor, exact["beta"] - exact["mean"] * factor)
    return [call.node("batch_norm", {"epsilon": float(layer.epsilon)}, **weights)]


def _normalization(call: Call) -> list[Node]:
    layer = call.layer
    mean, variance = (np.asarray(array(value), np.float64).reshape(-1) for value in (layer.mean, layer.variance))
    deviation = np.maximum(np.sqrt(variance), _EPSILON)
    scales, offsets = (deviation, mean) if layer.invert else (1.0 / deviation, -mean / deviation)
    if layer.axis not in (None, ()) and not call.is_channel_axis():
        return elementwise.rescaled(call, layer.axis, scales, offsets)
    return [call.node("rescaling", {"scales": tuple(scales.tolist()), "offsets": tuple(offsets.tolist())})]


def _channel_shuffle(call: Call) -> list[Node]:
    return [call.node("channel_shuffle", {"step": int(call.layer.step)})]


def pool(op: str) -> Converter:
    """Return the converter of a pooling by a window."""

    def convert(call: Call) -> list[Node]:
        call.require_channels_last()
        return pooled(call.name, call.inputs[0], call.shapes[0], op, call.window(call.layer.pool_size))

    return convert


def _flatten(call: Call) -> list[Node]:
    call.require_channels_last()
    if not emit.in_textures(call.shapes[0]):
        return [call.node("reshape", {"shape": call.shape})]
    return [call.node("flatten", {"scale": None})]


def _reshape(call: Call) -> list[Node]:
    target = call.layer.target_shape
    others = math.prod(size for size in target if size != -1)
    shape = tuple(math.prod(call.shapes[0]) // max(others, 1) if size == -1 else int(size) for size in target)
    return [call.node("reshape", {"shape": shape})]


def of_same_values(call: Call) -> list[Node]:
    """Convert an operation that only changes the shape, and keeps the batch."""
    sizes = getattr(call.layer, "newshape", (-1,))
    if sizes[0] not in (-1, 1, None):
        raise call.refused(f"a reshape to {tuple(sizes)}", "use layers.Reshape, which leaves out the batch")
    return [call.node("reshape", {"shape": call.shape})]


def softmax(call: Call) -> list[Node]:
    """Convert a softmax along one axis, or along several, which become the last axis together."""
    over, shape, source = sorted(call.axes(call.layer.axis)), call.shapes[0], call.inputs[0]
    if len(over) == 1:
        return [emit.softmax(call.name, source, shape, over[0])]
    others = [axis for axis in range(len(shape)) if axis not in over]
    order, chain = (*others, *over), emit.Chain(call.name, source, shape)
    chain.add("tensor_transpose", axes=order)
    chain.add("tensor_reshape", shape=(*(shape[axis] for axis in others), math.prod(shape[axis] for axis in over)))
    chain.add("tensor_softmax", axis=len(others))
    chain.add("tensor_reshape", part="shape", shape=tuple(shape[axis] for axis in order))
    chain.add("tensor_transpose", part="back", axes=tuple(order.index(axis) for axis in range(len(shape))))
    return chain.nodes


def identity(call: Call) -> list[Node]:
    """Convert a layer that has no effect at inference."""
    return [call.node("identity")]


def _random_crop(call: Call) -> list[Node]:
    """Convert a RandomCrop. At inference Keras 3 returns the map unchanged, regardless of the declared shape."""
    call.require_channels_last()
    input_shape = (1, *call.shapes[0])
    output_shape = tuple(call.layer(np.zeros(input_shape, np.float32), training=False).shape)
    if output_shape != input_shape:
        raise call.refused(
            f"a RandomCrop that makes {output_shape[1:]} of {input_shape[1:]}", "use CenterCrop or Resizing"
        )
    return [call.node("identity")]


def _zero_padding(call: Call) -> list[Node]:
    call.require_channels_last()
    (top, bottom), (left, right) = call.layer.padding
    return [call.node("zero_padding", {"padding": (int(top), int(bottom), int(left), int(right))})]


def _up_sampling(call: Call) -> list[Node]:
    call.require_channels_last()
    interpolation = call.layer.interpolation
    if interpolation not in ("nearest", "bilinear"):
        return resizes.resampled(call, (call.shape[0], call.shape[1]), interpolation, antialias=False)
    return [call.node(f"upsample_{interpolation}", {"size": pair(call.layer.size)})]


def depth_to_space(call: Call) -> list[Node]:
    """Convert a depth to space."""
    call.require_channels_last()
    return [call.node("depth_to_space", {"block": int(call.layer.block_size)})]


_TRAINING_ONLY = """
ActivityRegularization AlphaDropout AugMix CutMix Dropout GaussianDropout GaussianNoise Identity
MaxNumBoundingBoxes MixUp RandAugment RandomBrightness RandomColorDegeneration RandomColorJitter RandomContrast
RandomCrop RandomElasticTransform RandomErasing RandomFlip RandomGaussianBlur RandomGrayscale RandomHue
RandomInvert RandomPerspective RandomPosterization RandomRotation RandomSaturation RandomSharpness RandomShear
RandomTranslation RandomZoom Solarization SpatialDropout1D SpatialDropout2D
"""

TRAINING_ONLY = tuple(_TRAINING_ONLY.split())
"""Layers without an effect at inference."""

LAYERS: Mapping[str, Converter] = {
    "InputLayer": input_nodes,
    "Rescaling": _rescaling,
    "LayerScale": _layer_scale,
    "CustomScaleLayer": _scaled_residual,
    "Normalization": _normalization,
    "Conv2D": convolutions.plain,
    "DepthwiseConv2D": convolutions.depthwise,
    "SeparableConv2D": convolutions.separable,
    "Conv2DTranspose": convolutions.transposed,
    "BatchNormalization": _batch_norm,
    "Activation": activations.activation_layer,
    **activations.converters(activations.LAYERS),
    "PReLU": activations.prelu_layer,
    **normalizations.LAYERS,
    "ChannelShuffle": _channel_shuffle,
    **elementwise.LAYERS,
    "Concatenate": moves.concatenate,
    "MaxPooling2D": pool("max_pool"),
    "AveragePooling2D": pool("average_pool"),
    "GlobalAveragePooling2D": geometry.global_pool("mean"),
    "ZeroPadding2D": _zero_padding,
    "UpSampling2D": _up_sampling,
    "DepthToSpace": depth_to_space,
    "Cropping2D": geometry.cropping,
    "CenterCrop": geometry.center_crop,
    "Resizing": resizes.resizing,
    "Permute": geometry.transpose,
    "GlobalMaxPooling2D": geometry.global_pool("max"),
    "Flatten": _flatten,
    "Reshape": _reshape,
    "Dense": _dense,
    "Softmax": softmax,
    **dict.fromkeys(TRAINING_ONLY, identity),
    "RandomCrop": _random_crop,  # instead of ``identity``, to refuse a crop at inference
}
"""Converters by class name."""
