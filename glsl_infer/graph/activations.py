"""Activation functions: the NumPy reference, the range, and the shader that computes each.

A function may stand alone in a graph or be fused into the operator before it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from glsl_infer.graph import piecewise_linear

if TYPE_CHECKING:
    from glsl_infer.graph.node import Array


@dataclass(frozen=True)
class Activation:
    """One function.

    Attributes:
        reference: the function in NumPy, in the type of its argument; it never decreases.
        low, high: its range.
        zero: an input of its shader at which that is exactly 0 in 8 bits; what pad lanes hold before it.
        template: its shader in shaders/.
        clips: whether it only clips: to its range, and is ``x`` within. A store that saturates at the ends of the
            range does the same, so that a feature map needs no instruction for it.
        factor, offset: what weights do to ``x`` in advance where a feature map is made.
        rest: name of the function that is then left to the shader; none where that is the whole function.
    """

    reference: Callable[[Array], Array]
    low: float
    high: float
    zero: float
    template: str
    clips: bool = False
    factor: float = 1.0
    offset: float = 0.0
    rest: str = ""


def piecewise_linear_sigmoid(x: Array) -> Array:
    """Return ``clip(0.05x + clip(0.1x, -0.05, 0.05) + clip(0.05x, -0.125, 0.125), -0.5, 0.5) + 0.5``."""
    inner = 0.05 * x + np.clip(0.1 * x, -0.05, 0.05) + np.clip(0.05 * x, -0.125, 0.125)
    y: Array = (np.clip(inner, -0.5, 0.5) + 0.5).astype(x.dtype)
    return y


def sigmoid(x: Array) -> Array:
    """Return ``1 / (1 + exp(-x))``, computed without overflow."""
    y: Array = (0.5 * (1.0 + np.tanh(0.5 * x))).astype(x.dtype)
    return y


def hard_sigmoid(x: Array) -> Array:
    """Return ``clip(x / 6 + 1/2, 0, 1)``, as Keras 3 defines it."""
    y: Array = np.clip(x / 6.0 + 0.5, 0.0, 1.0).astype(x.dtype)
    return y


def relu(x: Array) -> Array:
    """Return ``max(x, 0)``."""
    return np.maximum(x, np.zeros((), x.dtype))


def linear(x: Array) -> Array:
    """Return ``x``."""
    return x


def activation(name: str) -> Activation:
    """Return the activation called ``name``: one of ``NAMES``, with numbers in place of the capitals.

    Raises:
        ValueError: there is none, or its numbers are not allowed.
    """
    known = _limited(name) or _piecewise_linear(name)
    if known is None:
        raise ValueError(f"no activation is called '{name}'; there are: {', '.join(NAMES)}")
    return known


def limited_relu(maximum: float) -> str:
    """Return the name of ``min(max(x, 0), maximum)``."""
    return f"relu({maximum:.9g})"


@cache
def _limited(name: str) -> Activation | None:
    if name in _PLAIN:
        return _PLAIN[name]
    match = re.fullmatch(r"relu\((\d+(?:\.\d+)?(?:e[+-]\d+)?)\)", name)
    if match is None or not 0.0 < float(match[1]) < 1e30:
        return None
    maximum = float(match[1])

    def reference(x: Array) -> Array:
        y: Array = np.clip(x, x.dtype.type(0.0), x.dtype.type(maximum))
        return y

    return Activation(reference, 0.0, maximum, 0.0, "activation_limited_relu.glsl", clips=True)


@cache
def _piecewise_linear(name: str) -> Activation | None:
    function = piecewise_linear.parse(name)
    if function is None:
        return None
    rest = function.folded.name if function.clamps else "linear"
    template, zero = "activation_piecewise_linear.glsl", piecewise_linear.ZERO
    return Activation(function, 0.0, 1.0, zero, template, False, function.factor, function.offset, rest)


INFINITY = float("inf")

_PLAIN: dict[str, Activation] = {
    "linear": Activation(linear, -INFINITY, INFINITY, 0.0, "activation_linear.glsl", clips=True),
    "piecewise_linear_sigmoid": Activation(
        piecewise_linear_sigmoid, 0.0, 1.0, -100.0, "activation_piecewise_linear_sigmoid.glsl"
    ),
    "hard_sigmoid": Activation(hard_sigmoid, 0.0, 1.0, -100.0, "activation_hard_sigmoid.glsl"),
    "sigmoid": Activation(sigmoid, 0.0, 1.0, -50.0, "activation_sigmoid.glsl"),
    "relu": Activation(relu, 0.0, INFINITY, 0.0, "activation_relu.glsl", clips=True),
}

NAMES = (*sorted(_PLAIN), "relu(MAXIMUM)", piecewise_linear.FORM)
