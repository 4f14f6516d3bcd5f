"""Activation functions: objects that know their NumPy form, their range and their shader's constants.

A function may stand alone in a graph or be fused into the operator before it. A node names one by its text,
``NAME`` or ``NAME(NUMBER,...)``; ``activation`` returns the object, ``Activation.text`` the text. To add a function,
write its object, list it in ``FORMS``, and write ``shaders/activation_NAME.glsl``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from glsl_infer.graph import piecewise_linear as pieces
from glsl_infer.graph.activations import bent, clipped, powers, shrinking, sigmoids, smooth, waves
from glsl_infer.graph.activations.activation import Activation

__all__ = ["FORMS", "NAMES", "Activation", "Form", "activation"]

LARGEST = 1e30
"""Parameters are smaller, so that products with them stay within 32-bit floats."""


@dataclass(frozen=True)
class Form:
    """How a function is written: its parameters as a person reads them, and what makes it of the numbers."""

    parameters: str
    make: Callable[..., Activation]


def _only(function: Activation) -> Form:
    return Form("", lambda: function)


FORMS: Mapping[str, Form] = {
    "absolute": _only(powers.ABSOLUTE),
    "at_least": Form("(LOW)", powers.at_least),
    "at_most": Form("(HIGH)", powers.at_most),
    "bent_relu": Form("(SLOPE,THRESHOLD[,MAXIMUM])", bent.bent_relu),
    "celu": Form("(ALPHA)", shrinking.celu),
    "clip": Form("(LOW,HIGH)", powers.clip),
    "cos": _only(waves.COS),
    "elu": Form("(ALPHA)", smooth.elu),
    "exponential": _only(smooth.EXPONENTIAL),
    "gelu": _only(smooth.GELU),
    "gelu_tanh": _only(smooth.GELU_TANH),
    "hard_sigmoid": _only(sigmoids.HARD),
    "hard_shrink": Form("(THRESHOLD)", shrinking.hard_shrink),
    "hard_silu": _only(bent.HARD_SILU),
    "leaky_relu": Form("(SLOPE)", bent.leaky_relu),
    "linear": _only(clipped.LINEAR),
    "log": _only(powers.LOG),
    "log_sigmoid": _only(smooth.LOG_SIGMOID),
    "mish": _only(smooth.MISH),
    "piecewise_linear": Form(pieces.PARAMETERS, sigmoids.piecewise_linear),
    "piecewise_linear_sigmoid": _only(sigmoids.ARTICLE),
    "power": Form("(EXPONENT)", powers.power),
    "prelu": Form("(SLOPE,...)", bent.prelu),
    "reciprocal": _only(powers.RECIPROCAL),
    "relu": Form("[(MAXIMUM)]", clipped.relu),
    "rsqrt": _only(powers.RSQRT),
    "selu": Form("", smooth.selu),
    "sigmoid": _only(sigmoids.SIGMOID),
    "silu": _only(smooth.SILU),
    "sin": _only(waves.SIN),
    "soft_shrink": Form("(THRESHOLD)", shrinking.soft_shrink),
    "softplus": _only(smooth.SOFTPLUS),
    "softsign": _only(sigmoids.SOFTSIGN),
    "sparse_plus": _only(shrinking.SPARSE_PLUS),
    "sqrt": _only(powers.SQRT),
    "square": _only(powers.SQUARE),
    "squareplus": Form("(B)", shrinking.squareplus),
    "tanh": _only(sigmoids.TANH),
    "tanh_shrink": _only(shrinking.TANH_SHRINK),
    "threshold": Form("(LIMIT,VALUE)", shrinking.threshold),
}
"""Every activation by its name."""

NAMES = tuple(f"{name}{form.parameters}" for name, form in FORMS.items())

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]\d+)?")


@lru_cache(maxsize=4096)
def activation(text: str) -> Activation:
    """Return the activation that a text stands for: a name of ``FORMS``, with its parameters in parentheses.

    Raises:
        ValueError: there is none, or its numbers are not allowed.
    """
    name, opened, rest = text.partition("(")
    form = FORMS.get(name)
    if form is None:
        raise ValueError(f"no activation is called '{name:.60}'; there are: {', '.join(NAMES)}")
    texts = rest[:-1].split(",") if opened else []
    if (opened and not rest.endswith(")")) or not all(map(_NUMBER.fullmatch, texts)):
        raise _malformed(text, name, form)
    numbers = [float(number) for number in texts]
    if not all(math.isfinite(number) and abs(number) < LARGEST for number in numbers):
        raise ValueError(f"activation '{text:.60}': a number that is not finite, or too large")
    try:
        return form.make(*numbers)
    except TypeError:
        raise _malformed(text, name, form) from None


def _malformed(text: str, name: str, form: Form) -> ValueError:
    return ValueError(f"activation '{text:.60}' is not of the form {name}{form.parameters}")
