"""Converters of Keras' activations to the engine's: layers, functions given as ``activation=``, and operations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from glsl_infer.graph import Node
from glsl_infer.graph.activations import Activation, activation, bent, clipped, powers, shrinking, sigmoids, smooth
from glsl_infer.importers.core import elementwise, emit
from glsl_infer.importers.core.constants import pixel_slopes
from glsl_infer.importers.keras.call import Call, Converter, array
from glsl_infer.importers.keras.elementwise import log_softmax

ActivationFinder = Callable[[Call, Any], Activation]
"""Function of a call and a layer or operation: its activation. The layer can be an option of the call's layer."""

SPARSE_SIGMOID = sigmoids.piecewise_linear(0.5, 0.5)
"""``clip((x + 1) / 2, 0, 1)``."""

FUNCTIONS: Mapping[str, Activation] = {
    "celu": shrinking.celu(1.0),
    "elu": smooth.elu(1.0),
    "exponential": smooth.EXPONENTIAL,
    "gelu": smooth.GELU,
    "hard_shrink": shrinking.hard_shrink(0.5),
    "hard_sigmoid": sigmoids.HARD,
    "hard_silu": bent.HARD_SILU,
    "hard_tanh": powers.clip(-1.0, 1.0),
    "leaky_relu": bent.leaky_relu(0.2),
    "linear": clipped.LINEAR,
    "log_sigmoid": smooth.LOG_SIGMOID,
    "mish": smooth.MISH,
    "relu": clipped.relu(),
    "relu6": clipped.relu(6.0),
    "selu": smooth.selu(),
    "sigmoid": sigmoids.SIGMOID,
    "silu": smooth.SILU,
    "soft_shrink": shrinking.soft_shrink(0.5),
    "softplus": smooth.SOFTPLUS,
    "softsign": sigmoids.SOFTSIGN,
    "sparse_plus": shrinking.SPARSE_PLUS,
    "sparse_sigmoid": SPARSE_SIGMOID,
    "squareplus": shrinking.squareplus(4.0),
    "tanh": sigmoids.TANH,
    "tanh_shrink": shrinking.TANH_SHRINK,
}
"""The functions of ``keras.activations``, by their names and with their default options."""

SOFTMAX = "softmax"
"""Not an activation of a graph, because its values depend on other channels."""


def _parsed(call: Call, make: Callable[[], Activation], advice: str) -> Activation:
    """Return an activation parsed from its own text, with the parameters as in a graph."""
    try:
        return activation(make().text)
    except ValueError as error:
        raise call.refused(str(error), advice) from None


def _relu(call: Call, layer: Any) -> Activation:
    maximum = float("inf") if layer.max_value is None else float(layer.max_value)
    slope, threshold = float(layer.negative_slope or 0.0), float(layer.threshold or 0.0)
    if maximum <= 0.0:
        raise call.refused(f"a ReLU with max_value={layer.max_value}", "give a positive max_value")
    if slope or threshold:
        make = (lambda: bent.bent_relu(slope, threshold, maximum)) if threshold or np.isfinite(maximum) else None
        return _parsed(call, make or (lambda: bent.leaky_relu(slope)), "give a max_value above the threshold")
    return _parsed(call, lambda: clipped.relu(maximum), "give a positive max_value")


def _pieces(call: Call, layer: Any) -> Activation:
    advice = "its weights have left what training leads to; take an earlier state"
    return _parsed(call, lambda: sigmoids.of_pieces(layer.function()), advice)


def _prelu(call: Call, layer: Any) -> Activation:
    if not layer.built:
        advice = "make it a separate layer after that layer"
        raise call.refused("a PReLU as the activation of another layer, whose slopes no file keeps", advice)
    slopes = array(layer.alpha)
    per_channel = slopes.reshape(-1, slopes.shape[-1])
    if (per_channel != per_channel[0]).any():
        advice = "make it a separate layer after a map, or give it shared_axes=[1, 2]: one slope for each channel"
        raise call.refused(f"a PReLU with slopes of its own for each pixel, {slopes.shape}", advice)
    return _parsed(call, lambda: bent.prelu(*per_channel[0].tolist()), "its slopes must be finite")


def _leaky(call: Call, layer: Any) -> Activation:
    return _parsed(call, lambda: bent.leaky_relu(float(layer.negative_slope)), "its slope must be finite")


def _elu(call: Call, layer: Any) -> Activation:
    return _parsed(call, lambda: smooth.elu(float(layer.alpha)), "its alpha must be finite")


def _gelu(call: Call, layer: Any) -> Activation:
    return smooth.GELU_TANH if layer.approximate else smooth.GELU


def _clip(call: Call, layer: Any) -> Activation:
    low, high = layer.x_min, layer.x_max
    if not isinstance(low, (int, float)) or not isinstance(high, (int, float)):
        raise call.refused("a clip to limits that are not numbers", "give two numbers")
    if low == 0:
        return _parsed(call, lambda: clipped.relu(float(high)), "give a limit above 0")
    return _parsed(call, lambda: powers.clip(float(low), float(high)), "give a lower and a higher limit")


def power(call: Call) -> list[Node]:
    """Convert a power of a tensor by a constant scalar."""
    exponent = call.arguments[-1]
    if len(call.inputs) != 1 or not isinstance(exponent, (int, float)):
        raise call.refused(
            "a power whose exponent is not a number", "give it as a number, or use keras.ops.exp of a product"
        )
    advice = "multiply the tensor by itself, or use keras.ops.exp"
    return [_node(call.name, call.inputs, _parsed(call, lambda: powers.power(float(exponent)), advice))]


def _of(option: str, make: Callable[[float], Activation]) -> ActivationFinder:
    """Return the finder of a function with one option."""
    return lambda call, layer: _parsed(call, lambda: make(float(getattr(layer, option))), f"give another {option}")


def _threshold(call: Call, layer: Any) -> Activation:
    limit, value = float(layer.threshold), float(layer.default_value)
    return _parsed(call, lambda: shrinking.threshold(limit, value), "its numbers must be finite")


def _always(function: Activation) -> ActivationFinder:
    return lambda call, layer: function


LAYERS: Mapping[str, ActivationFinder] = {
    "ClippedLinear": _pieces,
    "ELU": _elu,
    "LeakyReLU": _leaky,
    "LearnableSigmoid": _pieces,
    "PReLU": _prelu,
    "PiecewiseLinearSigmoid": _always(sigmoids.ARTICLE),
    "ReLU": _relu,
}
"""Layers that are activations, by class name. They occur alone, or as the ``activation=`` of another layer."""

OPERATIONS: Mapping[str, ActivationFinder] = {
    **{name: _always(activation(text)) for name, text in elementwise.activations(elementwise.KERAS).items()},
    "Celu": _of("alpha", shrinking.celu),
    "Clip": _clip,
    "Elu": _elu,
    "Gelu": _gelu,
    "HardShrink": _of("threshold", shrinking.hard_shrink),
    "HardTanh": _always(powers.clip(-1.0, 1.0)),
    "LeakyRelu": _leaky,
    "SoftShrink": _of("threshold", shrinking.soft_shrink),
    "SparseSigmoid": _always(SPARSE_SIGMOID),
    "Squareplus": _of("b", shrinking.squareplus),
    "Threshold": _threshold,
}
"""Finders of the activations of ``keras.ops``, by class name."""


def converters(kinds: Mapping[str, ActivationFinder]) -> dict[str, Converter]:
    """Return a converter for each layer or operation that is an activation."""

    def converter(kind: ActivationFinder) -> Converter:
        return lambda call: [call.node(function_op(call), {"function": kind(call, call.layer).text})]

    return {name: converter(kind) for name, kind in kinds.items()}


def function_op(call: Call) -> str:
    """Return the operator of a function: with a shader if textures can store the input and the output of the call."""
    return "activation" if emit.in_textures(*call.shapes, call.shape) else "tensor_function"


def prelu_layer(call: Call) -> list[Node]:
    """Convert a ``PReLU`` layer. It can have different slopes for each pixel."""
    return pixel_slopes(call.name, call.inputs[0], call.shapes[0], array(call.layer.alpha)) or [
        call.node(function_op(call), {"function": _prelu(call, call.layer).text})
    ]


def activation_layer(call: Call) -> list[Node]:
    """Convert an ``Activation`` layer."""
    if _is_log_softmax(call):
        return log_softmax(call.name, call.inputs[0], -1)
    return [_node(call.name, call.inputs, _own_function(call))]


def function_of(call: Call, argument: Any) -> Activation:
    """Return the function of a layer's option, such as ``activation``. Softmax is refused."""
    activation = _function(call, argument)
    if activation is None:
        raise call.refused(f"activation '{SOFTMAX}' here", "use a function of single numbers")
    return activation


def own_activation(call: Call, after: str | None = None) -> list[Node]:
    """Return the nodes of a layer's ``activation=``, or []. ``after`` is the node that they read."""
    if _is_log_softmax(call):
        return log_softmax(f"{call.name}-activation", after or call.name, -1)
    function = _own_function(call)
    if function == clipped.LINEAR:
        return []
    return [_node(f"{call.name}-activation", (after or call.name,), function)]


def _is_log_softmax(call: Call) -> bool:
    return getattr(call.layer.activation, "__name__", "") == "log_softmax"


def _node(name: str, inputs: tuple[str, ...], function: Activation | None) -> Node:
    if function is None:
        return Node(name, SOFTMAX, inputs)
    return Node(name, "activation", inputs, {"function": function.text})


def _own_function(call: Call) -> Activation | None:
    """Return the ``activation`` of a layer; None for softmax."""
    return _function(call, call.layer.activation)


def _function(call: Call, argument: Any) -> Activation | None:
    kind = type(argument).__name__
    if kind in LAYERS:
        return LAYERS[kind](call, argument)
    name = str(getattr(argument, "__name__", kind))
    if name == SOFTMAX:
        return None
    if name not in FUNCTIONS:
        layers = ", ".join(sorted(LAYERS))
        advice = f"use one of: {', '.join(FUNCTIONS)}, {SOFTMAX}, or a layer: {layers}"
        raise call.refused(f"activation '{name}' cannot be exported", advice)
    return FUNCTIONS[name]
