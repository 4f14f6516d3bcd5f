"""Quantisation-aware training compared with the engine: the same tensors are rounded to the same values."""

import keras
import numpy as np
import pytest
from imported import randomise

from glsl_infer.compiler.build import Options, build
from glsl_infer.graph import reference
from glsl_infer.importers.keras import to_graph
from training.layers import BlockDiagonalConv2D, Stored
from training.models import BYTE, LOGIT, x22

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
