"""Validation of a network with some weights on the val split."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import keras
import numpy as np
from keras import ops
from numpy.typing import NDArray

from training.averaging import Weights
from training.batch_norm import Recalibrator

RECALIBRATION_PICTURES = 1280


@dataclass(frozen=True)
class Score:
    """Cross entropy in nats, and accuracy of the first label."""

    loss: float
    accuracy: float

    @property
    def rank(self) -> tuple[float, float]:
        """Sort key of scores; higher is better."""
        return self.accuracy, -self.loss


class Reader(keras.Model):  # type: ignore[misc]
    """A network with bytes as input."""

    def __init__(self, network: keras.Model) -> None:
        super().__init__(dtype="float32")
        self.network = network

    def call(self, pixels: Any) -> Any:
        """Return the network's output for uint8 (batch, height, width, 3)."""
        return self.network(ops.cast(pixels, "float32") * (1.0 / 255.0), training=False)


class Validator:
    """Scores weights on the val split, after recalibration of batch norm's statistics.

    Args:
        network: in the form of the saved model: float32, full size.
        typical: training images without augmentation, uint8 (n, size, size, 3), for batch norm.
        pixels: the val split, uint8 (n, size, size, 3).
        labels: int64 (n,).
        batch: images at a time.
    """

    def __init__(
        self,
        network: keras.Model,
        typical: NDArray[np.uint8],
        pixels: NDArray[np.uint8],
        labels: NDArray[np.int64],
        batch: int,
    ) -> None:
        self.network, self.labels, self.batch = network, labels, batch
        self._typical, self._pixels = typical, whole_batches(pixels, batch)
        self._recalibrator, self._reader = Recalibrator(network), Reader(network)

    def score(self, weights: Weights) -> Score:
        """Set the trainable weights of ``network``, recalibrate it, and return its score."""
        for variable, value in zip(self.network.trainable_variables, weights):
            variable.assign(value)
        self._recalibrator.recalibrate(self._typical, self.batch)
        logits = self._reader.predict(self._pixels, batch_size=self.batch, verbose=0)[: len(self.labels)]
        return Score(cross_entropy(logits, self.labels), float(np.mean(logits.argmax(axis=1) == self.labels)))


def whole_batches(pixels: NDArray[np.uint8], batch: int) -> NDArray[np.uint8]:
    """Pad with the last image to complete batches, because each new shape needs a long compilation."""
    missing = -len(pixels) % batch
    return np.concatenate([pixels, np.repeat(pixels[-1:], missing, axis=0)]) if missing else pixels


def cross_entropy(logits: NDArray[np.float32], labels: NDArray[np.int64]) -> float:
    """Return the mean cross entropy in nats of logits (n, classes) with labels (n,)."""
    shifted = logits - logits.max(axis=1, keepdims=True)
    log_probabilities = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return float(-log_probabilities[np.arange(len(labels)), labels].mean())
