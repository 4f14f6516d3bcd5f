"""Linear readers of a sum read its terms, with the same result."""

from __future__ import annotations

import numpy as np
import pytest
from graphs import conv_node, dense_node, pool_node
from optimized import optimized

from glsl_infer.graph import Graph, Node


def ops_of(graph: Graph) -> list[str]:
    return [node.op for node in graph.nodes if node.op != "input"]


def terms(count: int, channels: int, **attrs: object) -> list[Node]:
    """Return maps, and the node ``sum`` of them."""
    rng = np.random.default_rng(0)
    maps = [conv_node(rng, f"map{index}", ("image",), 3, channels) for index in range(count)]
    return [*maps, Node("sum", "add", tuple(node.name for node in maps), attrs)]


def averaged(count: int, channels: int, outputs: int = 5, **attrs: object) -> Graph:
    dense = dense_node(np.random.default_rng(2), "dense", "mean", channels, outputs)
    return optimized(*terms(count, channels, **attrs), pool_node("mean", "sum"), dense)


def convolved(channels: int, filters: int, **attrs: object) -> Graph:
    rng = np.random.default_rng(2)
    return optimized(*terms(2, channels), conv_node(rng, "end", ("sum",), channels, filters, **attrs))


@pytest.mark.parametrize(("count", "channels"), [(2, 8), (3, 6), (2, 64), (2, 130)])
def test_the_terms_of_a_sum_are_averaged(count: int, channels: int) -> None:
    graph = averaged(count, channels)
    assert ops_of(graph) == ["conv2d"] * count + ["global_average_pool", "dense"]
    assert graph.by_name["dense"].inputs == ("mean-terms",)
    assert graph.shapes["mean-terms"] == (count * channels,)


@pytest.mark.parametrize(
    ("count", "channels", "attrs"),
    [
        (2, 7, {}),  # a texel has two elements
        (3, 44, {}),  # the dense layer would take two passes
        (2, 8, {"activation": "relu"}),
    ],
)
def test_other_sums_are_drawn_before_they_are_averaged(count: int, channels: int, attrs: dict[str, object]) -> None:
    assert ops_of(averaged(count, channels, **attrs)) == ["conv2d"] * count + ["add", "global_average_pool", "dense"]


def test_a_sum_with_two_readers_is_drawn() -> None:
    rng = np.random.default_rng(2)
    dense = dense_node(rng, "dense", "mean", 8, 8)
    gated = Node("gated", "binary", ("sum", "dense"), {"operation": "multiply"})
    graph = optimized(*terms(2, 8), pool_node("mean", "sum"), dense, gated)
    assert ops_of(graph) == ["conv2d", "conv2d", "add", "global_average_pool", "dense", "binary"]


@pytest.mark.parametrize("op", ["upsample_bilinear", "upsample_nearest"])
def test_maps_are_averaged_before_they_are_enlarged(op: str) -> None:
    rng = np.random.default_rng(0)
    nodes = [
        conv_node(rng, "a", ("image",), 3, 8),
        Node("up", op, ("a",), {"size": (2, 3)}),
        Node("again", op, ("up",), {"size": (3, 1)}),
    ]
    assert ops_of(optimized(*nodes, pool_node("mean", "again"))) == ["conv2d", "global_average_pool"]
    gates = Node("gated", "binary", ("again", "mean"), {"operation": "multiply"})
    graph = optimized(*nodes, pool_node("mean", "again"), gates)
    assert ops_of(graph) == ["conv2d", op, op, "global_average_pool", "binary"]
    assert graph.by_name["mean"].inputs == ("a",)


def test_a_term_is_averaged_before_it_is_enlarged() -> None:
    rng = np.random.default_rng(0)
    graph = optimized(
        conv_node(rng, "large", ("image",), 3, 8),
        conv_node(rng, "small", ("image",), 3, 8, kernel=(2, 2), strides=(2, 2)),
        Node("up", "upsample_bilinear", ("small",), {"size": (2, 2)}),
        Node("sum", "add", ("large", "up")),
        pool_node("mean", "sum"),
        dense_node(rng, "dense", "mean", 8, 8, activation="sigmoid"),
        Node("gated", "binary", ("large", "dense"), {"operation": "multiply"}),
        Node("end", "add", ("gated", "up")),
    )
    assert graph.by_name["mean-terms"].inputs == ("large", "small")
    assert ops_of(graph) == ["conv2d", "conv2d", "upsample_bilinear", "global_average_pool", "dense", "binary", "add"]


def test_terms_are_convolved_as_channels_of_one_map() -> None:
    graph = convolved(8, 6)
    assert ops_of(graph) == ["conv2d", "conv2d", "concat", "conv2d"]
    assert graph.by_name["end"].weights["kernel"].shape == (1, 1, 16, 6)


@pytest.mark.parametrize(
    ("channels", "filters", "attrs"),
    [
        (6, 4, {}),  # not a view
        (8, 4, {"kernel": (3, 3)}),
        (8, 4, {"groups": 2}),
        (8, 4, {"padding": (1, 0, 0, 0)}),
        (68, 4, {}),  # more slices than a draw of 16 bits reads
        (64, 2400, {}),  # the products take longer than the sum
    ],
)
def test_other_convolutions_read_the_sum(channels: int, filters: int, attrs: dict[str, object]) -> None:
    assert ops_of(convolved(channels, filters, **attrs)) == ["conv2d", "conv2d", "add", "conv2d"]


def test_a_sum_in_the_draw_of_a_product_stays() -> None:
    rng = np.random.default_rng(2)
    maps = [conv_node(rng, name, ("image",), 3, 8) for name in "abc"]
    gated = Node("gated", "binary", ("a", "b"), {"operation": "multiply"})
    graph = optimized(*maps, gated, Node("sum", "add", ("gated", "c")), conv_node(rng, "end", ("sum",), 8, 4))
    assert ops_of(graph) == ["conv2d"] * 3 + ["binary", "add", "conv2d"]
