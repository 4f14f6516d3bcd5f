"""The trained model: images on the device, their augmentation, the network, and additional losses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
from keras import ops
from numpy.typing import NDArray

from training import augmentation
from training.layers import Stored, noisy
from training.variation import PicturesOnDevice


class Trainee(keras.Model):  # type: ignore[misc]
    """From the parameters of ``training.augmentation`` to logits.

    Args:
        pictures: the training split.
        network: the network to train, from (batch, size, size, 3).
        consistency: weight of the mean squared difference between the network's centred logits with and without noise
            on stored tensors, which reduces the effect of rounding to 8 bits.
        noise: largest noise in steps.
        teacher: network from the same images, with its own size, to logits of the same classes, or None.
        distillation: weight of the teacher's softened probabilities in the loss (Hinton et al., 2015).
        temperature: divisor of both logits.
    """

    def __init__(
        self,
        pictures: PicturesOnDevice,
        network: keras.Model,
        *,
        consistency: float = 0.0,
        noise: float = 0.0,
        teacher: keras.Model | None = None,
        distillation: float = 0.0,
        temperature: float = 1.0,
    ) -> None:
        # Coordinates and angles need float32, whatever the precision of the network.
        super().__init__(dtype="float32")
        self.pictures, self.network = pictures, network
        self.consistency, self.noise = consistency, noise
        self.distillation, self.temperature = distillation, temperature
        # A function hides the teacher's weights from Keras, which would pass them to JAX at every step.
        self.taught = None if teacher is None else _answers(teacher, network.input_shape[1])

    def call(self, draws: Any, training: bool = False) -> Any:
        """Return float32 logits (batch, classes)."""
        pictures = self.pictures(draws, size=self.network.input_shape[1])
        logits = ops.cast(self.network(pictures, training=training), "float32")
        if training and self.consistency:
            with noisy(self.network, self.noise):
                outputs = ops.cast(self.network(pictures, training=training), "float32")
            self.add_loss(self.consistency * ops.mean(ops.square(_centred(logits) - _centred(outputs))))
        if training and self.taught is not None:
            size, answers = self.taught
            if size != self.network.input_shape[1]:
                pictures = self.pictures(draws, size=size)
            taught = answers(pictures) / self.temperature
            learnt = ops.log_softmax(logits / self.temperature, axis=-1)
            cross_entropy = -ops.sum(ops.softmax(ops.stop_gradient(taught), axis=-1) * learnt, axis=-1)
            self.add_loss(self.distillation * self.temperature**2 * ops.mean(cross_entropy))
        return logits

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute.

        With JAX, Keras stores the training state in an attribute and would search its hundreds of arrays for layers and
        variables at every step, without finding any.
        """
        if name == "_jax_state":
            object.__setattr__(self, name, value)
        else:
            super().__setattr__(name, value)

    def reseed(self, seed: int, epoch: int) -> None:
        """Seed the noise of an epoch, so that a resumed run has the same noise."""
        for index, layer in enumerate(layer for layer in self.network.layers if isinstance(layer, Stored)):
            layer.seed.state.assign(np.array([(seed * 1000003 + epoch) % 2**32, index], np.uint32))


class Batches(keras.utils.PyDataset):  # type: ignore[misc]
    """Augmentation parameters and soft labels of an epoch, in complete batches in a new random order.

    Args:
        chosen: ranges of the augmentation.
        labels: int64 (n,), a label for each image on the device.
        classes: number of classes.
        batch: images in a batch.
        seed: of the run.
        strength: factor of all augmentation.
        mixing: whether to mix images.
    """

    def __init__(
        self,
        chosen: Any,
        labels: NDArray[np.int64],
        classes: int,
        batch: int,
        seed: int,
        *,
        strength: float = 1.0,
        mixing: bool = True,
    ) -> None:
        super().__init__()
        self.chosen, self.batch, self.seed, self.strength, self.mixing = chosen, batch, seed, strength, mixing
        self.labels = np.eye(classes, dtype=np.float32)[labels]
        self.begin(0)

    def begin(self, epoch: int) -> None:
        """Draw the parameters of ``epoch``."""
        count = len(self.labels)
        self._draws = augmentation.draw(self.chosen, count, self.seed, epoch, strength=self.strength)
        if not self.mixing:
            self._draws |= {name: augmentation.plain(count)[name] for name in ("keep", "cutmix")}
        self._order = augmentation.order(count, self.seed, epoch)

    def __len__(self) -> int:
        return max(len(self.labels) // self.batch, 1)

    def __getitem__(self, index: int) -> tuple[dict[str, NDArray[np.generic]], NDArray[np.float32]]:
        rows = self._order[index * self.batch : (index + 1) * self.batch]
        draws = {name: values[rows] for name, values in self._draws.items()}
        return augmentation.packed(draws), augmentation.mixed_labels(draws, self.labels[rows])


def _answers(teacher: keras.Model, size: int) -> tuple[int, Callable[[Any], Any]]:
    """Return the input size of ``teacher`` (``size`` if it accepts any) and a function to its float32 logits."""
    return teacher.input_shape[1] or size, lambda pictures: ops.cast(teacher(pictures, training=False), "float32")


def _centred(logits: Any) -> Any:
    return logits - ops.mean(logits, axis=-1, keepdims=True)
