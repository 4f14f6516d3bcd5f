"""Recalibration: the statistics become plain averages over batches, and nothing else changes."""

import keras
import numpy as np
import pytest

from training.batch_norm import Recalibrator

BATCH = 8


@pytest.fixture
def model():
    keras.utils.set_random_seed(4)
    inputs = keras.Input((5, 5, 3))
    x = keras.layers.BatchNormalization(momentum=0.9, name="first")(inputs)
    x = keras.layers.Conv2D(4, 3, name="conv")(x)
    return keras.Model(inputs, keras.layers.BatchNormalization(momentum=0.8, name="second")(x))


def pixels(count=3 * BATCH, seed=5):
    """Return images whose batches differ in brightness and contrast."""
    rng = np.random.default_rng(seed)
    number = (np.arange(count) // BATCH)[:, None, None, None]
    return np.clip(rng.normal(60 + 40 * number, 10 + 10 * number, (count, 5, 5, 3)), 0, 255).astype(np.uint8)


def test_statistics_are_plain_averages(model):
    Recalibrator(model).recalibrate(pixels(), BATCH)
    first, second = model.get_layer("first"), model.get_layer("second")
    batches = pixels().reshape(3, BATCH, 5, 5, 3) / np.float32(255)
    assert np.allclose(first.moving_mean, np.mean([one.mean(axis=(0, 1, 2)) for one in batches], axis=0), atol=1e-5)
    assert np.allclose(first.moving_variance, np.mean([one.var(axis=(0, 1, 2)) for one in batches], axis=0), rtol=1e-4)
    normalised = [
        (one - one.mean(axis=(0, 1, 2))) / np.sqrt(one.var(axis=(0, 1, 2)) + first.epsilon) for one in batches
    ]  # each batch by its own statistics, as in training
    outputs = [np.asarray(model.get_layer("conv")(one)) for one in normalised]
    assert np.allclose(second.moving_mean, np.mean([one.mean(axis=(0, 1, 2)) for one in outputs], axis=0), atol=1e-4)
    assert np.allclose(second.moving_variance, np.mean([one.var(axis=(0, 1, 2)) for one in outputs], axis=0), rtol=1e-3)


def test_a_part_of_a_batch_is_left_out(model):
    recalibrator = Recalibrator(model)
    recalibrator.recalibrate(pixels()[: 2 * BATCH], BATCH)
    expected = model.get_weights()
    recalibrator.recalibrate(pixels()[: 2 * BATCH + 5], BATCH)
    assert all(np.allclose(a, b, atol=1e-5) for a, b in zip(expected, model.get_weights()))


def test_fewer_pictures_than_a_batch_are_one(model):
    Recalibrator(model).recalibrate(pixels(5), BATCH)
    assert np.allclose(model.get_layer("first").moving_mean, pixels(5).mean(axis=(0, 1, 2)) / 255, atol=1e-5)


def test_earlier_statistics_are_forgotten(model):
    recalibrator = Recalibrator(model)
    recalibrator.recalibrate(pixels(), BATCH)
    expected = model.get_weights()
    recalibrator.recalibrate(255 - pixels(), BATCH)
    assert not all(np.allclose(a, b, atol=1e-2) for a, b in zip(expected, model.get_weights()))
    recalibrator.recalibrate(pixels(), BATCH)
    assert all(np.allclose(a, b, atol=1e-5) for a, b in zip(expected, model.get_weights()))


def test_momentum_and_weights_stay(model):
    trained = [np.asarray(weight) for weight in model.trainable_weights]
    Recalibrator(model).recalibrate(pixels(), BATCH)
    assert [model.get_layer(name).momentum for name in ("first", "second")] == [0.9, 0.8]
    assert all(np.array_equal(before, after) for before, after in zip(trained, model.trainable_weights))
