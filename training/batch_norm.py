"""Recalibration of batch normalisation statistics."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops
from numpy.typing import NDArray


class Recalibrator(keras.Model):  # type: ignore[misc]
    """Replaces the running mean and variance of all batch norms of a network by their mean over batches.

    Running statistics are delayed relative to changing weights, and include augmented images. The mean over a few
    batches of unmodified images, with final weights, matches the network's later inputs.

    Args:
        network: its weights do not change.
        scale: factor of pixels before the network reads them.
    """

    def __init__(self, network: keras.Model, *, scale: float = 1.0 / 255.0) -> None:
        super().__init__(dtype="float32")
        self.network, self.scale = network, scale
        self._norms = [layer for layer in network.layers if isinstance(layer, keras.layers.BatchNormalization)]

    def call(self, pixels: Any) -> Any:
        """Return float32 (1, n): mean and variance of each batch norm over one batch, concatenated."""
        momenta = [layer.momentum for layer in self._norms]
        for layer in self._norms:
            layer.momentum = 0.0
        try:
            self.network(ops.cast(pixels, "float32") * self.scale, training=True)
        finally:
            for layer, momentum in zip(self._norms, momenta):
                layer.momentum = momentum
        values = [ops.convert_to_tensor(value) for layer in self._norms for value in _statistics(layer)]
        return ops.concatenate(values)[None]

    def recalibrate(self, pixels: NDArray[Any], batch: int) -> None:
        """Set the statistics to their mean over the complete batches of ``pixels``, (n, height, width, 3)."""
        complete_batches = max(len(pixels) // batch, 1) * batch
        averages = self.predict(pixels[:complete_batches], batch_size=batch, verbose=0).mean(axis=0)
        position = 0
        for layer in self._norms:
            for value in _statistics(layer):
                value.assign(averages[position : position + value.shape[0]])
                position += value.shape[0]


def _statistics(layer: keras.layers.BatchNormalization) -> tuple[Any, Any]:
    return layer.moving_mean, layer.moving_variance
