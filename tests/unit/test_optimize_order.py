"""Layers that commute are drawn in the cheaper order, with the same result."""

from __future__ import annotations

import numpy as np
import pytest
from graphs import conv_node, input_node
from optimized import optimized

from glsl_infer.compiler import optimize
from glsl_infer.graph import Graph, Node
from glsl_infer.graph.node import OBSERVED_RANGE


def ops_of(graph: Graph) -> list[str]:
    return [node.op for node in graph.nodes if node.op not in ("input", "input_fixed")]


def enlarged(op: str, filters: int = 4, **attrs: object) -> Graph:
    rng = np.random.default_rng(0)
    return optimized(
        conv_node(rng, "a", ("image",), 3, 8),
        Node("up", op, ("a",), {"size": (2, 3)}),
        conv_node(rng, "b", ("up",), 8, filters, **attrs),
    )


@pytest.mark.parametrize(
    ("op", "activation"),
    [("upsample_bilinear", "linear"), ("upsample_nearest", "linear"), ("upsample_nearest", "relu")],
)
def test_single_pixels_are_convolved_before_they_are_enlarged(op: str, activation: str) -> None:
    graph = enlarged(op, activation=activation)
    assert ops_of(graph) == ["conv2d", "conv2d", op]
    assert [node.name for node in graph.nodes] == ["image", "a", "b-before", "b"]


@pytest.mark.parametrize(
    ("filters", "attrs"),
    [
        (12, {"activation": "linear"}),  # more channels to enlarge
        (4, {"activation": "relu"}),
        (4, {"activation": "linear", "strides": (2, 2)}),
        (4, {"activation": "linear", "kernel": (3, 3)}),
        (4, {"activation": "linear", "padding": (1, 0, 0, 0)}),
    ],
)
def test_other_convolutions_stay_after_the_enlargement(filters: int, attrs: dict[str, object]) -> None:
    assert ops_of(enlarged("upsample_bilinear", filters, **attrs)) == ["conv2d", "upsample_bilinear", "conv2d"]


@pytest.mark.parametrize("op", ["upsample_bilinear", "upsample_nearest"])
def test_the_range_of_a_quantised_file_is_that_of_both_layers(op: str) -> None:
    """Interpolated values have a smaller range than the values before, which the file does not have."""
    rng = np.random.default_rng(0)
    nodes = [conv_node(rng, "a", ("image",), 3, 8), Node("up", op, ("a",), {"size": (2, 2)})]
    nodes.append(conv_node(rng, "b", ("up",), 8, 4, activation="linear").with_attrs(**{OBSERVED_RANGE: (-1.0, 2.0)}))
    graph = optimize.optimize(Graph("order", (input_node(6), *nodes), "b"))
    names = [node.name for node in graph.nodes if node.attrs.get(OBSERVED_RANGE) == (-1.0, 2.0)]
    assert names == (["b-before", "b"] if op == "upsample_nearest" else ["b"])


def test_an_enlarged_map_with_two_readers_stays() -> None:
    rng = np.random.default_rng(0)
    graph = optimized(
        conv_node(rng, "a", ("image",), 3, 4),
        Node("up", "upsample_bilinear", ("a",), {"size": (2, 2)}),
        conv_node(rng, "b", ("up",), 4, 4, activation="linear"),
        Node("product", "binary", ("up", "b"), {"operation": "multiply"}),
    )
    assert ops_of(graph) == ["conv2d", "upsample_bilinear", "conv2d", "binary"]


@pytest.mark.parametrize(
    "move",
    [
        Node("m", "depth_to_space", ("a",), {"block": 2}),
        Node("m", "transpose", ("a",)),
        Node("m", "channel_shuffle", ("a",), {"step": 8}),
        Node("m", "mirror_padding", ("a",), {"padding": (1, 1, 2, 0)}),
        Node("m", "upsample_nearest", ("a",), {"size": (2, 2)}),
    ],
    ids=lambda node: node.op,
)
def test_an_activation_is_fused_across_a_move(move: Node) -> None:
    rng = np.random.default_rng(0)
    a = conv_node(rng, "a", ("image",), 3, 64, activation="linear")
    graph = optimized(a, move, Node("act", "activation", ("m",), {"function": "sigmoid"}))
    assert ops_of(graph) == ["conv2d", move.op]
    assert [node.name for node in graph.nodes][1:] == ["act-before", "act"]


def test_activations_of_parts_and_of_channels_stay() -> None:
    rng = np.random.default_rng(0)
    a = conv_node(rng, "a", ("image",), 3, 8, activation="linear")
    part = Node("m", "spatial_slice", ("a",), {"begin": (0, 0), "size": (1, 1)})
    graph = optimized(a, part, Node("act", "activation", ("m",), {"function": "sigmoid"}))
    assert ops_of(graph) == ["conv2d", "spatial_slice", "activation"]
    each = Node("act", "activation", ("m",), {"function": "prelu(" + ",".join(["0.1"] * 7 + ["0.2"]) + ")"})
    graph = optimized(a, Node("m", "transpose", ("a",)), each)
    assert ops_of(graph) == ["conv2d", "transpose", "activation"]
