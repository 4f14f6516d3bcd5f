"""Sine and cosine, the periodic activations."""

from __future__ import annotations

import math

import numpy as np

from glsl_infer.graph.activations.activation import Activation


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
