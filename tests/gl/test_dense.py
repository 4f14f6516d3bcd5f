"""Pooling, flattening and dense layers in 16-bit fixed point on the GPU."""

from __future__ import annotations

import numpy as np
import pytest
from graphs import PLS, conv_node, dense_node, input_node, pool_node, stored_map
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from layer_check import TOLERANCE, exact_steps, gpu_steps, make_bundle

from glsl_infer.gl.context import Context
from glsl_infer.graph import Graph, Node, reference
from glsl_infer.program import quantize
from glsl_infer.program.layout import FixedPoint
from glsl_infer.runtime.session import Session

pytestmark = pytest.mark.drivers("all")


def dense_graph(rng: np.random.Generator, channels: int, outputs: int, size: int = 3, **attrs: object) -> Graph:
    nodes = [
        input_node(size),
        conv_node(rng, "conv", ("image",), 3, channels),
        pool_node("pool", "conv"),
        dense_node(rng, "dense", "pool", channels, outputs, **attrs),
    ]
    return Graph("test", tuple(nodes), "dense")


def check_all_fixed_layers(context: Context, graph: Graph, rng: np.random.Generator) -> None:
    """Compare every 16-bit layer with the reference on random stored inputs."""
    bundle = make_bundle(graph)
    with Session(bundle, context=context) as session:
        for node in bundle.graph.nodes:
            value = bundle.values[node.name]
            if not isinstance(value, FixedPoint):
                continue
            inputs = []
            for name in node.inputs:
                source = bundle.values[name]
                shape = bundle.graph.shapes[name]
                if isinstance(source, FixedPoint):
                    inputs.append(quantize.store16(rng.uniform(0, 1, shape) * 30 * source.scale, source.scale))
                else:
                    inputs.append(stored_map(rng, shape))
            difference = np.abs(gpu_steps(session, node.name, inputs) - exact_steps(bundle, node, inputs)).max()
            assert difference <= TOLERANCE, (node.name, difference)


@given(st.integers(1, 70), st.integers(1, 40), st.integers(1, 6), st.integers(0, 1 << 30))
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_random_dense_layers_are_exact(context: Context, channels: int, outputs: int, size: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    check_all_fixed_layers(context, dense_graph(rng, channels, outputs, size), rng)


def test_tiny_signals_of_an_untrained_network_survive(context: Context) -> None:
    """Small signals of an untrained network survive: MobileNetV2 with Keras' initial weights ends in 1e-11.

    Each layer makes the signal smaller.
    """
    rng = np.random.default_rng(3)
    conv = conv_node(rng, "conv", ("image",), 3, 40, activation="relu")
    dense = dense_node(rng, "dense", "pool", 40, 6)
    for weights, factor in ((conv.weights, 1e-6), (dense.weights, 1e-5)):
        weights["kernel"][...] *= factor
        weights["bias"][...] *= 1e-12
    graph = Graph("test", (input_node(3), conv, pool_node("pool", "conv"), dense), "dense")
    pictures = [rng.integers(0, 256, (3, 3, 3), np.uint8) for _ in range(3)]
    with Session(make_bundle(graph, pictures=pictures), context=context) as session:
        drawn = np.stack([session.run(picture) for picture in pictures]).ravel()
    exact = np.stack([reference.run(graph, picture, mode="float") for picture in pictures]).ravel()
    assert np.abs(exact).max() < 1e-9
    assert drawn @ exact / np.linalg.norm(drawn) / np.linalg.norm(exact) > 0.999


@pytest.mark.parametrize(
    ("inputs", "outputs", "count"),
    [(128, 5, 0), (129, 5, 1), (257, 5, 1), (1030, 5, 1), (2047, 2, 1), (2060, 2, 2), (260, 483, 2)],
)
def test_long_rows_take_several_sums(context: Context, inputs: int, outputs: int, count: int) -> None:
    rng = np.random.default_rng(inputs)
    graph = dense_graph(rng, inputs, outputs)
    bundle = make_bundle(graph)
    sums = [node for node in bundle.graph.nodes if node.op == "dense_sum"]
    assert len(sums) == count
    check_all_fixed_layers(context, graph, rng)


@pytest.mark.parametrize("activation", [PLS, "relu", "hard_sigmoid", "sigmoid"])
def test_two_dense_layers_with_activation_are_exact(context: Context, activation: str) -> None:
    rng = np.random.default_rng(7)
    nodes = [*dense_graph(rng, 10, 9, activation=activation).nodes, dense_node(rng, "second", "dense", 9, 4)]
    check_all_fixed_layers(context, Graph("test", tuple(nodes), "second"), rng)


def test_a_flattened_pixel_is_exact(context: Context) -> None:
    rng = np.random.default_rng(3)
    nodes = [
        input_node(3),
        conv_node(rng, "conv", ("image",), 3, 7, kernel=(3, 3)),
        Node("flat", "flatten", ("conv",), {"scale": None}),
        dense_node(rng, "dense", "flat", 7, 3),
    ]
    check_all_fixed_layers(context, Graph("test", tuple(nodes), "dense"), rng)


def test_values_saturate_and_never_wrap(context: Context) -> None:
    rng = np.random.default_rng(4)
    bundle = make_bundle(dense_graph(rng, 16, 4))
    node = bundle.graph.by_name["dense"]
    source = bundle.values["pool"]
    assert isinstance(source, FixedPoint)
    largest = 127.0 * source.scale * np.sign(node.weights["kernel"][:, 0])
    with Session(bundle, context=context) as session:
        steps = gpu_steps(session, "dense", [largest])
    exact = node.weights["row_scale"] * (largest @ node.weights["kernel"].astype(np.float64)) + node.weights["bias"]
    scale = node.attrs["scale"]
    assert (np.abs(exact) > 128 * scale).any(), "the test must drive at least one row beyond its range"
    np.testing.assert_allclose(steps, np.clip(exact / scale * 256, -32768, 32767), atol=TOLERANCE)
