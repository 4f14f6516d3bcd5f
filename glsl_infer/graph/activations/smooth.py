"""Smooth activations: with exponentials, some of which are not monotonic, and waves."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from glsl_infer.graph.activations.activation import INFINITY, Activation
from glsl_infer.graph.activations.sigmoids import SIGMOID

if TYPE_CHECKING:
    from glsl_infer.graph.node import Array

SELU_ALPHA, SELU_SCALE = 1.6732632423543772, 1.0507009873554805
"""From G. Klambauer et al., Self-Normalizing Neural Networks, 2017."""

_erf = np.frompyfunc(math.erf, 1, 1)


def _gelu(x: Array) -> Array:
    y: Array = 0.5 * x * (1.0 + np.asarray(_erf(x * math.sqrt(0.5)), x.dtype))
    return y


def _gelu_tanh(x: Array) -> Array:
    return 0.5 * x * (1.0 + np.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * x**3)))


def _softplus(x: Array) -> Array:
    return np.maximum(x, 0.0) + np.log1p(np.exp(-np.abs(x)))


def _exponential(x: Array) -> Array:
    return np.exp(np.minimum(x, 80.0))  # exp(88.8) overflows a 32-bit float


SOFTPLUS = Activation("softplus", _softplus, 0.0, lowest_at=-20.0, slope=1.0)
"""``log(1 + exp(x))``."""

LOG_SIGMOID = Activation("log_sigmoid", lambda x: -_softplus(-x), -INFINITY, 0.0, slope=1.0)
"""``-log(1 + exp(-x))``."""

EXPONENTIAL = Activation("exponential", _exponential, 0.0, lowest_at=-20.0)

SILU = Activation("silu", lambda x: x * SIGMOID(x), -0.27846454276107374, extrema=(-1.27846454,), slope=1.09984)
"""``x / (1 + exp(-x))``, also called swish."""

GELU = Activation("gelu", _gelu, -0.16997120747990369, extrema=(-0.75179153,), slope=1.12891)
"""``x / 2 * (1 + erf(x / sqrt(2)))``."""

GELU_TANH = Activation("gelu_tanh", _gelu_tanh, -0.170040750571254, extrema=(-0.75246141,), slope=1.12900)
"""``x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x**3)))``."""

MISH = Activation(
    "mish", lambda x: x * np.tanh(_softplus(x)), -0.3088434130172504, extrema=(-1.19243120,), slope=1.08851
)
"""``x * tanh(log(1 + exp(x)))``."""


def elu(alpha: float) -> Activation:
    """Return ``x`` for x > 0 and ``alpha * (exp(x) - 1)`` below; for a negative alpha it falls there."""
    return _elu("elu", alpha, 1.0, (alpha,))


def selu() -> Activation:
    """Return a scaled ``elu`` whose two constants preserve mean and variance."""
    return _elu("selu", SELU_ALPHA, SELU_SCALE, ())


def _elu(name: str, alpha: float, scale: float, parameters: tuple[float, ...]) -> Activation:
    """Return ``scale * x`` above 0, and ``scale * alpha * (exp(x) - 1)`` below."""

    def function(x: Array) -> Array:
        return scale * (np.maximum(x, 0.0) + alpha * np.expm1(np.minimum(x, 0.0)))

    return Activation(
        name,
        function,
        -scale * max(alpha, 0.0),
        parameters=parameters,
        extrema=(0.0,) if alpha < 0.0 else (),
        slope=scale * max(1.0, abs(alpha)),
        constants={"ALPHA": scale * alpha, "SCALE": scale},
        template="activation_elu.glsl",
    )


def _wave(name: str, function: np.ufunc, phase: float, zero: float, turn: float) -> Activation:
    """Return a sine with a phase in turns, one of its zeros, and its maximum, both in radians."""
    return Activation(
        name,
        function,
        -1.0,
        1.0,
        extrema=(turn, turn + math.pi),
        period=2.0 * math.pi,
        lowest_at=zero,
        slope=1.0,
        constants={"PHASE": phase},
        template="activation_sine.glsl",
    )


SIN = _wave("sin", np.sin, 0.25, 0.0, math.pi / 2.0)

COS = _wave("cos", np.cos, 0.5, math.pi / 2.0, 0.0)
