"""Sigmoids: increasing functions between two bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from glsl_infer.graph.activations.activation import Activation
from glsl_infer.graph.piecewise_linear import HARD_SIGMOID, SEVEN_PIECES, Clamp, PiecewiseLinear

if TYPE_CHECKING:
    from glsl_infer.graph.node import Array


def _sigmoid(x: Array) -> Array:
    y: Array = 0.5 * (1.0 + np.tanh(0.5 * x))  # 1 / (1 + exp(-x)), without overflow
    return y


def _seven_pieces(x: Array) -> Array:
    inner = 0.05 * x + np.clip(0.1 * x, -0.05, 0.05) + np.clip(0.05 * x, -0.125, 0.125)
    y: Array = np.clip(inner, -0.5, 0.5) + 0.5
    return y


SIGMOID = Activation("sigmoid", _sigmoid, 0.0, 1.0, lowest_at=-20.0, slope=0.25)
"""``1 / (1 + exp(-x))``."""

HARD = Activation(
    "hard_sigmoid", lambda x: np.clip(x / 6.0 + 0.5, 0.0, 1.0), 0.0, 1.0, lowest_at=-9.0, pieces=HARD_SIGMOID
)
"""``clip(x / 6 + 1/2, 0, 1)``, as Keras 3 defines it."""

ARTICLE = Activation("piecewise_linear_sigmoid", _seven_pieces, 0.0, 1.0, lowest_at=-20.0, pieces=SEVEN_PIECES)
"""``clip(0.05x + clip(0.1x, -0.05, 0.05) + clip(0.05x, -0.125, 0.125), -0.5, 0.5) + 0.5``."""

TANH = Activation("tanh", np.tanh, -1.0, 1.0, slope=1.0)

SOFTSIGN = Activation("softsign", lambda x: x / (1.0 + np.abs(x)), -1.0, 1.0, slope=1.0)
"""``x / (1 + |x|)``."""


def piecewise_linear(factor: float, offset: float, *clamps: float) -> Activation:
    """Return ``clip(z + sum of clip(f z, low, high), 0, 1)`` with ``z = factor * x + offset``.

    Args:
        factor: coefficient of ``x``, positive.
        offset: constant term of ``z``.
        clamps: f, low and high of each term.

    Raises:
        ValueError: a coefficient is out of its range; ``graph.piecewise_linear`` has the ranges.
    """
    if len(clamps) % 3:
        raise TypeError("each clamp has three numbers")
    terms = tuple(Clamp(*clamps[start : start + 3]) for start in range(0, len(clamps), 3))
    return of_pieces(PiecewiseLinear(factor, offset, terms))


def of_pieces(function: PiecewiseLinear) -> Activation:
    """Return the activation of a piecewise-linear function."""
    numbers = (function.factor, function.offset, *(bound for clamp in function.clamps for bound in clamp))
    return Activation("piecewise_linear", function, 0.0, 1.0, numbers, lowest_at=function.zero_at, pieces=function)
