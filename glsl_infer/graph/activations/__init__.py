"""Activation functions, and their text form.

A node names its activation by text, ``NAME`` or ``NAME(NUMBER,...)``. ``activation`` parses it, and ``Activation.text``
is the inverse. An activation can be a node or be fused into the operator before it. To add one, write its object, list
it in ``FORMS``, and write ``shaders/activation_NAME.glsl``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from glsl_infer.graph import piecewise_linear as pieces
from glsl_infer.graph.activations import bent, clipped, powers, shrinking, sigmoids, smooth
from glsl_infer.graph.activations.activation import Activation

__all__ = ["FORMS", "NAMES", "Activation", "Form", "activation"]

LARGEST = 1e30
"""Limit of parameters, which keeps products within the range of 32-bit floats."""


@dataclass(frozen=True)
class Form:
    """Syntax of the parameters of an activation, and its constructor."""

    parameters: str
    make: Callable[..., Activation]


def _without_parameters(function: Activation) -> Form:
    return Form("", lambda: function)


FORMS: Mapping[str, Form] = {
    "absolute": _without_parameters(powers.ABSOLUTE),
    "at_least": Form("(LOW)", powers.at_least),
    "at_most": Form("(HIGH)", powers.at_most),
    "bent_relu": Form("(SLOPE,THRESHOLD[,MAXIMUM])", bent.bent_relu),
    "celu": Form("(ALPHA)", shrinking.celu),
    "clip": Form("(LOW,HIGH)", powers.clip),
    "cos": _without_parameters(smooth.COS),
    "elu": Form("(ALPHA)", smooth.elu),
    "exponential": _without_parameters(smooth.EXPONENTIAL),
    "gelu": _without_parameters(smooth.GELU),
    "gelu_tanh": _without_parameters(smooth.GELU_TANH),
    "hard_sigmoid": _without_parameters(sigmoids.HARD),
    "hard_shrink": Form("(THRESHOLD)", shrinking.hard_shrink),
    "hard_silu": _without_parameters(bent.HARD_SILU),
    "leaky_relu": Form("(SLOPE)", bent.leaky_relu),
    "linear": _without_parameters(clipped.LINEAR),
    "log": _without_parameters(powers.LOG),
    "log_sigmoid": _without_parameters(smooth.LOG_SIGMOID),
    "mish": _without_parameters(smooth.MISH),
    "piecewise_linear": Form(pieces.PARAMETERS, sigmoids.piecewise_linear),
    "piecewise_linear_sigmoid": _without_parameters(sigmoids.ARTICLE),
    "power": Form("(EXPONENT)", powers.power),
    "prelu": Form("(SLOPE,...)", bent.prelu),
    "reciprocal": _without_parameters(powers.RECIPROCAL),
    "relu": Form("[(MAXIMUM)]", clipped.relu),
    "rsqrt": _without_parameters(powers.RSQRT),
    "selu": Form("", smooth.selu),
    "sigmoid": _without_parameters(sigmoids.SIGMOID),
    "silu": _without_parameters(smooth.SILU),
    "sin": _without_parameters(smooth.SIN),
    "soft_shrink": Form("(THRESHOLD)", shrinking.soft_shrink),
    "softplus": _without_parameters(smooth.SOFTPLUS),
    "softsign": _without_parameters(sigmoids.SOFTSIGN),
    "sparse_plus": _without_parameters(shrinking.SPARSE_PLUS),
    "sqrt": _without_parameters(powers.SQRT),
    "square": _without_parameters(powers.SQUARE),
    "squareplus": Form("(B)", shrinking.squareplus),
    "tanh": _without_parameters(sigmoids.TANH),
    "tanh_shrink": _without_parameters(shrinking.TANH_SHRINK),
    "threshold": Form("(LIMIT,VALUE)", shrinking.threshold),
}
"""Activations by name."""

NAMES = tuple(f"{name}{form.parameters}" for name, form in FORMS.items())

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]\d+)?")


@lru_cache(maxsize=4096)
def activation(text: str) -> Activation:
    """Parse the text form of an activation: a name of ``FORMS``, with its parameters in parentheses.

    Raises:
        ValueError: the name is unknown, or a parameter is not allowed.
    """
    name, opened, parameters = text.partition("(")
    form = FORMS.get(name)
    if form is None:
        raise ValueError(f"no activation is called '{name:.60}'; there are: {', '.join(NAMES)}")
    texts = parameters[:-1].split(",") if opened else []
    if (opened and not parameters.endswith(")")) or not all(map(_NUMBER.fullmatch, texts)):
        raise _malformed(text, name, form)
    numbers = [float(parameter) for parameter in texts]
    if not all(math.isfinite(parameter) and abs(parameter) < LARGEST for parameter in numbers):
        raise ValueError(f"activation '{text:.60}': a number that is not finite, or too large")
    try:
        return form.make(*numbers)
    except TypeError:
        raise _malformed(text, name, form) from None


def _malformed(text: str, name: str, form: Form) -> ValueError:
    return ValueError(f"activation '{text:.60}' is not of the form {name}{form.parameters}")
