"""Activation functions -> nodes."""

from __future__ import annotations

from collections.abc import Callable

from glsl_infer.graph import Node
from glsl_infer.graph.activations import Activation, activation, bent, smooth
from glsl_infer.importers.core import elementwise
from glsl_infer.importers.core.constants import pixel_slopes
from glsl_infer.importers.core.numbers import shortest
from glsl_infer.importers.tflite.call import Call, Converter, function
from glsl_infer.importers.tflite.written import ACTIVATION

_NAMED = {**elementwise.activations(elementwise.TFLITE), "RELU_N1_TO_1": "relu_n1_to_1"}


def text_of(call: Call) -> str:
    """Return the text of the activation that an operator without operands computes.

    Raises:
        ModelError: its parameters are not allowed.
    """
    if call.kind == ACTIVATION:
        return str(call.option("Function"))
    if call.kind == "GELU":
        return (smooth.GELU_TANH if call.option("Approximate", False) else smooth.GELU).text
    if call.kind == "LEAKY_RELU":
        return _checked(call, lambda: bent.leaky_relu(shortest(call.option("Alpha"))))
    return _NAMED[call.kind]


def _named(call: Call) -> list[Node]:
    return function(call.name, _source(call), text_of(call))


def _prelu(call: Call) -> list[Node]:
    slopes = call.constant(1, "slopes")
    per_channel = slopes.reshape(-1, slopes.shape[-1] if slopes.ndim else 1)
    if (per_channel != per_channel[0]).any():
        nodes = pixel_slopes(call.name, _source(call), call.shapes[0], slopes)
        if nodes:
            return nodes
        advice = "give the layer one slope for each channel (Keras: shared_axes=[1, 2])"
        raise call.refused(f"slopes of its own for each pixel, {slopes.shape}", advice)
    return _made(call, lambda: bent.prelu(*(float(slope) for slope in per_channel[0])))


def _power(call: Call) -> list[Node]:
    exponent = call.constant(1, "an exponent").reshape(-1)
    if len(exponent) != 1:
        raise call.refused(f"{len(exponent)} exponents", "give one number")
    return _made(call, lambda: activation(f"power({float(exponent[0])!r})"))


def _softmax(call: Call) -> list[Node]:
    if call.kind == "LOG_SOFTMAX":
        return [Node(call.name, "softmax", (_source(call),)), *function(f"{call.name}-log", call.name, "log")]
    beta = float(call.option("Beta", 1.0))
    if beta == 1.0:
        return [Node(call.name, "softmax", (_source(call),))]
    scaled = Node(call.name, "rescaling", (_source(call),), {"scales": (beta,), "offsets": (0.0,)})
    return [scaled, Node(f"{call.name}-softmax", "softmax", (call.name,))]


def _made(call: Call, make: Callable[[], Activation]) -> list[Node]:
    return function(call.name, _source(call), _checked(call, make))


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
    **dict.fromkeys(_NAMED, _named),
    ACTIVATION: _named,
    "GELU": _named,
    "LEAKY_RELU": _named,
    "LOG_SOFTMAX": _softmax,
    "POW": _power,
    "PRELU": _prelu,
    "SOFTMAX": _softmax,
}
