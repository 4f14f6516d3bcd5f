"""Channels of zeros are drawn once for all layers that pad with them."""

from __future__ import annotations

import numpy as np
import pytest
from graphs import classifier, conv_node, input_node

from glsl_infer.compiler.optimize import optimize
from glsl_infer.compiler.ranges import Calibration, prepare
from glsl_infer.compiler.ranges.rewrites import dedupe_zero_maps
from glsl_infer.graph import Graph, Node, reference


def padded(rng: np.random.Generator, sizes: tuple[int, ...]) -> Graph:
    """Return convolutions with these strides, each of a map that the importer has padded by four channels of zeros."""
    nodes, name = [input_node(9), conv_node(rng, "a", ("image",), 3, 4)], "a"
    for index, stride in enumerate(sizes):
        attrs = {"strides": (1, 1), "padding": (0, 0, 0, 0), "groups": 4, "activation": "linear", "dilations": (1, 1)}
        weights = {"kernel": np.zeros((1, 1, 1, 4), np.float32), "bias": np.zeros(4, np.float32)}
        nodes += [
            Node(f"part{index}", "channel_gather", (name,), {"channels": (0, 1, 2, 3)}),
            Node(f"zeros{index}", "conv2d", (f"part{index}",), attrs, weights),
            Node(f"joined{index}", "concat", (name, f"zeros{index}")),
            conv_node(
                rng,
                f"b{index}",
                (f"joined{index}",),
                8,
                4,
                kernel=(3, 3),
                strides=(stride, stride),
                padding=(1, 1, 1, 1),
            ),
        ]
        name = f"b{index}"
    return classifier(rng, nodes, 4)


@pytest.mark.parametrize(("sizes", "left"), [((1, 1, 1), 1), ((1,), 1), ((1, 2, 1), 2)])
def test_one_layer_of_zeros_for_each_shape(sizes: tuple[int, ...], left: int) -> None:
    rng = np.random.default_rng(0)
    graph = padded(rng, sizes)
    shapes = {graph.shapes[node.name] for node in graph.nodes if node.name.startswith("zeros")}
    picture = rng.integers(0, 256, (9, 9, 3), np.uint8)
    prepared = prepare(optimize(graph), Calibration([{"image": picture}])).graph
    assert sum(node.name.startswith("zeros") for node in prepared.nodes) == len(shapes) == left
    np.testing.assert_allclose(
        reference.run(prepared, {"image": picture})[prepared.outputs[0].layers[0]],
        reference.run(graph, {"image": picture})[graph.outputs[0].layers[0]],
        atol=0.01,
    )
    assert dedupe_zero_maps(prepared) is prepared


@pytest.mark.parametrize(
    ("changed", "left"), [({}, 1), ({"scales": (2.0,)}, 2), ({"bits": 16}, 2), ({"fused": ("x",)}, 1)]
)
def test_zeros_that_are_stored_differently_stay(changed: dict[str, object], left: int) -> None:
    attrs = {"activation": "linear", "scales": (1.0,), "zeros": (0.0,), "bits": 8}
    weights = {"kernel": np.zeros((1, 1, 3, 4), np.float32), "bias": np.zeros(4, np.float32)}
    first = Node("one", "conv2d", ("image",), attrs, weights)
    other = Node("other", "conv2d", ("image",), {**attrs, **changed}, weights)
    graph = Graph("g", (input_node(5), first, other, Node("all", "concat", ("one", "other"))), "all")
    assert len([node for node in dedupe_zero_maps(graph).nodes if node.op == "conv2d"]) == left


def test_inputs_of_dropped_layers_only_are_dropped() -> None:
    rng = np.random.default_rng(1)
    same = [input_node(5), conv_node(rng, "a", ("image",), 3, 4)]
    attrs = {"strides": (1, 1), "padding": (0, 0, 0, 0), "groups": 1, "activation": "linear", "dilations": (1, 1)}
    weights = {"kernel": np.zeros((1, 1, 3, 4), np.float32), "bias": np.zeros(4, np.float32)}
    for index in range(3):
        same.append(Node(f"zeros{index}", "conv2d", ("image",), attrs, weights))
    same.append(Node("all", "concat", ("zeros0", "a", "zeros1", "zeros2")))
    picture = rng.integers(0, 256, (5, 5, 3), np.uint8)
    graph = prepare(optimize(classifier(rng, same, 16)), Calibration([{"image": picture}])).graph
    assert [node.name for node in graph.nodes if node.name.startswith("zeros")] == ["zeros0"]
    (concat,) = (node for node in graph.nodes if node.name == "all")
    assert concat.inputs == ("zeros0", "a", "zeros0", "zeros0")
