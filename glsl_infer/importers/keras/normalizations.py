"""Converters of normalisations by a tensor's own statistics; ``converters`` has those by learnt statistics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from glsl_infer.graph import Node
from glsl_infer.importers.core.emit import Numbers, over_channels, over_map, product
from glsl_infer.importers.keras.call import Call, Converter, array, is_tensor
from glsl_infer.importers.keras.elementwise import chain_of, log_softmax, rescaled
from glsl_infer.importers.keras.products import unit


def _weight(call: Call, value: Any, default: float) -> Numbers:
    """Return a weight as one value, or one per channel; the default if it is None."""
    if value is None:
        return (default,)
    weight = np.asarray(array(value), np.float64)
    per_channel = weight.reshape(-1, weight.shape[-1])
    if per_channel.shape[1] != call.shapes[0][-1] or (per_channel != per_channel[0]).any():
        raise call.refused(
            f"a normalisation with weights of its own for each pixel, {weight.shape}",
            "give it no weights (center=False, scale=False), and add a DepthwiseConv2D(1) after it",
        )
    return tuple(per_channel[0].tolist())


def _layer(call: Call) -> list[Node]:
    layer = call.layer
    _refuse_rms_scaling(call)
    _over_all(call, "layer")
    gamma = _weight(call, layer.gamma if layer.scale else None, 1.0)
    beta = _weight(call, layer.beta if layer.center else None, 0.0)
    return _normalised(call, "layer", float(layer.epsilon), gamma, beta)


def _refuse_rms_scaling(call: Call) -> None:
    if getattr(call.layer, "rms_scaling", False):
        raise call.refused("rms_scaling=True, which divides by the deviation", "use RMSNormalization")


def _normalised(call: Call, kind: str, epsilon: float, gamma: Numbers, beta: Numbers) -> list[Node]:
    if _over_all(call, kind):
        return over_map(call.name, call.inputs[0], call.shapes[0], 1, epsilon, gamma, beta)
    return [over_channels(call.name, call.inputs[0], call.shapes[0], kind, epsilon, gamma, beta)]


def _over_all(call: Call, kind: str) -> bool:
    """Return whether a normalisation is over the entire map; else it is over the channels, or a vector.

    Raises:
        ModelError: the axes are neither.
    """
    if len(call.shapes[0]) == 1:
        call.require_channel_axis()
        return False
    axes = tuple(sorted(call.axes(call.layer.axis)))
    if len(call.shapes[0]) != 3 or (axes != (2,) and (axes != (0, 1, 2) or kind != "layer")):
        raise call.refused(
            f"a {kind} normalisation over the axes {axes}", "it can be over the channels, or over the whole map"
        )
    return axes != (2,)


def _rms(call: Call) -> list[Node]:
    return _normalised(call, "rms", float(call.layer.epsilon), _weight(call, call.layer.scale, 1.0), (0.0,))


def _group(call: Call) -> list[Node]:
    call.require_channel_axis()
    layer = call.layer
    channels = call.shapes[0][-1]
    if len(call.shapes[0]) != 3:
        raise call.refused(f"a GroupNormalization of an input of {call.shapes[0]}", "it needs a feature map")
    gamma = _weight(call, layer.gamma if layer.scale else None, 1.0)
    beta = _weight(call, layer.beta if layer.center else None, 0.0)
    groups = channels if layer.groups == -1 else int(layer.groups)
    return over_map(call.name, call.inputs[0], call.shapes[0], groups, float(layer.epsilon), gamma, beta)


def _unit(call: Call) -> list[Node]:
    order = getattr(call.layer, "order", 2)
    if order != 2 or _over_all(call, "unit"):
        raise call.refused(f"a normalisation of order {order}", "use order=2")
    return _normalised(call, "unit", 0.0, (1.0,), (0.0,))


def _operation(kind: str) -> Converter:
    def convert(call: Call) -> list[Node]:
        from keras import config

        _refuse_rms_scaling(call)
        parameters = [argument for argument in call.arguments if not hasattr(argument, "_keras_history")]
        parameters += [None] * (2 - len(parameters))
        epsilon = config.epsilon() if call.layer.epsilon is None else float(call.layer.epsilon)
        gamma, beta = (_weight(call, value, default) for value, default in zip(parameters, (1.0, 0.0)))
        return _normalised(call, kind, epsilon, gamma, beta)

    return convert


LAYERS: Mapping[str, Converter] = {
    "GroupNormalization": _group,
    "LayerNormalization": _layer,
    "RMSNormalization": _rms,
    "UnitNormalization": _unit,
}
"""Converters of layers by class name."""

OPERATIONS: Mapping[str, Converter] = {
    "LayerNorm": _operation("layer"),
    "Normalize": _unit,
    "RMSNorm": _operation("rms"),
}
"""Converters of operations of ``keras.ops`` by class name."""


_LEAST_LENGTH = 1e-12
"""Smallest divisor in Keras, if a layer does not set one."""


def _log_softmax(call: Call) -> list[Node]:
    return log_softmax(call.name, call.inputs[0], call.axis(call.layer.axis))


def batch_norm(call: Call) -> list[Node]:
    """Convert ``keras.ops.batch_normalization`` with constants: a factor and an offset along the axis."""
    names = ("mean", "variance", "offset", "scale")
    parameters = dict(zip(names, (*call.arguments[1:], None, None)))
    if len(call.inputs) != 1 or any(is_tensor(value) for value in parameters.values()):
        raise call.refused("statistics that the network computes", "use keras.ops arithmetic, or a layer")
    weights = {key: None if value is None else array(value).astype(np.float64) for key, value in parameters.items()}
    mean, variance, offset, scale = (weights[name] for name in names)
    assert mean is not None
    assert variance is not None
    factor = (1.0 if scale is None else scale) / np.sqrt(variance + float(call.layer.epsilon))
    added = (0.0 if offset is None else offset) - mean * factor
    return rescaled(call, call.layer.axis, factor.reshape(-1), added.reshape(-1))


def _unit_on_cpu(call: Call) -> list[Node]:
    """Convert a division by the length along axes: UnitNormalization, ``keras.ops.normalize``."""
    order = getattr(call.layer, "order", 2)
    if order != 2:
        raise call.refused(f"a normalisation of order {order}", "use order=2")
    epsilon = float(getattr(call.layer, "epsilon", None) or _LEAST_LENGTH)
    return unit(call.name, call.inputs[0], call.axes(call.layer.axis), epsilon**2)


def _rms_on_cpu(call: Call) -> list[Node]:
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


def _group_on_cpu(call: Call) -> list[Node]:
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
    call.require_channels_last()
    return [product(call.name, call.inputs[0], call.shapes[0], np.array([[0.2989], [0.587], [0.114]], np.float32))]


LAYERS_ON_CPU: Mapping[str, Converter] = {
    "GroupNormalization": _group_on_cpu,
    "RMSNormalization": _rms_on_cpu,
    "UnitNormalization": _unit_on_cpu,
}
"""Converters of layers by class name."""

ON_CPU: Mapping[str, Converter] = {
    "BatchNorm": batch_norm,
    "LogSoftmax": _log_softmax,
    "Normalize": _unit_on_cpu,
    "RGBToGrayscale": _gray,
}
"""Converters by class name."""
