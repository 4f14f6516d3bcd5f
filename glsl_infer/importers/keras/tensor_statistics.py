"""Statistics of Keras' operations -> nodes for the CPU: deviations, logarithms, norms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from glsl_infer.graph import Node
from glsl_infer.importers.keras import along_axis, log_softmax, reductions
from glsl_infer.importers.keras.call import Call, Converter
from glsl_infer.importers.keras.tensor_numbers import Chain, axes, axis, reduction
from glsl_infer.importers.keras.tensor_products import is_tensor, unit
from glsl_infer.importers.keras.weights import array

_LEAST_LENGTH = 1e-12
"""Smallest divisor in Keras, if a layer does not set one."""


def _spread(*, root: bool) -> Converter:
    """Return the converter of a variance, or of a standard deviation."""

    def convert(call: Call) -> list[Node]:
        over, made = axes(call, call.layer.axis), Chain(call)
        made.add("tensor_reduce", {"reduction": "mean", "axes": over, "keep": True})
        made.add("tensor_binary", {"operation": "squared_difference"}, call.inputs[0])
        made.add("tensor_reduce", {"reduction": "mean", "axes": over, "keep": bool(call.layer.keepdims)})
        if root:
            made.function("sqrt")
        return made.nodes

    return convert


def _log_softmax(call: Call) -> list[Node]:
    return log_softmax.nodes(call.name, call.inputs[0], axis(call, call.layer.axis))


def _log_sum_exp(call: Call) -> list[Node]:
    over, made = axes(call, call.layer.axis), Chain(call)
    largest = made.add("tensor_reduce", {"reduction": "max", "axes": over, "keep": True})
    apart = Node(f"{call.name}-apart", "tensor_binary", (call.inputs[0], largest), {"operation": "subtract"})
    made.nodes.append(apart)
    made.function("exponential")
    made.add("tensor_reduce", {"reduction": "sum", "axes": over, "keep": True})
    made.function("log")
    made.add("tensor_binary", {"operation": "add"}, largest)
    if not call.layer.keepdims:
        made.add("tensor_reshape", {"shape": call.shape})
    return made.nodes


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
    return along_axis.rescaled(call, call.layer.axis, factor.reshape(-1), added.reshape(-1))


def _unit(call: Call) -> list[Node]:
    """Convert a division by the length along axes: UnitNormalization, ``keras.ops.normalize``."""
    order = getattr(call.layer, "order", 2)
    if order != 2:
        raise call.refused(f"a normalisation of order {order}", "use order=2")
    epsilon = float(getattr(call.layer, "epsilon", None) or _LEAST_LENGTH)
    first, *others = unit(call.name, call.inputs[0], axes(call, call.layer.axis), epsilon**2)
    inputs = [tuple(call.name if read == first.name else read for read in node.inputs) for node in others]
    named = [replace(node, inputs=reads) for node, reads in zip(others, inputs)]
    return [replace(first, name=call.name), *named]


def _rms(call: Call) -> list[Node]:
    """Convert an RMSNormalization, over any axes."""
    over, layer, made = axes(call, call.layer.axis), call.layer, Chain(call)
    made.add("tensor_binary", {"operation": "multiply"}, call.inputs[0])
    made.add("tensor_reduce", {"reduction": "mean", "axes": over, "keep": True})
    made.by("add", float(layer.epsilon))
    made.function("rsqrt")
    made.add("tensor_binary", {"operation": "multiply"}, call.inputs[0])
    shape = [size if axis in over else 1 for axis, size in enumerate(call.shapes[0])]
    made.add("tensor_binary", {"operation": "multiply"}, constant=array(layer.scale).reshape(shape))
    return made.nodes


def _group(call: Call) -> list[Node]:
    """Convert a GroupNormalization of a sequence: a normalisation of (..., groups, channels of a group)."""
    call.require_channel_axis()
    layer, (*rest, channels), made = call.layer, call.shapes[0], Chain(call)
    groups = channels if layer.groups == -1 else int(layer.groups)
    over = tuple(axis for axis in range(len(rest) + 2) if axis != len(rest))
    made.add("tensor_reshape", {"shape": (*rest, groups, channels // groups)})
    made.add("tensor_norm", {"axes": over, "epsilon": float(layer.epsilon)})
    made.add("tensor_reshape", {"shape": (*rest, channels)})
    for weight, operation in ((layer.gamma, "multiply"), (layer.beta, "add")):
        if weight is not None:
            made.add("tensor_binary", {"operation": operation}, constant=array(weight))
    return made.nodes


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
    "Logsumexp": _log_sum_exp,
    "Normalize": _unit,
    "Moments": reductions.moments({"Mean": reduction("mean"), "Var": _spread(root=False)}),
    "RGBToGrayscale": _gray,
    "Std": _spread(root=True),
    "Var": _spread(root=False),
}
"""Converters by class name."""
