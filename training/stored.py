"""Approximate effect of 8-bit storage of feature maps on a network, before its export.

Between passes the engine stores a feature map as bytes: each channel has an affine range, calibrated on images, and
values are rounded to the nearest of 256 steps. A network that is built with a *hook*, a function called on each stored
tensor, can be rebuilt with this rounding:

    ranges = calibrate(build, weights, pictures)
    rounded = build(rounding(ranges))
    rounded.set_weights(weights)

Fusions that avoid a store, and the exact ranges of the exporter, are not modelled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import keras
import numpy as np
from keras import ops
from numpy.typing import NDArray

Hook = Callable[[Any], Any]
Build = Callable[[Hook], keras.Model]


class Range(NamedTuple):
    """Smallest and largest value of each channel of a stored tensor."""

    low: NDArray[np.float32]
    high: NDArray[np.float32]


@keras.saving.register_keras_serializable(package="glsl_infer_training")
class StoredIn8Bits(keras.layers.Layer):  # type: ignore[misc]
    """Round each channel to 256 steps between its limits, with clipping.

    The range is widened to contain 0, and 0 is one of the steps, because convolutions pad with 0.
    """

    def __init__(self, low: Any, high: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.low, self.high = np.asarray(low, np.float32), np.asarray(high, np.float32)
        low, high = np.minimum(self.low, 0.0), np.maximum(self.high, 0.0)
        span = high - low
        self._step = np.where(span > 0, span, 1.0).astype(np.float32) / np.float32(255.0)
        self._zero = np.round(-low / self._step)

    def call(self, inputs: Any) -> Any:
        """Round ``(..., channels)``."""
        stored = ops.clip(ops.round(inputs / self._step + self._zero), 0.0, 255.0)
        return (stored - self._zero) * self._step

    def compute_output_shape(self, input_shape: Any) -> Any:
        """Return ``input_shape``: the layer works elementwise."""
        return input_shape

    def get_config(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        return {**super().get_config(), "low": self.low.tolist(), "high": self.high.tolist()}


def calibrate(build: Build, weights: list[NDArray[np.float32]], pictures: NDArray[np.float32]) -> list[Range]:
    """Return the range of each stored tensor over ``pictures``, ``(n, height, width, 3)`` in [0, 1]."""
    tensors: list[Any] = []

    def record(tensor: Any) -> Any:
        tensors.append(tensor)
        return tensor

    model = build(record)
    model.set_weights(weights)
    outputs = keras.Model(model.input, tensors).predict(pictures, verbose=0)
    return [Range(output.min(axis=(0, 1, 2)), output.max(axis=(0, 1, 2))) for output in outputs]


def rounding(ranges: list[Range]) -> Hook:
    """Return a hook for one build that rounds the stored tensors to these ranges, in order."""
    layers = iter([StoredIn8Bits(*limits) for limits in ranges])

    def rounded(tensor: Any) -> Any:
        return next(layers)(tensor)

    return rounded
