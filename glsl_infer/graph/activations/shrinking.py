"""Rare activations of Keras: shrinkage functions, and smooth forms of ReLU."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from glsl_infer.graph.activations.activation import INFINITY, Activation

if TYPE_CHECKING:
    from glsl_infer.graph.node import Array

TANH_SHRINK = Activation("tanh_shrink", lambda x: x - np.tanh(x), slope=1.0)
"""``x - tanh(x)``."""

SPARSE_PLUS = Activation(
    "sparse_plus", lambda x: np.where(x > 1.0, x, np.square(np.clip(x + 1.0, 0.0, 2.0)) / 4.0), 0.0, slope=1.0
)
"""0 for x <= -1, ``(x + 1)**2 / 4`` for -1 < x <= 1, and ``x`` above."""


def celu(alpha: float) -> Activation:
    """Return ``x`` for x > 0 and ``alpha * (exp(x / alpha) - 1)`` below.

    Raises:
        ValueError: alpha is not positive.
    """
    _require_positive("a celu with an alpha", alpha)

    def function(x: Array) -> Array:
        return np.maximum(x, 0.0) + alpha * np.expm1(np.minimum(x, 0.0) / alpha)

    return Activation("celu", function, -alpha, parameters=(alpha,), slope=1.0, constants={"ALPHA": alpha})


def soft_shrink(threshold: float) -> Activation:
    """Return ``x`` moved toward 0 by the threshold, and 0 between -threshold and threshold.

    Raises:
        ValueError: the threshold is not positive.
    """
    _require_positive("a soft_shrink with a threshold", threshold)
    return Activation(
        "soft_shrink",
        lambda x: x - np.clip(x, -threshold, threshold),
        parameters=(threshold,),
        slope=1.0,
        constants={"THRESHOLD": threshold},
    )


def hard_shrink(threshold: float) -> Activation:
    """Return ``x`` if abs(x) > threshold, else 0. It is discontinuous.

    Raises:
        ValueError: the threshold is not positive.
    """
    _require_positive("a hard_shrink with a threshold", threshold)
    return Activation(
        "hard_shrink",
        lambda x: np.where(np.abs(x) > threshold, x, 0.0),
        parameters=(threshold,),
        slope=1.0,
        constants={"THRESHOLD": threshold},
    )


def threshold(limit: float, value: float) -> Activation:
    """Return ``x`` if x > limit, else ``value``. It is discontinuous unless both are equal."""
    above_limit = float(np.nextafter(limit, INFINITY))
    return Activation(
        "threshold",
        lambda x: np.where(x > limit, x, value),
        min(limit, value),
        parameters=(limit, value),
        extrema=(limit, above_limit) if value > limit else (),
        slope=1.0,
        constants={"THRESHOLD": limit, "VALUE": value},
    )


def squareplus(b: float) -> Activation:
    """Return ``(x + sqrt(x**2 + b)) / 2``.

    Raises:
        ValueError: b is not positive.
    """
    _require_positive("a squareplus with a b", b)

    def function(x: Array) -> Array:
        root = np.sqrt(np.square(x) + b)
        return np.where(x > 0.0, 0.5 * (x + root), 0.5 * b / (root + np.abs(x)))

    return Activation("squareplus", function, 0.0, parameters=(b,), slope=1.0, lowest_at=-3e4, constants={"B": b})


def _require_positive(parameter: str, value: float) -> None:
    if not value > 0.0:
        raise ValueError(f"{parameter} of {value:g}; it must be positive")
