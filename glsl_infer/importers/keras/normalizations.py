"""Keras' normalisations by a map's own statistics -> nodes; those by learnt statistics are in ``converters``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from glsl_infer.graph import Node
from glsl_infer.importers.core.emit import Numbers, over_channels, over_map
from glsl_infer.importers.keras.call import Call, Converter, array


def _weight(call: Call, value: Any, default: float) -> Numbers:
    """Return a weight as one value, or one per channel; the default if it is None."""
    if value is None:
        return (default,)
    numbers = np.asarray(array(value), np.float64)
    per_channel = numbers.reshape(-1, numbers.shape[-1])
    if per_channel.shape[1] != call.shapes[0][-1] or (per_channel != per_channel[0]).any():
        raise call.refused(
            f"a normalisation with weights of its own for each pixel, {numbers.shape}",
            "give it no weights (center=False, scale=False), and add a DepthwiseConv2D(1) after it",
        )
    return tuple(per_channel[0].tolist())


def _over_channels(call: Call, kind: str, epsilon: float, gamma: Numbers = (1.0,), beta: Numbers = (0.0,)) -> Node:
    return over_channels(call.name, call.inputs[0], call.shapes[0], kind, epsilon, gamma, beta)


def _over_map(call: Call, groups: int, epsilon: float, gamma: Numbers, beta: Numbers) -> list[Node]:
    return over_map(call.name, call.inputs[0], call.shapes[0], groups, epsilon, gamma, beta)


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
        return _over_map(call, 1, epsilon, gamma, beta)
    return [_over_channels(call, kind, epsilon, gamma, beta)]


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
    return _over_map(call, groups, float(layer.epsilon), gamma, beta)


def _unit(call: Call) -> list[Node]:
    order = getattr(call.layer, "order", 2)
    if order != 2 or _over_all(call, "unit"):
        raise call.refused(f"a normalisation of order {order}", "use order=2")
    return [_over_channels(call, "unit", 0.0)]


def _operation(kind: str) -> Converter:
    def convert(call: Call) -> list[Node]:
        from keras import config

        _refuse_rms_scaling(call)
        given = [argument for argument in call.arguments if not hasattr(argument, "_keras_history")]
        given += [None] * (2 - len(given))
        epsilon = config.epsilon() if call.layer.epsilon is None else float(call.layer.epsilon)
        gamma, beta = (_weight(call, value, default) for value, default in zip(given, (1.0, 0.0)))
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
