"""What the CPU does with an output after the last pass."""

from __future__ import annotations

import numpy as np

from glsl_infer.graph.node import Array


def softmax(x: Array) -> Array:
    """Return probabilities along the last axis; the largest logit is subtracted first."""
    exponentials = np.exp(x - x.max(axis=-1, keepdims=True))
    probabilities: Array = exponentials / exponentials.sum(axis=-1, keepdims=True)
    return probabilities
