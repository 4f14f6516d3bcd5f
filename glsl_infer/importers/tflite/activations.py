"""Activation functions -> nodes."""

from __future__ import annotations

from glsl_infer.graph import Node
from glsl_infer.graph.activations import Activation, bent, smooth
from glsl_infer.importers.tflite.call import Call, Converter, function

_NAMED = {
    "ELU": "elu(1)",
    "EXP": "exponential",
    "HARD_SWISH": "hard_silu",
    "LOGISTIC": "sigmoid",
    "RELU": "relu",
    "RELU6": "relu(6)",
    "RELU_N1_TO_1": "relu_n1_to_1",
    "RELU_0_TO_1": "relu(1)",
    "TANH": "tanh",
}


def _named(call: Call) -> list[Node]:
    return function(call.name, _source(call), _NAMED[call.kind])


def _leaky(call: Call) -> list[Node]:
    return _made(call, bent.leaky_relu(float(call.option("Alpha"))))


def _gelu(call: Call) -> list[Node]:
    return _made(call, smooth.GELU_TANH if call.option("Approximate", False) else smooth.GELU)


def _prelu(call: Call) -> list[Node]:
    slopes = call.constant(1, "slopes")
    per_channel = slopes.reshape(-1, slopes.shape[-1] if slopes.ndim else 1)
    if (per_channel != per_channel[0]).any():
        advice = "give the layer one slope for each channel (Keras: shared_axes=[1, 2])"
        raise call.refused(f"slopes of its own for each pixel, {slopes.shape}", advice)
    return _made(call, bent.prelu(*(float(slope) for slope in per_channel[0])))


def _softmax(call: Call) -> list[Node]:
    beta = float(call.option("Beta", 1.0))
    if beta == 1.0:
        return [Node(call.name, "softmax", (_source(call),))]
    scaled = Node(call.name, "rescaling", (_source(call),), {"scales": (beta,), "offsets": (0.0,)})
    return [scaled, Node(f"{call.name}-softmax", "softmax", (call.name,))]


def _made(call: Call, activation: Activation) -> list[Node]:
    try:
        return function(call.name, _source(call), activation.text)
    except ValueError as error:
        raise call.refused(str(error), "its numbers must be finite") from None


def _source(call: Call) -> str:
    if not call.inputs:
        raise call.refused("of a constant", "the file is damaged; convert the model anew")
    return call.inputs[0]


CONVERTERS: dict[str, Converter] = {
    **dict.fromkeys(_NAMED, _named),
    "GELU": _gelu,
    "LEAKY_RELU": _leaky,
    "PRELU": _prelu,
    "SOFTMAX": _softmax,
}
