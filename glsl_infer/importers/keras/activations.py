"""Keras activations -> names of the engine's, and nodes."""

from __future__ import annotations

from typing import Any

from glsl_infer.graph import Node, activations
from glsl_infer.importers.keras.call import Call


def relu_name(call: Call, layer: Any) -> str:
    """Return the activation that a ReLU layer is."""
    options = {"negative_slope": layer.negative_slope, "threshold": layer.threshold}
    given = {key: value for key, value in options.items() if value}
    if given:
        raise call.refused(f"a ReLU with {given}", "only max(x, 0), with a max_value or without, can be exported")
    if layer.max_value is None:
        return "relu"
    name = activations.limited_relu(float(layer.max_value))
    try:
        activations.activation(name)
    except ValueError:
        raise call.refused(f"a ReLU with max_value={layer.max_value}", "give a positive max_value") from None
    return name


def piecewise_linear_name(call: Call, layer: Any) -> str:
    """Return the activation that a layer with a ``function`` of straight pieces is."""
    try:
        name: str = layer.function().name
        activations.activation(name)
    except ValueError as error:
        raise call.refused(str(error), "its weights have left what training leads to; take an earlier state") from None
    return name


def activation_node(name: str, inputs: tuple[str, ...], function: str) -> Node:
    """Return the node of an activation function, of which softmax is none in the graph."""
    if function == "softmax":
        return Node(name, "softmax", inputs)
    return Node(name, "activation", inputs, {"function": function})


def function_name(call: Call) -> str:
    """Return the name of a layer's ``activation``: one of the engine's, or ``softmax``."""
    given = call.layer.activation
    function = str(getattr(given, "__name__", type(given).__name__))
    if function == "ReLU":
        return relu_name(call, given)
    if function in ("LearnableSigmoid", "ClippedLinear"):
        return piecewise_linear_name(call, given)
    function = {"PiecewiseLinearSigmoid": "piecewise_linear_sigmoid", "relu6": "relu(6)"}.get(function, function)
    if function != "softmax":
        try:
            activations.activation(function)
        except ValueError:
            advice = f"use one of: {', '.join(activations.NAMES)}, softmax"
            raise call.refused(f"activation '{function}' cannot be exported", advice) from None
    return function


def own_activation(call: Call) -> list[Node]:
    """Return the node of the ``activation=`` argument of a layer, if it has one."""
    function = function_name(call)
    return [] if function == "linear" else [activation_node(f"{call.name}-activation", (call.name,), function)]
