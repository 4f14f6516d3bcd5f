"""Converters of Keras operations: ``x + y``, ``x / 127.5 - 1``, ``keras.ops.relu(x)`` and others on Keras tensors."""

from __future__ import annotations

from collections.abc import Mapping

from glsl_infer.importers.keras import (
    activations,
    convolutions,
    elementwise,
    geometry,
    moves,
    normalizations,
    reductions,
    resizes,
    tensor_places,
)
from glsl_infer.importers.keras import converters as layers
from glsl_infer.importers.keras.call import Converter

OPERATIONS: Mapping[str, Converter] = {
    **elementwise.OPERATIONS,
    "Power": activations.power,
    "Conv": convolutions.of_constants,
    "DepthwiseConv": convolutions.of_constants,
    "StopGradient": layers.identity,
    "Diff": geometry.differences,
    "GetItem": geometry.get_item,
    "Flip": geometry.flip,
    "Pad": geometry.pad,
    "Resize": resizes.resize,
    "SpaceToDepth": geometry.space_to_depth,
    "Split": geometry.split,
    "Transpose": geometry.transpose,
    **activations.converters(activations.OPERATIONS),
    **reductions.OPERATIONS,
    **normalizations.OPERATIONS,
    "Softmax": layers.softmax,
    **moves.OPERATIONS,
    **tensor_places.FILLS,
    "MaxPool": layers.pool("max_pool"),
    "AveragePool": layers.pool("average_pool"),
    "DepthToSpace": layers.depth_to_space,
    "Reshape": layers.of_same_values,
}
"""Converters by class name."""
