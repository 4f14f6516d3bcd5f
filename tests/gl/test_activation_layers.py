"""Activations in every possible layer: the stored steps match the reference."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from activation_texts import CHANNELS, TEXTS
from graphs import classifier, conv_node, dense_node, input_node, pool_node, stored_map
from layer_check import TOLERANCE, layer_error, make_bundle, stored_inputs, worst
from pairwise import each_of
from random_networks import drawn_nodes

from glsl_infer.gl.context import Context
from glsl_infer.graph import Graph, Node
from glsl_infer.graph.piecewise_linear import of_slopes
from glsl_infer.program import quantize
from glsl_infer.program.layout import FixedPoint
from glsl_infer.runtime.session import Session

SAME = (1, 1, 1, 1)
SIZE = 7


def pictures(rng: np.random.Generator) -> list[np.ndarray]:
    return [rng.integers(0, 256, (SIZE, SIZE, 3), np.uint8) for _ in range(3)]


ONE_PLACE = pytest.mark.drivers("all")
PLACES = [("planar", "uniform"), ("atlas", "baked"), ("atlas", "texture")]


def everywhere() -> Iterator[object]:
    """Yield each activation in one place, rotating over the places, and for `make test-all` in every place."""
    for number, text in enumerate(TEXTS):
        for index, position in enumerate(PLACES):
            first = number % len(PLACES) == index
            yield pytest.param(text, *position, marks=ONE_PLACE if first else pytest.mark.exhaustive)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("text", "layout", "weights"), [*everywhere()])
def test_activations_after_convolutions_residuals_and_sums_are_exact(
    context: Context, text: str, layout: str, weights: str
) -> None:
    rng = np.random.default_rng(len(text))
    # Several of these in a row would exceed the precision of floats.
    steep = text.startswith("power") or text in ("exponential", "log", "square")
    positive = text.startswith("power(-") or text == "log"  # infinitely steep at 0: sums are exactly 0 or far above
    bounded = "sigmoid" if positive else "tanh"
    first, inputs = (bounded, ("stem", "stem", "stem")) if steep else (text, ("unit", "stem", "unit"))
    second = "relu" if text == "log" else text  # only 0 itself is so far below 1
    body = [
        input_node(SIZE),
        conv_node(rng, "stem", ("image",), 3, CHANNELS, kernel=(3, 3), padding=SAME, activation=first),
        conv_node(rng, "unit", ("stem", "stem"), CHANNELS, CHANNELS, kernel=(3, 3), padding=SAME, activation=text),
        Node("sum", "add", inputs, {"activation": second}),
        Node("top", "max_pool", ("sum",), {"pool": (2, 2), "strides": (1, 1)}),
        Node("alone", "activation", ("top",), {"function": text}),
        *([Node("bounded", "activation", ("alone",), {"function": "tanh"})] * steep),
        conv_node(rng, "many", ("bounded" if steep else "alone",), CHANNELS, 40, activation="relu(1)"),
        conv_node(rng, "wide", ("many",), 40, CHANNELS, activation=text),
    ]
    for node in (node for node in body if positive and node.attrs.get("activation") == text):
        for numbers in node.weights.values():
            np.abs(numbers, out=numbers)
    bundle = make_bundle(classifier(rng, body, CHANNELS), weights, layout, pictures(rng))
    assert (layout == "planar") == ("convolution_sum" in {node.op for node in bundle.graph.nodes})
    with Session(bundle, context=context, selfcheck=True) as session:
        for node in drawn_nodes(bundle):
            error = layer_error(session, node.name, stored_inputs(bundle, node.name, rng))
            assert error <= TOLERANCE, (node.name, error)


@pytest.mark.sampled(3)
@pytest.mark.drivers("all")
@pytest.mark.parametrize("text", TEXTS)
def test_activations_after_a_dense_layer_are_exact(context: Context, text: str) -> None:
    rng = np.random.default_rng(len(text))
    nodes = (
        input_node(SIZE),
        conv_node(rng, "conv", ("image",), 3, 7),
        pool_node("pool", "conv"),
        dense_node(rng, "hidden", "pool", 7, CHANNELS, activation=text),
        dense_node(rng, "dense", "hidden", CHANNELS, 3),
    )
    bundle = make_bundle(Graph("test", nodes, "dense"), pictures=pictures(rng))
    with Session(bundle, context=context, selfcheck=True) as session:
        (sums,) = stored_inputs(bundle, "hidden", rng)
        source = bundle.values[bundle.graph.by_name["hidden"].inputs[0]]
        assert isinstance(source, FixedPoint)
        error = layer_error(session, "hidden", [quantize.store16(sums / 16.0, source.scale)])
        assert error <= TOLERANCE, error


@pytest.mark.drivers("all")
def test_slopes_of_each_channel_follow_the_weights_in_a_texture(context: Context) -> None:
    rng = np.random.default_rng(0)
    body = [
        input_node(SIZE),
        conv_node(rng, "conv", ("image",), 3, CHANNELS, activation="prelu(0.25,-0.5,1.5,0,0.125,-2)"),
        conv_node(rng, "same", ("conv",), CHANNELS, CHANNELS, activation="leaky_relu(-0.5)"),
    ]
    bundle = make_bundle(classifier(rng, body, CHANNELS), "texture", pictures=pictures(rng))
    draws = {name: sum(entry.layer == name for entry in bundle.manifest.passes) for name in ("conv", "same")}
    assert draws == {"conv": 1, "same": 1}


def random_function(seed: int) -> str:
    """Return a function with zero to three pairs of breakpoints around a random centre."""
    rng = np.random.default_rng(seed)
    count = seed % 4
    bends = [(-left, right) for left, right in rng.uniform(0.0, 4.0, (count, 2))]
    slopes = rng.choice([0.0, 0.02, 0.1, 0.4], count) * rng.uniform(0.5, 1.5, count)
    centre = (rng.normal(0.0, 1.0), rng.uniform(0.2, 0.8))
    return of_slopes(rng.uniform(0.002, 0.3), slopes.tolist(), bends, centre).name


@pytest.mark.drivers("all")
@each_of(("seed", range(8)), ("weights", ["baked", "uniform"]))
def test_random_parameters_after_convolutions_residuals_and_sums_are_exact(
    context: Context, seed: int, weights: str
) -> None:
    rng, function = np.random.default_rng(seed), random_function(seed)
    body = [
        input_node(7),
        conv_node(rng, "stem", ("image",), 3, 6, kernel=(3, 3), padding=SAME, activation=function),
        conv_node(rng, "unit", ("stem", "stem"), 6, 6, kernel=(3, 3), padding=SAME, activation=function),
        Node("sum", "add", ("unit", "stem", "unit"), {"activation": function}),
        Node("top", "max_pool", ("sum",), {"pool": (2, 2), "strides": (1, 1)}),
        Node("alone", "activation", ("top",), {"function": function}),
        conv_node(rng, "many", ("alone",), 6, 40, activation=function),
        conv_node(rng, "wide", ("many",), 40, 6, activation=function),
    ]
    bundle = make_bundle(classifier(rng, body, 6), weights, layout="planar")
    assert "convolution_sum" in {node.op for node in bundle.graph.nodes}
    with Session(bundle, context=context, selfcheck=True) as session:
        for node in drawn_nodes(bundle):
            assert layer_error(session, node.name, stored_inputs(bundle, node.name, rng)) <= TOLERANCE, node.name


@pytest.mark.drivers("all")
@pytest.mark.parametrize("seed", range(4))
def test_random_parameters_after_a_dense_layer_are_exact(context: Context, seed: int) -> None:
    rng = np.random.default_rng(seed)
    nodes = (
        input_node(3),
        conv_node(rng, "conv", ("image",), 3, 7),
        pool_node("pool", "conv"),
        dense_node(rng, "hidden", "pool", 7, 9, activation=random_function(seed)),
        dense_node(rng, "dense", "hidden", 9, 3),
    )
    bundle = make_bundle(Graph("test", nodes, "dense"))
    with Session(bundle, context=context, selfcheck=True) as session:
        assert layer_error(session, "hidden", stored_inputs(bundle, "hidden", rng)) <= TOLERANCE


@pytest.mark.drivers("all")
def test_a_line_costs_the_shader_no_more_than_a_relu(context: Context) -> None:
    rng = np.random.default_rng(0)
    line = "piecewise_linear(0.166666667,0.5)"
    graphs = [
        classifier(rng, [input_node(5), conv_node(rng, "conv", ("image",), 3, 8, activation=name)], 8)
        for name in (line, "relu(1)")
    ]
    texts = []
    for graph in graphs:
        bundle = make_bundle(graph, "uniform")
        (program,) = {draw.program for draw in bundle.manifest.passes if draw.layer == "conv"}
        (fragment,) = (entry.fragment for entry in bundle.manifest.programs if entry.name == program)
        texts.append(bundle.members[fragment])
    assert texts[0] == texts[1]
    assert worst(context, graphs[0], "conv", [stored_map(rng, (5, 5, 3))]) <= TOLERANCE
