"""Quantisation-aware training: the layer that imitates textures, and the tensors that the engine rounds."""

from __future__ import annotations

import keras
import numpy as np
import pytest
from imported import randomise
from keras import ops

from glsl_infer.compiler.build import Options, build
from glsl_infer.graph import reference
from glsl_infer.importers.keras import to_graph
from training.layers import BlockDiagonalConv2D, Stored, noisy
from training.models import BYTE, LOGIT, x22
from training.trainee import Trainee
from training.variation import PicturesOnDevice

OPTIONS = {"input_size": 33, "classes": 3, "stages": 2, "width": 0.25}


@pytest.fixture(scope="module")
def plain():
    return randomise(x22(**OPTIONS), seed=4, spread=0.5)


@pytest.fixture(scope="module")
def graph(plain):
    """Return the exported network with ranges and scales."""
    exact = Options(weight_bits="16")  # 8 bits would change stored values by a step or two
    return build(to_graph(plain), ("a", "b", "c"), options=exact)[0].graph


@pytest.fixture(scope="module")
def noted(plain):
    """Return the quantised network with the weights of ``plain`` and all stored tensors as outputs, and the steps."""
    tensors, steps = [], []

    def stored(tensor, step):
        tensors.append(Stored(step)(tensor))
        steps.append(step)
        return tensors[-1]

    network = x22(**OPTIONS, conv=BlockDiagonalConv2D, stored=stored)
    for layer in plain.layers:
        network.get_layer(layer.name).set_weights(layer.get_weights())
    return keras.Model(network.input, tensors), steps


def stored_nodes(graph):
    """Return the nodes of every stored tensor except the input and the partial sums of the dense layer."""
    return [node for node in graph.nodes if node.op not in ("input", "dense_products")]


def test_the_same_tensors_are_stored(graph, noted):
    nodes, (network, steps) = stored_nodes(graph), noted
    assert [graph.shapes[node.name] for node in nodes] == [tensor.shape[1:] for tensor in network.outputs]
    assert len(nodes) == len([node for node in graph.nodes if node.op == "conv2d"]) + 2
    for node, step in zip(nodes[:-2], steps):
        assert (node.attrs["scales"], node.attrs["zeros"], step) == ((1.0,), (0.0,), BYTE), node.name


def test_the_pooled_vector_has_the_steps_of_the_engine(graph, noted):
    assert stored_nodes(graph)[-2].attrs["scale"] / 256 == noted[1][-2]


def test_the_same_values_are_stored(graph, noted):
    rng = np.random.default_rng(5)
    pictures = rng.integers(0, 256, (6, 33, 33, 3), np.uint8)
    outputs = [np.asarray(output) for output in noted[0](pictures / np.float32(255))]
    names = [node.name for node in stored_nodes(graph)]
    for index, picture in enumerate(pictures):
        expected = dict(reference.layers(graph, picture, mode="stored"))
        for name, result in zip(names[:-2], outputs):
            off = np.abs(result[index] - expected[name]) * 255
            # A tie can round either way, and later values can differ by a step, too.
            assert off.max() < 1.01 and np.mean(off > 0.01) < 0.005, name
        assert np.abs(outputs[-2][index] - expected["pool"]).max() < 2.0**-9
        assert np.abs(outputs[-1][index] - expected["Dense"]).max() < LOGIT + 0.02
        assert np.ptp(expected["b3-conv"]) > 0.1 and np.ptp(expected["Dense"]) > 0.1


def test_unquantised_it_is_another_network(graph, plain):
    """The unquantised network differs, so the test above would detect missing rounding."""
    picture = np.random.default_rng(5).integers(0, 256, (33, 33, 3), np.uint8)
    model = keras.Model(plain.input, plain.get_layer("b3-conv-act").output)
    values = np.asarray(model(picture[None] / np.float32(255)))[0]
    expected = dict(reference.layers(graph, picture, mode="stored"))["b3-conv"]
    assert np.mean(np.abs(values - expected) * 255 > 0.01) > 0.2


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


def test_noise_is_switched_off_after_an_error():
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
