"""Batch normalisation statistics, measured afresh."""

from __future__ import annotations

from collections.abc import Iterable

import keras
import numpy as np
from numpy.typing import NDArray


def recalibrate(model: keras.Model, batches: Iterable[NDArray[np.float32]]) -> None:
    """Replace the running mean and variance of every batch norm by their plain average over ``batches``.

    Running statistics lag behind weights that still move; the average over a few batches with the weights
    as they are does not. Each batch is ``(n, height, width, 3)`` in [0, 1]. The weights stay as they are.
    """
    layers = [layer for layer in model.layers if isinstance(layer, keras.layers.BatchNormalization)]
    momenta = [layer.momentum for layer in layers]
    try:
        for index, batch in enumerate(batches):
            for layer in layers:
                layer.momentum = index / (index + 1.0)
            model(batch, training=True)
    finally:
        for layer, momentum in zip(layers, momenta):
            layer.momentum = momentum
