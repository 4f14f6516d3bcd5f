"""Every optimisation step keeps the reference's output and makes its intended change."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from graphs import PLS, conv_node, dense_node, input_node, pool_node

from glsl_infer.compiler import optimize
from glsl_infer.compiler.gutters import gutters
from glsl_infer.compiler.optimize import peel_endings
from glsl_infer.graph import Graph, Node, reference
from glsl_infer.graph.piecewise_linear import HARD_SIGMOID, SEVEN_PIECES


def batch_norm(rng: np.random.Generator, name: str, source: str, channels: int) -> Node:
    weights = {key: rng.normal(0, 1, channels).astype(np.float32) for key in ("gamma", "beta", "mean")}
    weights["variance"] = rng.uniform(0.2, 2, channels).astype(np.float32)
    return Node(name, "batch_norm", (source,), {"epsilon": 1e-3}, weights)


def network_for_all_steps(seed: int) -> Graph:
    """Return a network in which every step applies, with a case that the step must leave alone."""
    rng = np.random.default_rng(seed)
    linear = {"activation": "linear"}
    nodes = [
        input_node(11),
        Node("pad", "zero_padding", ("image",), {"padding": (1, 0, 2, 1)}),
        conv_node(rng, "a", ("pad",), 3, 8, kernel=(3, 3), padding=(0, 1, 0, 0), **linear),
        batch_norm(rng, "a-bn", "a", 8),
        batch_norm(rng, "a-bn2", "a-bn", 8),
        Node("a-drop", "identity", ("a-bn2",)),
        Node("a-act", "activation", ("a-drop",), {"function": PLS}),
        Node("same", "channel_shuffle", ("a-act",), {"step": 8}),
        conv_node(rng, "b", ("same",), 8, 8, kernel=(3, 3), padding=(1, 1, 1, 1), groups=2, **linear),
        batch_norm(rng, "b-bn", "b", 8),
        Node("b-add", "add", ("b-bn", "a-act"), linear),
        Node("b-act", "activation", ("b-add",), {"function": "sigmoid"}),
        Node("lin", "activation", ("b-act",), {"function": "linear"}),
        batch_norm(rng, "alone", "lin", 8),
        Node("alone-act", "activation", ("alone",), {"function": "hard_sigmoid"}),
        conv_node(rng, "read-twice", ("alone-act",), 8, 8, **linear),
        Node("one", "activation", ("read-twice",), {"function": "sigmoid"}),
        Node("two", "activation", ("read-twice",), {"function": PLS}),
        Node("sum", "add", ("one", "two"), linear),
        Node("sum-act", "activation", ("sum",), {"function": PLS}),
        pool_node("pool", "sum-act"),
        Node("flat", "flatten", ("pool",), {"scale": None}),
        dense_node(rng, "dense", "flat", 8, 5),
        batch_norm(rng, "dense-bn", "dense", 5),
        Node("dense-act", "activation", ("dense-bn",), {"function": "relu"}),
        dense_node(rng, "logits", "dense-act", 5, 4),
    ]
    return Graph("everything", tuple(nodes), "logits")


def outputs(graph: Graph, seed: int) -> np.ndarray:
    picture = np.random.default_rng(seed).integers(0, 256, (11, 11, 3), np.uint8)
    return reference.run(graph, picture, mode="float")


@pytest.mark.parametrize("step", optimize.STEPS, ids=lambda step: step.__name__)
@pytest.mark.parametrize("seed", [0, 1])
def test_each_step_alone_changes_no_output(step: Callable[[Graph], Graph], seed: int) -> None:
    graph = network_for_all_steps(seed)
    np.testing.assert_allclose(outputs(step(graph), seed), outputs(graph, seed), rtol=1e-4, atol=1e-4)


def test_sigmoids_of_straight_pieces_get_their_numbers() -> None:
    results = {node.name: node.attrs for node in optimize.sigmoids_as_pieces(network_for_all_steps(0)).nodes}
    assert results["alone-act"]["function"] == HARD_SIGMOID.name
    assert results["sum-act"]["function"] == SEVEN_PIECES.name == "piecewise_linear(0.05,0.125,1,0,0.25,2,0.2,0.3)"
    assert results["one"]["function"] == "sigmoid"


def test_the_original_graph_is_left_alone() -> None:
    graph = network_for_all_steps(0)
    before = str(graph), graph.by_name["a"].weights["kernel"].copy()
    optimize.optimize(graph)
    assert str(graph) == before[0]
    np.testing.assert_array_equal(graph.by_name["a"].weights["kernel"], before[1])


def test_all_steps_together_keep_the_outputs() -> None:
    graph = network_for_all_steps(2)
    small = optimize.optimize(graph)
    np.testing.assert_allclose(outputs(small, 2), outputs(graph, 2), rtol=1e-4, atol=1e-4)
    assert [(node.name, node.op) for node in small.nodes] == [
        ("image", "input"),
        ("a", "conv2d"),
        ("b", "conv2d"),
        ("alone", "conv2d"),
        ("read-twice", "conv2d"),
        ("one", "activation"),
        ("two", "activation"),
        ("sum", "add"),
        ("pool", "global_average_pool"),
        ("dense", "dense"),
        ("logits", "dense"),
    ]
    a, b = small.by_name["a"], small.by_name["b"]
    assert a.attrs["padding"] == (1, 1, 2, 1)
    assert a.attrs["fused"] == ("a-bn", "a-bn2", "a-act")
    assert b.inputs == ("a", "a")
    assert b.attrs["activation"] == "sigmoid"
    assert small.by_name["alone"].attrs["groups"] == 8
    assert small.by_name["alone"].attrs["activation"] == "piecewise_linear(0.166666667,0.5)"
    assert small.by_name["dense"].attrs["activation"] == "relu"


def test_optimising_is_idempotent() -> None:
    once = optimize.optimize(network_for_all_steps(0))
    assert str(optimize.optimize(once)) == str(once)


def test_final_softmax_goes_and_others_stay() -> None:
    rng = np.random.default_rng(0)
    nodes = [
        input_node(5),
        pool_node("pool", "image"),
        dense_node(rng, "one", "pool", 3, 4),
        Node("inner", "softmax", ("one",)),
        dense_node(rng, "two", "inner", 4, 3),
        Node("last", "softmax", ("two",)),
    ]
    small = peel_endings(Graph("g", tuple(nodes), "last"))
    assert (small.output, small.outputs[0].steps) == ("two", ())
    assert "inner" in small.by_name


def test_a_convolution_that_is_the_output_keeps_its_name_and_value() -> None:
    rng = np.random.default_rng(0)
    nodes = (input_node(5), conv_node(rng, "conv", ("image",), 3, 4, activation="linear"))
    graph = Graph("g", (*nodes, Node("act", "activation", ("conv",), {"function": PLS})), "conv")
    assert optimize.optimize(graph).by_name["conv"].attrs["activation"] == "linear"


def test_a_residual_keeps_the_sum_s_own_activation() -> None:
    rng = np.random.default_rng(0)
    nodes = [
        input_node(11),
        conv_node(rng, "a", ("image",), 3, 3, activation="linear"),
        Node("sum", "add", ("a", "image"), {"activation": "relu"}),
    ]
    graph = Graph("g", tuple(nodes), "sum")
    np.testing.assert_allclose(outputs(optimize.optimize(graph), 0), outputs(graph, 0), atol=1e-5)
    assert outputs(graph, 0).min() == 0


def test_a_sum_of_many_maps_becomes_sums_that_a_draw_can_read() -> None:
    rng = np.random.default_rng(0)
    terms = [conv_node(rng, f"c{index}", ("image",), 3, 4) for index in range(17)]
    total = Node("sum", "add", tuple(node.name for node in terms), {"activation": "relu(6)"})
    graph = Graph("g", (input_node(4), *terms, total), "sum")
    small = optimize.optimize(graph)
    sums = [node for node in small.nodes if node.op == "add"]
    assert [len(node.inputs) for node in sums] == [8, 8, 3]
    picture = rng.integers(0, 256, (4, 4, 3), np.uint8)
    np.testing.assert_allclose(reference.run(small, picture), reference.run(graph, picture), rtol=1e-6)


@pytest.mark.parametrize("padding", [(0, 0, 127, 127), (65, 0, 64, 0), (200, 3, 0, 130)])
def test_padding_wider_than_a_gutter_is_split(padding: tuple[int, int, int, int]) -> None:
    rng = np.random.default_rng(0)
    kernel = (padding[0] + padding[1] + 1, padding[2] + padding[3] + 1)
    graph = Graph(
        "wide", (input_node(11), conv_node(rng, "conv", ("image",), 3, 2, kernel=kernel, padding=padding)), "conv"
    )
    split = optimize.split_wide_padding(graph)
    assert max(gutters(split).values()) <= 64
    assert [node.op for node in split.nodes[1:-1]] == ["zero_padding"] * len(split.nodes[1:-1]) != []
    np.testing.assert_allclose(outputs(split, 0), outputs(graph, 0), atol=1e-4)
    assert max(gutters(optimize.optimize(graph)).values()) <= 64
