"""Elementwise powers, roots, logarithm, absolute value and limits.

Shaders store finite values only. Where a function is undefined or infinite, it has the value at the nearest input with
a finite one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from glsl_infer.graph.activations.activation import INFINITY, Activation, Constant
from glsl_infer.graph.activations.clipped import LINEAR

if TYPE_CHECKING:
    from glsl_infer.graph.node import Array

SMALLEST_ARGUMENT = 2.0**-40
"""Smallest argument of logarithms, reciprocals and roots in a denominator. Smaller arguments count as this value."""

LARGEST_RESULT = 1e30
"""Upper limit of a power, within the range of 32-bit floats."""

LARGEST_POWER = 8.0
"""Largest exponent. Results of a larger one would exceed the range of 32-bit floats."""

LOWEST_POWER = -2.0
"""Lowest exponent, with the same reason."""

_BEFORE_0 = float(np.nextafter(0.0, -1.0))

ABSOLUTE = Activation("absolute", np.abs, 0.0, extrema=(0.0,), scales=True, slope=1.0)

SQUARE = Activation("square", np.square, 0.0, extrema=(0.0,))

SQRT = Activation("sqrt", lambda x: np.sqrt(np.maximum(x, 0.0)), 0.0)
"""``sqrt(max(x, 0))``."""

RSQRT = Activation(
    "rsqrt", lambda x: 1.0 / np.sqrt(np.maximum(x, SMALLEST_ARGUMENT)), 0.0, extrema=(SMALLEST_ARGUMENT,)
)
"""``1 / sqrt(max(x, LEAST))``."""

LOG = Activation("log", lambda x: np.log(np.maximum(x, SMALLEST_ARGUMENT)))
"""``log(max(x, LEAST))``, the natural logarithm."""


def _reciprocal(x: Array) -> Array:
    return np.where(x < 0.0, -1.0, 1.0) / np.maximum(np.abs(x), SMALLEST_ARGUMENT)


RECIPROCAL = Activation("reciprocal", _reciprocal, extrema=(_BEFORE_0, 0.0))
"""``sign(x) / max(abs(x), LEAST)`` with sign(0) = 1; discontinuous at 0."""


def power(exponent: float) -> Activation:
    """Return ``x ** exponent``, or ``max(x, 0) ** exponent`` if the exponent is not an integer.

    Raises:
        ValueError: the exponent is 0, or its powers exceed the range of 32-bit floats.
    """
    if not exponent or not LOWEST_POWER <= exponent <= LARGEST_POWER:
        raise ValueError(f"a power of {exponent:g}; give one from {LOWEST_POWER:g} to {LARGEST_POWER:g}, not 0")
    special_cases = {1.0: LINEAR, 2.0: SQUARE, 0.5: SQRT, -0.5: RSQRT, -1.0: RECIPROCAL}
    if exponent in special_cases:
        return special_cases[exponent]
    is_whole = exponent == int(exponent)
    is_odd = bool(is_whole and exponent % 2)

    def function(x: Array) -> Array:
        size = np.abs(x) if is_whole else np.maximum(x, 0.0)
        with np.errstate(over="ignore"):
            y = np.minimum(np.maximum(size, SMALLEST_ARGUMENT) ** exponent, LARGEST_RESULT)
        y = np.where(size < SMALLEST_ARGUMENT, 0.0, y) if exponent > 0.0 else y
        return np.where(x < 0.0, -y, y) if is_odd else y

    flags = {"WHOLE": is_whole, "ODD": is_odd, "NEGATIVE": exponent < 0.0}
    constants: dict[str, Constant] = {name: 1.0 for name, flag in flags.items() if flag}
    quarters = 4.0 * (exponent - np.floor(exponent))
    if quarters == int(quarters):
        constants |= {"WHOLES": float(abs(np.floor(exponent))), "QUARTERS": float(quarters)}
    else:
        constants["EXPONENT"] = exponent
    extrema: tuple[float, ...] = (0.0,) if is_whole and not is_odd else ()
    extrema = (SMALLEST_ARGUMENT,) if exponent < 0.0 and not is_whole else extrema
    return Activation(
        "power", function, -INFINITY if is_odd else 0.0, parameters=(exponent,), extrema=extrema, constants=constants
    )


def clip(low: float, high: float) -> Activation:
    """Return ``min(max(x, low), high)``.

    Raises:
        ValueError: low is not less than high.
    """
    if not low < high:
        raise ValueError(f"a clip to {low:g} and {high:g}; the first must be less")
    return _limited("clip", low, high, (low, high))


def at_least(low: float) -> Activation:
    """Return ``max(x, low)``."""
    return _limited("at_least", low, INFINITY, (low,))


def at_most(high: float) -> Activation:
    """Return ``min(x, high)``."""
    return _limited("at_most", -INFINITY, high, (high,))


def _limited(name: str, low: float, high: float, parameters: tuple[float, ...]) -> Activation:
    limits = {"LOW": low, "HIGH": high}
    return Activation(
        name,
        lambda x: np.clip(x, x.dtype.type(low), x.dtype.type(high)),
        low,
        high,
        parameters,
        slope=1.0,
        constants={key: limit for key, limit in limits.items() if np.isfinite(limit)},
        template="activation_clip.glsl",
    )
