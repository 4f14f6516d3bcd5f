"""Long vectors are stored in parts, flattened maps are laid out in rows, and vectors become maps."""

from __future__ import annotations

import numpy as np
import pytest
from graphs import conv_node, dense_node, input_node, pool_node

from glsl_infer.compiler.optimize import optimize
from glsl_infer.errors import ModelError
from glsl_infer.graph import Graph, Node, host_steps, reference

RNG = np.random.default_rng(0)
LINEAR = {"activation": "linear"}


def flatten(source: str, name: str = "flat") -> Node:
    return Node(name, "flatten", (source,), {"scale": None})


def checked(nodes: list[Node], output: str) -> Graph:
    """Return the optimised graph, after comparing its outputs with the original's."""
    graph = Graph("test", nodes, output)
    optimized = optimize(graph)
    picture = np.random.default_rng(1).integers(0, 256, graph.input.attrs["shape"], np.uint8)
    expected = reference.run(graph, picture, mode="float")
    values = dict(reference.layers(optimized, picture, mode="float"))
    (end,) = optimized.outputs
    result = host_steps.apply(end.steps, [values[layer] for layer in end.layers])
    assert np.abs(result - expected).max() <= 1e-5 * max(1.0, np.abs(expected).max())
    return optimized


def kinds(graph: Graph) -> list[str]:
    return [node.op for node in graph.nodes]


@pytest.mark.parametrize("channels", [1, 3, 8])
def test_a_flattened_map_before_a_dense_layer(channels: int) -> None:
    nodes = [
        input_node(5),
        conv_node(RNG, "conv", ("image",), 3, channels),
        flatten("conv"),
        dense_node(RNG, "dense", "flat", 25 * channels, 4),
    ]
    assert kinds(checked(nodes, "dense")) == ["input", "conv2d", "flatten_rows", "dense"]


def test_a_picture_is_flattened() -> None:
    nodes = [input_node(5, 1), flatten("image"), dense_node(RNG, "dense", "flat", 25, 4)]
    assert kinds(checked(nodes, "dense")) == ["input", "flatten_rows", "dense"]


def test_more_than_a_texture_holds() -> None:
    nodes = [
        input_node(12),
        conv_node(RNG, "conv", ("image",), 3, 64),
        flatten("conv"),
        dense_node(RNG, "dense", "flat", 9216, 8, activation="relu"),
        dense_node(RNG, "last", "dense", 8, 3),
    ]
    optimized = checked(nodes, "last")
    assert kinds(optimized) == ["input", "conv2d", *["flatten_rows"] * 3, *["dense"] * 3, "vector_sum", "dense"]
    assert optimized.by_name["dense"].attrs["activation"] == "relu"
    assert all(
        len(optimized.shapes[node.name]) == 3 or optimized.shapes[node.name][0] <= 4096 for node in optimized.nodes
    )


def test_a_flattened_map_concatenated_with_a_vector() -> None:
    nodes = [
        input_node(12),
        conv_node(RNG, "conv", ("image",), 3, 35),
        flatten("conv"),
        pool_node("pool", "conv"),
        Node("all", "concat", ("flat", "pool")),
        dense_node(RNG, "dense", "all", 144 * 35 + 35, 3),
    ]
    assert kinds(checked(nodes, "dense"))[2:] == [
        *["flatten_rows"] * 2,
        "global_average_pool",
        *["dense"] * 3,
        "vector_sum",
    ]


def test_an_activation_of_a_long_flattened_map() -> None:
    nodes = [
        input_node(12),
        conv_node(RNG, "conv", ("image",), 3, 35),
        flatten("conv"),
        Node("act", "activation", ("flat",), {"function": "sigmoid"}),
        dense_node(RNG, "dense", "act", 144 * 35, 3),
    ]
    assert kinds(checked(nodes, "dense"))[2:] == [
        *["flatten_rows"] * 2,
        *["vector_sum"] * 2,
        *["dense"] * 2,
        "vector_sum",
    ]


def test_slopes_of_their_own_for_many_outputs_are_refused() -> None:
    slopes = ",".join(["0.1", "0.2"] * 1500)
    nodes = [input_node(2), pool_node("pool", "image"), dense_node(RNG, "dense", "pool", 3, 3000)]
    nodes[-1] = nodes[-1].with_attrs(activation=f"prelu({slopes})")
    with pytest.raises(ModelError, match="'prelu'"):
        optimize(Graph("test", nodes, "dense"))


def test_more_parts_than_a_draw_can_add() -> None:
    nodes = [
        input_node(48),
        conv_node(RNG, "conv", ("image",), 3, 16),
        flatten("conv"),
        dense_node(RNG, "dense", "flat", 48 * 48 * 16, 2),
    ]
    optimized = checked(nodes, "dense")
    assert kinds(optimized).count("dense") == 10
    assert [len(node.inputs) for node in optimized.nodes if node.op == "vector_sum"] == [8, 2, 2]


def test_many_outputs() -> None:
    nodes = [input_node(2), pool_node("pool", "image"), dense_node(RNG, "dense", "pool", 3, 3000, activation="relu")]
    assert kinds(checked(nodes, "dense"))[2:] == ["dense", "dense", "vector_concat"]
    nodes = [input_node(2), pool_node("pool", "image"), dense_node(RNG, "dense", "pool", 3, 5000)]
    nodes.append(Node("act", "activation", ("dense",), {"function": "relu"}))
    optimized = checked(nodes, "act")
    assert kinds(optimized)[2:] == ["dense"] * 3
    assert [step.step for step in optimized.outputs[0].steps] == ["concatenate"]
    nodes[-1] = Node("sum", "add", ("dense", "dense"), LINEAR)
    assert kinds(checked(nodes, "sum"))[2:] == ["dense"] * 3 + ["vector_sum"] * 3


@pytest.mark.parametrize("channels", [1, 6, 160])
def test_maps_of_dense_layers(channels: int) -> None:
    count = 36 * channels
    nodes = [
        input_node(2),
        pool_node("pool", "image"),
        dense_node(RNG, "dense", "pool", 3, count, activation="sigmoid"),
        Node("map", "reshape", ("dense",), {"shape": (6, 6, channels)}),
        conv_node(RNG, "conv", ("map",), channels, 3),
    ]
    optimized = checked(nodes, "conv")
    assert kinds(optimized)[2:] == [*["dense"] * -(-count // 2048), "vector_map", "conv2d"]
    assert optimized.by_name["map"].attrs["activation"] == "sigmoid"


def test_operations_on_vectors() -> None:
    norm = {key: RNG.uniform(0.5, 1.5, 8).astype(np.float32) for key in ("gamma", "beta", "mean", "variance")}
    nodes = [
        input_node(5),
        conv_node(RNG, "conv", ("image",), 3, 8),
        pool_node("pool", "conv"),
        dense_node(RNG, "gate", "pool", 8, 8, activation="sigmoid"),
        Node("product", "binary", ("pool", "gate"), {"operation": "multiply"}),
        Node("norm", "batch_norm", ("product",), {"epsilon": 1e-3}, norm),
        Node("act", "activation", ("norm",), {"function": "tanh"}),
    ]
    optimized = checked(nodes, "act")
    assert kinds(optimized)[3:] == ["dense", "vector_binary", "vector_affine"]
    assert optimized.nodes[-1].attrs["activation"] == "tanh"


def test_operators_that_need_an_entire_long_vector_are_refused() -> None:
    nodes = [
        input_node(2),
        pool_node("pool", "image"),
        dense_node(RNG, "dense", "pool", 3, 5000),
        Node("some", "vector_gather", ("dense",), {"channels": (0, 1)}),
    ]
    with pytest.raises(ModelError, match="a vector_gather of a vector of 5000 values; at most 4096"):
        optimize(Graph("test", nodes, "some"))
