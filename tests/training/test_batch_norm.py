"""Recalibration: the statistics become plain averages, all else stays."""

import keras
import numpy as np
import pytest

from training.batch_norm import recalibrate


@pytest.fixture
def model():
    keras.utils.set_random_seed(4)
    inputs = keras.Input((5, 5, 3))
    x = keras.layers.BatchNormalization(momentum=0.9, name="first")(inputs)
    x = keras.layers.Conv2D(4, 3, name="conv")(x)
    return keras.Model(inputs, keras.layers.BatchNormalization(momentum=0.8, name="second")(x))


def batches():
    rng = np.random.default_rng(5)
    return [rng.normal(index, 1 + index, (8, 5, 5, 3)).astype(np.float32) for index in range(4)]


def test_statistics_are_plain_averages(model):
    recalibrate(model, batches())
    first, second = model.get_layer("first"), model.get_layer("second")
    means = np.mean([batch.mean(axis=(0, 1, 2)) for batch in batches()], axis=0)
    variances = np.mean([batch.var(axis=(0, 1, 2)) for batch in batches()], axis=0)
    assert np.allclose(first.moving_mean, means, atol=1e-4)
    assert np.allclose(first.moving_variance, variances, rtol=1e-4)
    normalised = [
        (b - b.mean(axis=(0, 1, 2))) / np.sqrt(b.var(axis=(0, 1, 2)) + first.epsilon) for b in batches()
    ]  # in training, each batch by its own statistics
    outputs = [np.asarray(model.get_layer("conv")(batch.astype(np.float32))) for batch in normalised]
    assert np.allclose(second.moving_mean, np.mean([out.mean(axis=(0, 1, 2)) for out in outputs], axis=0), atol=1e-3)
    assert np.allclose(second.moving_variance, np.mean([out.var(axis=(0, 1, 2)) for out in outputs], axis=0), rtol=1e-3)


def test_earlier_statistics_are_forgotten(model):
    recalibrate(model, batches())
    expected = model.get_weights()
    recalibrate(model, [100 * batch for batch in batches()])
    recalibrate(model, batches())
    assert all(np.allclose(a, b, atol=1e-5) for a, b in zip(expected, model.get_weights()))


def test_momentum_and_weights_are_restored(model):
    trained = [np.asarray(weight) for weight in model.trainable_weights]

    def interrupted():
        yield batches()[0]
        raise KeyboardInterrupt

    recalibrate(model, batches())
    with pytest.raises(KeyboardInterrupt):
        recalibrate(model, interrupted())
    assert [model.get_layer(name).momentum for name in ("first", "second")] == [0.9, 0.8]
    assert all(np.array_equal(before, after) for before, after in zip(trained, model.trainable_weights))
