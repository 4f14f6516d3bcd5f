"""Piecewise linear sigmoids with random parameters, in every layer with an activation."""

from __future__ import annotations

import numpy as np
import pytest
from graphs import classifier, conv_node, dense_node, input_node, pool_node, stored_map
from layer_check import TOLERANCE, layer_error, make_bundle, stored_inputs, worst
from pairwise import each_of
from random_networks import drawn_nodes

from glsl_infer.gl.context import Context
from glsl_infer.graph import Graph, Node
from glsl_infer.graph.piecewise_linear import of_slopes
from glsl_infer.runtime.session import Session

pytestmark = pytest.mark.drivers("all")

SAME = (1, 1, 1, 1)


def random_function(seed: int) -> str:
    """Return a function with zero to three pairs of breakpoints around a random centre."""
    rng = np.random.default_rng(seed)
    count = seed % 4
    bends = [(-left, right) for left, right in rng.uniform(0.0, 4.0, (count, 2))]
    slopes = rng.choice([0.0, 0.02, 0.1, 0.4], count) * rng.uniform(0.5, 1.5, count)
    centre = (rng.normal(0.0, 1.0), rng.uniform(0.2, 0.8))
    return of_slopes(rng.uniform(0.002, 0.3), slopes.tolist(), bends, centre).name


@each_of(("seed", range(8)), ("weights", ["baked", "uniform"]))
def test_behind_convolutions_residuals_and_sums(context: Context, seed: int, weights: str) -> None:
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
    made = make_bundle(classifier(rng, body, 6), weights, layout="planar")
    assert "convolution_sum" in {node.op for node in made.graph.nodes}
    with Session(made, context=context, selfcheck=True) as session:
        for node in drawn_nodes(made):
            assert layer_error(session, node.name, stored_inputs(made, node.name, rng)) <= TOLERANCE, node.name


@pytest.mark.parametrize("seed", range(4))
def test_behind_a_dense_layer(context: Context, seed: int) -> None:
    rng = np.random.default_rng(seed)
    nodes = (
        input_node(3),
        conv_node(rng, "conv", ("image",), 3, 7),
        pool_node("pool", "conv"),
        dense_node(rng, "hidden", "pool", 7, 9, activation=random_function(seed)),
        dense_node(rng, "dense", "hidden", 9, 3),
    )
    made = make_bundle(Graph("test", nodes, "dense"))
    with Session(made, context=context, selfcheck=True) as session:
        assert layer_error(session, "hidden", stored_inputs(made, "hidden", rng)) <= TOLERANCE


def test_a_line_leaves_the_shader_nothing(context: Context) -> None:
    rng = np.random.default_rng(0)
    line = "piecewise_linear(0.166666667,0.5)"
    graphs = [
        classifier(rng, [input_node(5), conv_node(rng, "conv", ("image",), 3, 8, activation=name)], 8)
        for name in (line, "relu(1)")
    ]
    texts = []
    for graph in graphs:
        made = make_bundle(graph, "uniform")
        (program,) = {one.program for one in made.manifest.passes if one.layer == "conv"}
        (fragment,) = (one.fragment for one in made.manifest.programs if one.name == program)
        texts.append(made.members[fragment])
    assert texts[0] == texts[1]
    assert worst(context, graphs[0], "conv", [stored_map(rng, (5, 5, 3))]) <= TOLERANCE
