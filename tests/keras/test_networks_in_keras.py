"""scripts/bench/networks_in_keras.py: networks whose batch norms fit the images."""

from __future__ import annotations

import sys
from pathlib import Path

import keras
import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts/bench"))

import networks_in_keras

PICTURES = np.random.default_rng(0).integers(0, 256, (6, 32, 32, 3), np.uint8)


def norms(model: keras.Model) -> list[keras.layers.Layer]:
    return [layer for layer in model.layers if isinstance(layer, keras.layers.BatchNormalization)]


def create() -> keras.Model:
    return networks_in_keras.create(PICTURES, 32)


@pytest.mark.exhaustive
def test_batch_norms_get_the_statistics_of_the_pictures() -> None:
    model = create()
    assert np.ptp(norms(model)[0].gamma.numpy()) > 0.1
    for layer in (norms(model)[0], norms(model)[-1]):
        inputs = networks_in_keras.scaled(PICTURES, networks_in_keras.SIGNED)
        values = keras.Model(model.input, layer.input)(inputs, training=False)
        mean, variance = (np.asarray(one) for one in (values.numpy().mean((0, 1, 2)), values.numpy().var((0, 1, 2))))
        scale = np.sqrt(variance.max())
        assert np.abs(layer.moving_mean.numpy() - mean).max() < 0.02 * scale
        assert np.abs(layer.moving_variance.numpy() - variance).max() < 0.05 * scale**2
    assert all(layer.momentum == 0.99 for layer in norms(model))


@pytest.mark.exhaustive
def test_the_same_seed_gives_the_same_network() -> None:
    one, other = (create().get_weights() for _ in range(2))
    assert all(np.array_equal(a, b) for a, b in zip(one, other))


def test_bytes_are_scaled_to_the_values_of_the_input() -> None:
    assert networks_in_keras.scaled(np.array([0, 255], np.uint8), (-1.0, 1.0)).tolist() == [-1.0, 1.0]
