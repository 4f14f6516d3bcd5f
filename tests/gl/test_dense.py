"""Pooling, flattening, dense layers and other operators on vectors, in 16-bit fixed point on the GPU."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from activation_texts import CHANNELS, TEXTS
from graphs import PLS, conv_node, dense_node, input_node, pool_node, stored_map
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from layer_check import TOLERANCE, exact_steps, gpu_steps, layer_error, make_bundle, stored_inputs

from glsl_infer.bundle import Bundle
from glsl_infer.compiler.optimize import optimize
from glsl_infer.gl.context import Context
from glsl_infer.graph import Graph, Node, reference
from glsl_infer.graph.elementwise import DRAWN
from glsl_infer.ops.norm_rules import KINDS
from glsl_infer.ops.vector_affine import affine_node
from glsl_infer.program import quantize
from glsl_infer.program.layout import FixedPoint
from glsl_infer.runtime.session import Session

pytestmark = pytest.mark.drivers("all")


def dense_graph(rng: np.random.Generator, channels: int, outputs: int, size: int = 3, **attrs: object) -> Graph:
    """Return a network with one dense layer after a convolution."""
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
                    inputs.append(quantize.round_to_fixed16(rng.uniform(0, 1, shape) * 30 * source.scale, source.scale))
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


FUNCTIONS = ("linear", "relu", "tanh", "sigmoid", "silu", "gelu", "softplus", "leaky_relu(0.2)")
GELU_ERROR = 3e-7
"""Error of the shader, which is an approximation (activation_gelu.glsl)."""

OFTEN = settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
LAYOUTS = st.sampled_from(("atlas", "planar"))
SEEDS = st.integers(0, 1 << 30)


def pictures(size: int = 5) -> list[np.ndarray]:
    return [np.random.default_rng(seed).integers(0, 256, (size, size, 3), np.uint8) for seed in range(2)]


def compare(context: Context, bundle: Bundle, names: Sequence[str], seed: int) -> None:
    """Compare layers with the reference, on random inputs."""
    rng = np.random.default_rng(seed)
    with Session(bundle, context=context) as session:
        for name in names:
            assert layer_error(session, name, stored_inputs(bundle, name, rng)) <= TOLERANCE, name


def vectors(rng: np.random.Generator, lengths: Sequence[int]) -> list[Node]:
    """Return an input and dense layers v0, v1 ... with the given lengths."""
    nodes = [input_node(5), pool_node("pool", "image")]
    return nodes + [dense_node(rng, f"v{index}", "pool", 3, length) for index, length in enumerate(lengths)]


@given(st.integers(1, 40), st.integers(1, 9), st.integers(1, 9), LAYOUTS, SEEDS)
@OFTEN
def test_rows_of_maps_are_exact(
    context: Context, channels: int, height: int, width: int, layout: str, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    rows = height * -(-channels // 2)
    first = int(rng.integers(0, rows))
    attrs = {"first": first, "count": int(rng.integers(1, rows - first + 1))}
    nodes = [
        input_node(9),
        conv_node(rng, "conv", ("image",), 3, channels, kernel=(10 - height, 10 - width), activation="relu"),
        Node("rows", "flatten_rows", ("conv",), attrs),
    ]
    bundle = make_bundle(Graph("test", nodes, "rows"), layout=layout, pictures=pictures(9))
    compare(context, bundle, ["rows"], seed)


@given(st.integers(1, 20), st.integers(1, 6), st.integers(1, 6), st.sampled_from(FUNCTIONS), LAYOUTS, SEEDS)
@OFTEN
def test_maps_of_vectors_are_exact(
    context: Context, channels: int, height: int, width: int, function: str, layout: str, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    pixels = [height * width]
    if channels % 2 == 0 and height * width > 1:
        border = int(rng.integers(1, height * width))
        pixels = [border, height * width - border]
    nodes = vectors(rng, [count * channels for count in pixels])
    attrs = {"shape": (height, width, channels), "activation": function}
    nodes.append(Node("map", "vector_map", tuple(f"v{index}" for index in range(len(pixels))), attrs))
    bundle = make_bundle(Graph("test", nodes, "map"), layout=layout, pictures=pictures())
    compare(context, bundle, ["map"], seed)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("text", TEXTS)
def test_maps_of_vectors_can_have_every_activation(context: Context, text: str) -> None:
    slopes_of_channels = text.startswith("prelu")
    for channels in (CHANNELS,) if slopes_of_channels else (CHANNELS, CHANNELS + 1):
        nodes = vectors(np.random.default_rng(0), [4 * channels])
        attrs = {"shape": (2, 2, channels), "activation": text}
        bundle = make_bundle(
            Graph("test", [*nodes, Node("map", "vector_map", ("v0",), attrs)], "map"), pictures=pictures()
        )
        with Session(bundle, context=context) as session:
            inputs = stored_inputs(bundle, "map", np.random.default_rng(1))
            assert layer_error(session, "map", inputs) <= TOLERANCE, channels


@given(st.integers(1, 40), st.sampled_from(sorted(DRAWN)), st.sampled_from(FUNCTIONS), st.booleans(), SEEDS)
@OFTEN
def test_operations_on_two_vectors_are_exact(
    context: Context, length: int, operation: str, function: str, single: bool, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    nodes = vectors(rng, [1 if single else length, length])
    order = ("v0", "v1") if rng.integers(2) and operation != "divide" else ("v1", "v0")
    if operation == "divide":  # away from 0, where a quotient is only as exact as its divisor
        nodes.append(Node("away", "activation", ("v0",), {"function": "exponential"}))
        order = ("v1", "away")
    nodes.append(Node("y", "binary", order, {"operation": operation, "activation": function}))
    bundle = make_bundle(optimize(Graph("test", nodes, "y")), pictures=pictures())
    node = bundle.graph.by_name["y"]
    inputs = stored_inputs(bundle, "y", rng)
    if operation == "divide":
        inputs[1] = np.abs(inputs[1]) + bundle.values[node.inputs[1]].scale
    with Session(bundle, context=context) as session:
        assert layer_error(session, "y", inputs) <= TOLERANCE


@given(st.integers(1, 40), st.sampled_from(FUNCTIONS), SEEDS)
@OFTEN
def test_factors_and_offsets_are_exact(context: Context, length: int, function: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    affine = affine_node("y", "v0", rng.normal(0, 2, length), rng.normal(0, 1, length))
    nodes = [*vectors(rng, [length]), affine.with_attrs(activation=function)]
    compare(context, make_bundle(Graph("test", nodes, "y"), pictures=pictures()), ["y"], seed)


@given(st.integers(1, 300), SEEDS)
@OFTEN
def test_a_softmax_of_a_vector_is_exact(context: Context, length: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    nodes = [*vectors(rng, [length]), Node("y", "vector_softmax", ("v0",))]
    bundle = make_bundle(Graph("test", nodes, "y"), pictures=pictures())
    inputs = [quantize.round_to_fixed16(rng.normal(0, 3, length), bundle.values["v0"].scale)]
    largest = exact_steps(bundle, bundle.graph.by_name["y"], inputs).max()
    rounding = 2.0**-24 * length * largest  # each addition to the sum rounds; on VideoCore IV always down
    with Session(bundle, context=context) as session:
        assert layer_error(session, "y", inputs) <= TOLERANCE + rounding


@given(st.integers(1, 300), st.sampled_from(KINDS), st.sampled_from(FUNCTIONS), SEEDS)
@OFTEN
def test_a_normalised_vector_is_within_its_tolerance(
    context: Context, length: int, kind: str, function: str, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    attrs = {
        "kind": kind,
        "gamma": tuple(rng.normal(1, 0.5, length).tolist()),
        "beta": tuple(rng.normal(0, 1, length).tolist()),
        "activation": function,
    }
    nodes = [*vectors(rng, [length]), Node("y", "vector_norm", ("v0",), attrs)]
    bundle = make_bundle(Graph("test", nodes, "y"), pictures=pictures())
    stored = bundle.values["y"]
    assert isinstance(stored, FixedPoint)
    own = GELU_ERROR * 256.0 / stored.scale if function == "gelu" else 0.0  # if all stored values are small
    inputs = stored_inputs(bundle, "y", np.random.default_rng(seed))
    with Session(bundle, context=context) as session:
        assert layer_error(session, "y", inputs) <= TOLERANCE + own


@given(st.lists(st.integers(0, 29), min_size=1, max_size=40), SEEDS)
@OFTEN
def test_gathered_elements_are_exact(context: Context, indices: list[int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    nodes = [*vectors(rng, [30]), Node("y", "vector_gather", ("v0",), {"channels": tuple(indices)})]
    compare(context, make_bundle(Graph("test", nodes, "y"), pictures=pictures()), ["y"], seed)


@pytest.mark.parametrize("layout", ["atlas", "planar"])
def test_a_long_flattened_map_and_a_generator_are_near_the_reference(context: Context, layout: str) -> None:
    rng = np.random.default_rng(5)
    nodes = [
        input_node(12),
        conv_node(rng, "conv", ("image",), 3, 40),
        Node("flat", "flatten", ("conv",), {"scale": None}),
        dense_node(rng, "dense", "flat", 12 * 12 * 40, 6, activation="tanh"),
        dense_node(rng, "wide", "dense", 6, 5 * 5 * 90, activation="relu"),
        Node("map", "reshape", ("wide",), {"shape": (5, 5, 90)}),
        conv_node(rng, "end", ("map",), 90, 3),
    ]
    nodes[3].weights["kernel"][:] *= 0.01
    samples = pictures(12)
    bundle = make_bundle(optimize(Graph("test", nodes, "end")), layout=layout, pictures=samples)
    assert max(texture.width for texture in bundle.manifest.textures) <= 2048
    with Session(bundle, context=context) as session:
        drawn = session.run(samples[0])
    stored = reference.run(bundle.graph, samples[0])
    exact = reference.run(Graph("test", nodes, "end"), samples[0], mode="float")
    assert np.abs(drawn - stored).max() <= 1.01 / 255
    assert np.abs(stored - exact).max() <= 6 / 255


def test_outputs_of_several_layers_are_concatenated(context: Context) -> None:
    rng = np.random.default_rng(6)
    nodes = [input_node(5), pool_node("pool", "image"), dense_node(rng, "dense", "pool", 3, 4300)]
    bundle = make_bundle(optimize(Graph("test", nodes, "dense")), pictures=pictures())
    with Session(bundle, context=context) as session:
        drawn = session.run(pictures()[0])
    exact = reference.run(Graph("test", nodes, "dense"), pictures()[0], mode="float")
    assert drawn.shape == (4300,)
    assert np.abs(drawn - exact).max() < 0.05
