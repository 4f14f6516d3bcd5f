"""Statistics of Keras' operations -> nodes that the CPU computes: deviations, logarithms of sums, norms."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from glsl_infer.graph import Node
from glsl_infer.importers.keras import along_axis, log_softmax, reductions
from glsl_infer.importers.keras.call import Call, Converter
from glsl_infer.importers.keras.tensor_numbers import Chain, axes, axis, reduction
from glsl_infer.importers.keras.tensor_products import is_tensor
from glsl_infer.importers.keras.weights import array


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


def _gray(call: Call) -> list[Node]:
    """Convert ``keras.ops.image.rgb_to_grayscale``."""
    weights = np.array([0.2989, 0.587, 0.114], np.float32).reshape(1, 1, 3, 1)
    attrs = {"strides": (1, 1), "padding": (0, 0, 0, 0), "groups": 1, "activation": "linear"}
    call.require_channels_last()
    return [call.node("conv2d", attrs, kernel=weights, bias=np.zeros(1, np.float32))]


OPERATIONS: Mapping[str, Converter] = {
    "BatchNorm": batch_norm,
    "LogSoftmax": _log_softmax,
    "Logsumexp": _log_sum_exp,
    "Moments": reductions.moments({"Mean": reduction("mean"), "Var": _spread(root=False)}),
    "RGBToGrayscale": _gray,
    "Std": _spread(root=True),
    "Var": _spread(root=False),
}
"""Converters by class name."""
