"""Converters of elementwise operators on two tensors, or a tensor and a constant, and of activation functions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from glsl_infer.graph import Node
from glsl_infer.graph.activations import Activation, activation, bent, smooth
from glsl_infer.importers.core import elementwise, emit
from glsl_infer.importers.core.constants import pixel_slopes, shortest, with_constant
from glsl_infer.importers.tflite.call import Call, Converter, function
from glsl_infer.importers.tflite.choices import is_whole

OPERATIONS = elementwise.operations(elementwise.TFLITE)

_NAMED = {**elementwise.activations(elementwise.TFLITE), "RELU_N1_TO_1": "relu_n1_to_1"}


def binary(call: Call) -> list[Node]:
    """Convert an operation on two tensors, or on a tensor and a constant."""
    if len(call.constants) != 2 or None in call.tensors or not call.inputs:
        raise call.refused(f"of {len(call.constants)} tensors", "give it two")
    operation = "whole_divide" if call.kind == "DIV" and is_whole(call, 0) else OPERATIONS[call.kind]
    if len(call.inputs) == 2:
        return call.activated([emit.two(call.name, operation, call.inputs, call.shapes)])
    first = call.constants[0] is not None
    value = np.asarray(call.constants[0 if first else 1])
    try:
        return call.activated(with_constant(call.name, call.inputs[0], call.shapes[0], operation, value, first=first))
    except ValueError as error:
        raise call.refused(str(error), "give it no batch") from None


def _add_several(call: Call) -> list[Node]:
    if len(call.inputs) != len(call.constants) or len(call.inputs) < 2:
        raise call.refused("of constants or of one tensor", "give it two tensors or more")
    return [call.node("add", {"activation": "linear"})]


def negated(call: Call) -> list[Node]:
    """Convert a NEG."""
    return with_constant(call.name, call.inputs[0], call.shapes[0], "multiply", np.array([-1.0]))


def _text(call: Call) -> str:
    """Return the text of the activation that an operator without operands computes."""
    if call.kind == "GELU":
        return (smooth.GELU_TANH if call.option("Approximate", False) else smooth.GELU).text
    if call.kind == "LEAKY_RELU":
        return _checked(call, lambda: bent.leaky_relu(shortest(call.option("Alpha"))))
    return _NAMED[call.kind]


def _function(call: Call) -> list[Node]:
    return function(call.name, _source(call), _text(call), call.shapes[0])


def _prelu(call: Call) -> list[Node]:
    slopes = call.constant(1, "slopes")
    per_channel = slopes.reshape(-1, slopes.shape[-1] if slopes.ndim else 1)
    if (per_channel != per_channel[0]).any():
        nodes = pixel_slopes(call.name, _source(call), call.shapes[0], slopes)
        if nodes:
            return nodes
        advice = "give the layer one slope for each channel (Keras: shared_axes=[1, 2])"
        raise call.refused(f"slopes of its own for each pixel, {slopes.shape}", advice)
    text = _checked(call, lambda: bent.prelu(*(float(slope) for slope in per_channel[0])))
    return function(call.name, _source(call), text)


def _power(call: Call) -> list[Node]:
    exponent = None if len(call.inputs) > 1 else call.constants[1]
    if exponent is None or exponent.size != 1 or not emit.in_textures(call.shapes[0]):
        return binary(call)
    try:
        text = activation(f"power({float(exponent.reshape(-1)[0])!r})").text
    except ValueError:
        return binary(call)
    return function(call.name, call.inputs[0], text)


def _softmax(call: Call) -> list[Node]:
    chain = emit.Chain(call.name, _source(call), call.shapes[0])
    beta = float(call.option("Beta", 1.0)) if call.kind == "SOFTMAX" else 1.0
    if beta != 1.0:
        chain.extend(with_constant(call.name, chain.last, chain.shape, "multiply", np.array([beta])))
    chain.extend([emit.softmax(chain.free("softmax"), chain.last, chain.shape, len(chain.shape) - 1)])
    if call.kind == "LOG_SOFTMAX":
        chain.function("log")
    return chain.nodes


def _checked(call: Call, make: Callable[[], Activation]) -> str:
    try:
        return make().text
    except ValueError as error:
        raise call.refused(str(error), "its numbers must be finite") from None


def _source(call: Call) -> str:
    if not call.inputs:
        raise call.refused("of a constant", "the file is damaged; convert the model anew")
    return call.inputs[0]


CONVERTERS: dict[str, Converter] = {
    **dict.fromkeys(OPERATIONS, binary),
    **dict.fromkeys((*_NAMED, "GELU", "LEAKY_RELU"), _function),
    **dict.fromkeys(("LOG_SOFTMAX", "SOFTMAX"), _softmax),
    "ADD_N": _add_several,
    "NEG": negated,
    "POW": _power,
    "PRELU": _prelu,
}
