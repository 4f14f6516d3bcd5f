"""Dense convolutions with block-diagonal kernels equal grouped convolutions: weights, values and gradients."""

import keras
import numpy as np
import pytest

from training.layers import BLOCK, BlockDiagonalConv2D


def pair(channels, filters, kernel, groups, **options):
    """Return Conv2D and BlockDiagonalConv2D with the same random weights."""
    rng = np.random.default_rng(1)
    layers = [kind(filters, kernel, groups=groups, **options) for kind in (keras.layers.Conv2D, BlockDiagonalConv2D)]
    for layer in layers:
        layer.build((None, 7, 7, channels))
    assert [w.shape for w in layers[0].weights] == [w.shape for w in layers[1].weights]
    weights = [rng.normal(0, 0.3, weight.shape) for weight in layers[0].weights]
    for layer in layers:
        layer.set_weights(weights)
    return layers


def with_gradients(layer, x):
    """Return the output, and the gradients of its weighted sum with respect to the input and all weights."""
    import tensorflow as tf

    x = tf.Variable(x)
    with tf.GradientTape() as tape:
        y = layer(x)
        loss = tf.reduce_sum(y * np.random.default_rng(2).normal(size=y.shape).astype(np.float32))
    gradients = tape.gradient(loss, [x, *(variable.value for variable in layer.trainable_variables)])
    return [np.asarray(tensor) for tensor in (y, *gradients)]


def check(layers, channels):
    x = np.random.default_rng(3).normal(size=(2, 7, 7, channels)).astype(np.float32)
    for expected, result in zip(*(with_gradients(layer, x) for layer in layers)):
        assert result.shape == expected.shape and np.abs(expected).max() > 0.1
        assert np.abs(result - expected).max() < 1e-4 * max(1, np.abs(expected).max())


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "channels, filters, groups",
    [
        (32, 32, 8),  # less than a block
        (64, 64, 16),
        (128, 128, 32),  # complete blocks
        (192, 192, 24),
        (64, 128, 8),  # more filters than channels
        (128, 64, 16),  # fewer
        (96, 96, 24),  # not a multiple of a block
        (192, 96, 4),  # groups of 48, which do not fit evenly into blocks of 64
        (256, 256, 2),  # groups larger than a block
        (12, 24, 12),  # depthwise
        (16, 24, 1),  # a single group
    ],
)
def test_channels_and_groups(channels, filters, groups):
    check(pair(channels, filters, 3, groups, padding="same", use_bias=False), channels)


@pytest.mark.parametrize(
    "options",
    [
        {"strides": 2, "padding": "valid"},
        {"strides": 2, "padding": "same", "use_bias": True},
        {"dilation_rate": 2, "padding": "same"},
        {"activation": "relu"},
    ],
)
def test_blocks_equal_keras_with_every_option(options):
    check(pair(2 * BLOCK, 2 * BLOCK, 3, BLOCK // 2, **options), 2 * BLOCK)


def test_pointwise_and_large_kernels():
    check(pair(128, 128, 1, 4), 128)
    check(pair(8, 8, 5, 2), 8)


def test_bfloat16_computes_in_bfloat16_with_weights_in_float32():
    layer = BlockDiagonalConv2D(128, 3, groups=32, dtype="mixed_bfloat16")
    y = layer(np.ones((1, 5, 5, 128), np.float32))
    assert keras.backend.standardize_dtype(y.dtype) == "bfloat16" and layer.kernel.dtype == "float32"
