"""Batch normalisation statistics, measured afresh."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops
from numpy.typing import NDArray


class Recalibrator(keras.Model):  # type: ignore[misc]
    """Replaces the running mean and variance of every batch norm of a network by their plain average over batches.

    Running statistics lag behind weights that still move, and were taken from varied pictures; the average over a few
    batches of pictures as they are, with the weights as they are, fits what the network will be given.

    Args:
        network: its weights stay as they are.
        scale: what pixels are multiplied by before the network reads them: bytes are shares of 255.
    """

    def __init__(self, network: keras.Model, *, scale: float = 1.0 / 255.0) -> None:
        super().__init__(dtype="float32")
        self.network, self.scale = network, scale
        self._norms = [layer for layer in network.layers if isinstance(layer, keras.layers.BatchNormalization)]

    def call(self, pixels: Any) -> Any:
        """Return float32 (1, n): mean and variance of every batch norm, one after the other, over one batch."""
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
        """Set the statistics to their average over all whole batches of ``pixels``, (n, height, width, 3)."""
        whole = max(len(pixels) // batch, 1) * batch
        averages = self.predict(pixels[:whole], batch_size=batch, verbose=0).mean(axis=0)
        place = 0
        for layer in self._norms:
            for value in _statistics(layer):
                value.assign(averages[place : place + value.shape[0]])
                place += value.shape[0]


def _statistics(layer: keras.layers.BatchNormalization) -> tuple[Any, Any]:
    return layer.moving_mean, layer.moving_variance
