"""Statistics of Keras' operations -> nodes for the CPU: deviations, logarithms, norms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from glsl_infer.graph import Node
from glsl_infer.importers.keras.call import Call, Converter, array, is_tensor
from glsl_infer.importers.keras.elementwise import chain_of, log_softmax, rescaled
from glsl_infer.importers.keras.products import unit

_LEAST_LENGTH = 1e-12
"""Smallest divisor in Keras, if a layer does not set one."""


def _log_softmax(call: Call) -> list[Node]:
    return log_softmax(call.name, call.inputs[0], call.axis(call.layer.axis))


def batch_norm(call: Call) -> list[Node]:
    """Convert ``keras.ops.batch_normalization`` with constants: a factor and an offset along the axis."""
    names = ("mean", "variance", "offset", "scale")
    given = dict(zip(names, (*call.arguments[1:], None, None)))
    if len(call.inputs) != 1 or any(is_tensor(value) for value in given.values()):
        raise call.refused("statistics that the network computes", "use keras.ops arithmetic, or a layer")
    numbers = {key: None if value is None else array(value).astype(np.float64) for key, value in given.items()}
    mean, variance, offset, scale = (numbers[name] for name in names)
    assert mean is not None
    assert variance is not None
    factor = (1.0 if scale is None else scale) / np.sqrt(variance + float(call.layer.epsilon))
    added = (0.0 if offset is None else offset) - mean * factor
    return rescaled(call, call.layer.axis, factor.reshape(-1), added.reshape(-1))


def _unit(call: Call) -> list[Node]:
    """Convert a division by the length along axes: UnitNormalization, ``keras.ops.normalize``."""
    order = getattr(call.layer, "order", 2)
    if order != 2:
        raise call.refused(f"a normalisation of order {order}", "use order=2")
    epsilon = float(getattr(call.layer, "epsilon", None) or _LEAST_LENGTH)
    first, *others = unit(call.name, call.inputs[0], call.axes(call.layer.axis), epsilon**2)
    inputs = [tuple(call.name if read == first.name else read for read in node.inputs) for node in others]
    named = [replace(node, inputs=reads) for node, reads in zip(others, inputs)]
    return [replace(first, name=call.name), *named]


def _rms(call: Call) -> list[Node]:
    """Convert an RMSNormalization, over any axes."""
    over, layer, chain, source = call.axes(call.layer.axis), call.layer, chain_of(call), call.inputs[0]
    chain.add("tensor_binary", source, operation="multiply")
    chain.add("tensor_reduce", reduction="mean", axes=over, keep=True)
    chain.add("tensor_binary", part="epsilon", weights={"constant": [float(layer.epsilon)]}, operation="add")
    chain.add("tensor_function", function="rsqrt")
    chain.add("tensor_binary", source, part="norm", operation="multiply")
    scale = array(layer.scale).reshape([size if axis in over else 1 for axis, size in enumerate(call.shapes[0])])
    chain.add("tensor_binary", part="scale", weights={"constant": scale}, operation="multiply")
    return chain.nodes


def _group(call: Call) -> list[Node]:
    """Convert a GroupNormalization of a sequence: a normalisation of (..., groups, channels of a group)."""
    call.require_channel_axis()
    layer, (*others, channels), chain = call.layer, call.shapes[0], chain_of(call)
    groups = channels if layer.groups == -1 else int(layer.groups)
    over = tuple(axis for axis in range(len(others) + 2) if axis != len(others))
    chain.add("tensor_reshape", shape=(*others, groups, channels // groups))
    chain.add("tensor_norm", axes=over, epsilon=float(layer.epsilon))
    chain.add("tensor_reshape", part="shape", shape=(*others, channels))
    for weight, operation in ((layer.gamma, "multiply"), (layer.beta, "add")):
        if weight is not None:
            chain.add("tensor_binary", part=operation, weights={"constant": array(weight)}, operation=operation)
    return chain.nodes


def _gray(call: Call) -> list[Node]:
    """Convert ``keras.ops.image.rgb_to_grayscale``."""
    weights = np.array([0.2989, 0.587, 0.114], np.float32).reshape(1, 1, 3, 1)
    attrs = {"strides": (1, 1), "padding": (0, 0, 0, 0), "groups": 1, "activation": "linear"}
    call.require_channels_last()
    return [call.node("conv2d", attrs, kernel=weights, bias=np.zeros(1, np.float32))]


LAYERS: Mapping[str, Converter] = {
    "GroupNormalization": _group,
    "RMSNormalization": _rms,
    "UnitNormalization": _unit,
}
"""Converters of layers by class name."""

OPERATIONS: Mapping[str, Converter] = {
    "BatchNorm": batch_norm,
    "LogSoftmax": _log_softmax,
    "Normalize": _unit,
    "RGBToGrayscale": _gray,
}
"""Converters by class name."""
