"""Prepared graphs: a padded image whose byte 0 is not the value 0 has its offset in alpha."""

from __future__ import annotations

import numpy as np
import pytest
from graphs import classifier, conv_node, input_node

from glsl_infer.compiler.ranges import Calibration, carry_offset_in_alpha, prepare
from glsl_infer.graph import Graph, Node, reference
from glsl_infer.lowering.target import Target

PICTURE = np.random.default_rng(0).integers(0, 256, (6, 6, 3), np.uint8)
AROUND = (1, 1, 1, 1)
CENTRED = {"scales": (2.0,), "zeros": (127.5,)}


def graph(groups: int = 1, padding: tuple[int, int, int, int] = AROUND, **picture: object) -> Graph:
    rng = np.random.default_rng(groups)
    node = conv_node(rng, "c", ("image",), 3, 6, kernel=(3, 3), groups=groups, padding=padding, activation="linear")
    return Graph("g", (input_node(6).with_attrs(**picture), node), "c")


@pytest.mark.parametrize("groups", [1, 3])
def test_the_same_function_in_one_group(groups: int) -> None:
    before = graph(groups, **CENTRED)
    after = carry_offset_in_alpha(before)
    node = after.by_name["c"]
    assert (node.attrs["alpha"], node.attrs["groups"]) == (True, 1)
    assert node.weights["kernel"].shape == (3, 3, 3, 6)
    np.testing.assert_allclose(
        reference.run(after, PICTURE, mode="float"), reference.run(before, PICTURE, mode="float"), rtol=1e-5, atol=1e-5
    )
    if groups == 3:
        assert np.count_nonzero(node.weights["kernel"]) == 9 * 6, "a filter reads its own channel only"


@pytest.mark.parametrize(
    "graph",
    [graph(), graph(3), graph(padding=(0, 0, 0, 0), **CENTRED), graph(scales=(255.0,), zeros=(0.0,))],
    ids=["over [0, 1]", "in groups", "not padded", "over [0, 255]"],
)
def test_graphs_without_an_offset_are_unchanged(graph: Graph) -> None:
    assert carry_offset_in_alpha(graph).nodes == graph.nodes


def test_only_readers_of_the_image_use_alpha() -> None:
    rng = np.random.default_rng(0)
    more = conv_node(rng, "d", ("c",), 6, 4, kernel=(3, 3), padding=AROUND)
    after = carry_offset_in_alpha(Graph("g", (*graph(**CENTRED).nodes, more), "d"))
    assert [node.attrs["alpha"] for node in after.nodes[1:]] == [True, False]


def test_the_report_of_all_that_was_decided() -> None:
    rng = np.random.default_rng(0)
    body = [
        input_node(6),
        conv_node(rng, "a", ("image",), 3, 40, activation="relu"),
        conv_node(rng, "b", ("a",), 40, 8),
    ]
    prepared = prepare(classifier(rng, body, 8), Calibration([PICTURE]), target=Target(layout="planar"))
    assert [(range.layer, range.by) for range in prepared.ranges] == [("a", "maximum"), ("b", "function")]
    assert [layer.layer for layer in prepared.wide] == ["b"]
    assert [scale.layer for scale in prepared.scales] == ["b-products", "pool", "dense"]
    assert reference.default_mode(prepared.graph) == "stored"
    assert all(isinstance(node, Node) for node in prepared.graph.nodes)
