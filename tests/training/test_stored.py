"""The layer that imitates textures: integer steps, a straight-through gradient, bounded noise."""

import keras
import numpy as np
import pytest
from keras import ops

from training.layers import Stored, noisy
from training.trainee import Trainee
from training.variation import PicturesOnDevice

STEP = 1.0 / 255.0


def values(count=2000, seed=0):
    return np.random.default_rng(seed).random((count, 3), np.float32)


def gradient(layer, x):
    """Return the gradient of sum(x**2 stored) with respect to x."""
    import tensorflow as tf

    variable = tf.Variable(x)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.square(layer(variable)))
    return np.asarray(tape.gradient(loss, variable))


@pytest.mark.parametrize("step", [1.0 / 255.0, 2.0**-14, 2.0**-8])
def test_whole_steps(step):
    x = 200 * step * values()
    y = np.asarray(Stored(step)(x)).astype(float)
    assert np.abs(y / step - np.round(y / step)).max() < 1e-3
    assert np.abs(y - x).max() <= 0.5001 * step and np.abs(y - x).max() > 0.4 * step
    assert np.array_equal(np.asarray(Stored(step)(np.asarray(Stored(step)(x)))), y.astype(np.float32)), "once is enough"


def test_0_and_1_are_stored_as_they_are():
    assert np.asarray(Stored()(np.array([0.0, 1.0], np.float32))).tolist() == [0, 1]


def test_the_gradient_passes_straight_through():
    x, layer = values(50), Stored()
    assert np.allclose(gradient(layer, x), 2 * np.asarray(layer(x)), atol=1e-6)


def test_not_quantised_is_the_tensor_itself():
    x = values(20)
    assert np.array_equal(np.asarray(Stored(quantized=False)(x)), x)


def test_bfloat16():
    x = ops.cast(values(), "bfloat16")
    y = Stored(dtype="bfloat16")(x)
    assert keras.backend.standardize_dtype(y.dtype) == "bfloat16"
    full = np.asarray(ops.cast(x, "float32"))
    expected = ops.cast(np.round(full * 255) / np.float32(255), "bfloat16")
    assert np.abs(np.asarray(ops.cast(y, "float32")) - np.asarray(ops.cast(expected, "float32"))).max() < 2**-8
    assert np.mean(np.asarray(ops.cast(ops.equal(y, expected), "float32"))) > 0.99


def network():
    inputs = keras.Input((4, 4, 3))
    x = Stored(quantized=False, name="first")(inputs)
    return keras.Model(inputs, Stored(2 * STEP, quantized=False, name="second")(2.0 * x))


def test_noise_is_within_bounds_and_ends():
    model = network()
    x = np.random.default_rng(0).random((16, 4, 4, 3), np.float32)
    with noisy(model, 2.0):
        difference = np.asarray(model(x)) - 2 * x
    bound = 2 * (2 * STEP) + 2 * (2 * STEP)  # the network doubles the first layer's noise
    assert 0.7 * bound < np.abs(difference).max() <= bound + 1e-6 and abs(difference.mean()) < 0.1 * bound
    assert np.allclose(np.asarray(model(x)), 2 * x)


def test_noise_ends_after_an_error_too():
    model = network()
    with pytest.raises(RuntimeError), noisy(model, 2.0):
        raise RuntimeError
    assert [layer.noise for layer in model.layers if isinstance(layer, Stored)] == [0, 0]


@pytest.mark.parametrize("seed", [1, 2**32 - 1])
def test_noise_is_that_of_its_seed_and_epoch(seed):
    model = network()
    trainee = Trainee(PicturesOnDevice(np.zeros((1, 2, 2, 3), np.uint8)), model)
    x = np.zeros((2, 4, 4, 3), np.float32)

    def noise(seed, epoch):
        trainee.reseed(seed, epoch)
        with noisy(model, 1.0):
            return np.asarray(model(x)), np.asarray(model(x))

    first, second = noise(seed, 3)
    repeated, _ = noise(seed, 3)
    assert np.array_equal(first, repeated) and not np.array_equal(first, second)
    for other in (noise(seed, 4), noise(seed - 1, 3)):
        assert not np.array_equal(first, other[0])
