"""ReLU variants with linear segments, and hard silu."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from glsl_infer.graph.activations.activation import INFINITY, Activation, Constant

if TYPE_CHECKING:
    from glsl_infer.graph.node import Array

HARD_SILU = Activation(
    "hard_silu", lambda x: x * np.clip(x / 6.0 + 0.5, 0.0, 1.0), -0.375, extrema=(-3.0, -1.5), slope=1.5
)
"""``x * clip(x / 6 + 1/2, 0, 1)``, also called hard swish; it falls between -3 and -1.5."""


def leaky_relu(slope: float) -> Activation:
    """Return ``x`` for x > 0 and ``slope * x`` below, for any slope."""
    return _bent_at_zero("leaky_relu", (slope,), slope)


def prelu(*slopes: float) -> Activation:
    """Return ``x`` for x > 0 and ``slope * x`` below, with a slope for each channel.

    Equal slopes make a ``leaky_relu``, whose shaders are the same for all channels.
    """
    if not slopes:
        raise TypeError("at least one slope")
    if len(set(slopes)) == 1:
        return leaky_relu(slopes[0])
    return _bent_at_zero("prelu", slopes, slopes)


def _bent_at_zero(name: str, slopes: tuple[float, ...], constant: Constant) -> Activation:
    """Return the identity with other slopes below 0: ``slopes`` are those of its text, ``constant`` of its values."""

    def function(x: Array) -> Array:
        y: Array = np.minimum(x, 0.0)  # in place from here on, which is faster than np.where
        y *= np.asarray(constant, x.dtype)
        y += np.maximum(x, 0.0)
        return y

    macros: dict[str, Constant] = {"SLOPE": constant}
    if max(slopes) <= 1.0:
        macros["FLATTER"] = 1.0
    return Activation(
        name,
        function,
        0.0 if max(slopes) <= 0.0 else -INFINITY,
        INFINITY,
        slopes,
        extrema=(0.0,) if min(slopes) < 0.0 else (),
        scales=True,
        slope=max(1.0, *(abs(slope) for slope in slopes)),
        constants=macros,
        template="activation_leaky_relu.glsl",
    )


def bent_relu(slope: float, threshold: float, maximum: float = INFINITY) -> Activation:
    """Return Keras' ReLU with all options: ``min(x, maximum)``, and ``slope * (x - threshold)`` below the threshold.

    With a threshold other than 0 it is discontinuous, and drivers differ in the value at the threshold.

    Raises:
        ValueError: the maximum is not positive, or not above the threshold.
    """
    if not maximum > max(threshold, 0.0):
        raise ValueError(f"a relu with a maximum of {maximum:g}; it must be above 0 and above the threshold")

    def function(x: Array) -> Array:
        return np.where(x < threshold, slope * (x - threshold), np.minimum(x, maximum))

    limit = {} if maximum == INFINITY else {"MAXIMUM": maximum}
    below_threshold = float(np.nextafter(threshold, -INFINITY))
    lowest = -INFINITY if slope > 0.0 else min(0.0, threshold)
    return Activation(
        "bent_relu",
        function,
        lowest,
        INFINITY if slope < 0.0 else maximum,
        (slope, threshold, *limit.values()),
        extrema=(below_threshold, threshold) if slope < 0.0 or threshold < 0.0 else (),
        slope=max(1.0, abs(slope)),
        constants={"SLOPE": slope, "THRESHOLD": threshold, **limit},
    )
