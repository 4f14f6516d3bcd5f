"""Clipping activations. A saturating store of a feature map computes them without instructions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from glsl_infer.graph.activations.activation import INFINITY, Activation

if TYPE_CHECKING:
    from glsl_infer.graph.node import Array

LINEAR = Activation("linear", lambda x: x, clips=True, slope=1.0, scales=True)
"""``x``."""


def relu(maximum: float = INFINITY) -> Activation:
    """Return ``min(max(x, 0), maximum)``.

    Raises:
        ValueError: the maximum is not positive.
    """
    if not maximum > 0.0:
        raise ValueError(f"a relu with a maximum of {maximum:g}; it must be positive")

    def function(x: Array) -> Array:
        return np.clip(x, x.dtype.type(0.0), x.dtype.type(maximum))

    if maximum == INFINITY:
        return Activation("relu", function, 0.0, clips=True, slope=1.0, scales=True)
    return Activation(
        "relu",
        function,
        0.0,
        maximum,
        parameters=(maximum,),
        clips=True,
        slope=1.0,
        constants={"MAXIMUM": maximum},
        template="activation_limited_relu.glsl",
    )
