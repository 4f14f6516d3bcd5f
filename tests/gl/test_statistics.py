"""Reductions and normalisations of many channels and large maps, and optimised local response normalisation."""

from __future__ import annotations

import numpy as np
import pytest
from graphs import classifier, conv_node, input_node, pool_node
from layer_check import TOLERANCE, layer_error, make_bundle, stored_inputs
from pairwise import each_of
from random_networks import drawn_nodes

from glsl_infer.compiler.optimize import optimize
from glsl_infer.errors import ModelError
from glsl_infer.gl.context import Context
from glsl_infer.graph import Graph, Node
from glsl_infer.runtime.session import Session

pytestmark = pytest.mark.drivers("all")


def check(context: Context, graph: Graph, size: int) -> None:
    """Compare every layer of an optimised graph with its reference."""
    rng = np.random.default_rng(1)
    pictures = [rng.integers(0, 256, (size, size, 3), np.uint8) for _ in range(2)]
    bundle = make_bundle(optimize(graph), pictures=pictures)
    with Session(bundle, context=context, selfcheck=True) as session:
        for node in drawn_nodes(bundle):
            error = layer_error(session, node.name, stored_inputs(bundle, node.name, rng))
            assert error <= TOLERANCE, (node.name, error)


def test_norms_over_many_channels_are_exact(context: Context) -> None:
    rng, channels = np.random.default_rng(0), 130
    gamma = tuple(rng.normal(0.5, 1.0, channels).tolist())
    body = [
        input_node(4),
        conv_node(rng, "stem", ("image",), 3, channels, activation="linear"),
        Node("layer", "channel_norm", ("stem",), {"gamma": gamma, "beta": gamma, "epsilon": 1e-6}),
        Node("rms", "channel_norm", ("layer",), {"kind": "rms"}),
        Node("unit", "channel_norm", ("rms",), {"kind": "unit", "epsilon": 0.0}),
        Node("shares", "channel_softmax", ("stem",)),
        Node("sum", "add", ("unit", "shares")),
        Node("number", "channel_argmax", ("stem",)),
        Node("least", "channel_extreme", ("sum",), {"operation": "min"}),
        Node("both", "binary", ("number", "least"), {"operation": "multiply"}),
        Node("all", "binary", ("sum", "both"), {"operation": "add"}),
    ]
    check(context, classifier(rng, body, channels), 4)


def test_a_norm_over_more_channels_than_a_row_of_tiles_has(context: Context) -> None:
    rng, channels = np.random.default_rng(0), 258
    gamma = tuple(rng.normal(0.5, 1.0, channels).tolist())
    body = [
        input_node(3),
        conv_node(rng, "stem", ("image",), 3, channels, activation="linear"),
        Node("layer", "channel_norm", ("stem",), {"gamma": gamma, "beta": gamma, "epsilon": 1e-6}),
        Node("most", "channel_extreme", ("layer",), {"operation": "max"}),
    ]
    check(context, classifier(rng, body, 1), 3)


@pytest.mark.parametrize("size", [48, 49])
def test_a_large_map(context: Context, size: int) -> None:
    """A map of 48x48 pixels is averaged in windows first; 49x49 has no windows."""
    rng = np.random.default_rng(0)
    both = ("mean", "deviation")
    body = [
        input_node(size),
        conv_node(rng, "stem", ("image",), 3, 6, activation="linear"),
        pool_node("mean", "stem"),
        Node("deviation", "global_deviation", ("stem",)),
        *(Node(f"group-{name}", "group_statistics", both, {"groups": 2, "statistic": name}) for name in both),
        Node("norm", "map_norm", ("stem", "group-mean", "group-deviation"), {"activation": "relu"}),
    ]
    check(context, classifier(rng, body, 6), size)


@each_of(("region", ["across", "within"]), ("beta", [0.5, 0.75]))
def test_local_responses(context: Context, region: str, beta: float) -> None:
    rng = np.random.default_rng(0)
    attrs = {"size": 5, "alpha": 0.2, "beta": beta, "bias": 2.0, "region": region}
    body = [
        input_node(9),
        conv_node(rng, "stem", ("image",), 3, 10, activation="relu"),
        Node("n", "local_response_norm", ("stem",), attrs),
    ]
    check(context, classifier(rng, body, 10), 9)


def test_many_channels_in_planar_layout_are_refused_with_a_remedy() -> None:
    rng = np.random.default_rng(0)
    body = [
        input_node(4),
        conv_node(rng, "stem", ("image",), 3, 36, activation="sigmoid"),
        Node("n", "channel_softmax", ("stem",)),
    ]
    with pytest.raises(ModelError, match="layer 'n'"):
        make_bundle(classifier(rng, body, 36), layout="planar")
