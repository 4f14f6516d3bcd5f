"""Ranges of layers, and the requirements of their readers."""

from __future__ import annotations

import numpy as np
import pytest
from graphs import conv_node, dense_node, input_node, pool_node

from glsl_infer.compiler.ranges import Calibration
from glsl_infer.compiler.ranges.eight_bits import MANY, MOST_GROWTH, assign_ranges, expected_growth
from glsl_infer.compiler.ranges.intervals import bounds_of
from glsl_infer.compiler.ranges.observed import Observation
from glsl_infer.errors import ModelError
from glsl_infer.graph import Graph, Node
from glsl_infer.program.layout import Range

RNG = np.random.default_rng(0)
PICTURES = [np.random.default_rng(seed).integers(0, 256, (8, 8, 3), np.uint8) for seed in range(3)]
ADVICE = r"give typical images with --images DIR, or follow the layer with ReLU\(max_value=...\) or a sigmoid"


def conv(name: str, source: str, channels: int, filters: int, activation: str, **options: object) -> Node:
    return conv_node(
        np.random.default_rng(len(name)), name, (source,), channels, filters, activation=activation, **options
    )


def classifier(*body: Node) -> Graph:
    """Return a network of an input, the nodes, a global mean and two classes."""
    channels = Graph("g", (input_node(8), *body), body[-1].name).shapes[body[-1].name][2]
    tail = (pool_node("pool", body[-1].name), dense_node(RNG, "dense", "pool", channels, 2))
    return Graph("g", (input_node(8), *body, *tail), "dense")


def ranges(graph: Graph, pictures: object = PICTURES) -> dict[str, Range]:
    """Return the assigned range of each node that has one."""
    ranged = assign_ranges(graph, Calibration(pictures)).graph
    return {
        node.name: Range(node.attrs["scales"], node.attrs["zeros"])
        for node in ranged.nodes
        if node.attrs.get("scales") is not None
    }


@pytest.mark.parametrize("function", ["linear", "relu"])
def test_an_open_range_needs_pictures(function: str) -> None:
    graph = classifier(conv("a", "image", 3, 4, "sigmoid"), conv("b", "a", 4, 4, function))
    with pytest.raises(ModelError, match=rf"layer 'b': the values of '{function}' have no fixed range; {ADVICE}"):
        assign_ranges(graph)
    more = classifier(conv("a", "image", 3, 4, function), conv("b", "a", 4, 4, "relu"))
    with pytest.raises(ModelError, match="layer 'a'"):
        assign_ranges(more)
    assert min(ranges(more)["b"].scales) > 0.0


@pytest.mark.parametrize("function", ["sigmoid", "hard_sigmoid", "piecewise_linear_sigmoid"])
@pytest.mark.parametrize("pictures", [(), PICTURES], ids=["none", "three"])
def test_a_sigmoid_keeps_its_own(function: str, pictures: object) -> None:
    graph = classifier(conv("a", "image", 3, 4, function), Node("b", "activation", ("a",), {"function": function}))
    assert ranges(graph, pictures) == dict.fromkeys(("image", "a", "b"), Range())
    assert [choice.by for choice in assign_ranges(graph, Calibration(pictures)).choices] == ["function", "function"]


def test_relu6_needs_no_pictures_but_gains_by_them() -> None:
    weak = conv("a", "image", 3, 4, "relu(6)")
    weak = Node(weak.name, weak.op, weak.inputs, weak.attrs, {key: array * 0.1 for key, array in weak.weights.items()})
    graph = classifier(weak)
    assert ranges(graph, ())["a"] == Range((6.0,), (0.0,))
    assigned = assign_ranges(graph, Calibration(PICTURES))
    assert max(assigned.graph.by_name["a"].attrs["scales"]) < 1.0
    assert assigned.choices[0].by == "maximum"
    assert assign_ranges(graph, Calibration(PICTURES, percentile=99.0)).choices[0].by == "percentile 99"
    assert assign_ranges(graph).choices[0].by == "function"


def test_a_learnt_range_ends_where_the_function_does() -> None:
    bounds = ranges(classifier(conv("a", "image", 3, 8, "relu(0.25)")))["a"]
    assert max(bounds.scales) == 0.25
    assert set(bounds.zeros) == {0.0}


def padded(source: str, channels: int) -> Node:
    """Return a padded convolution."""
    return conv("end", source, channels, 4, "sigmoid", kernel=(3, 3), padding=(1, 1, 1, 1))


SHUFFLE = Node("via", "channel_shuffle", ("a",), {"step": 8})
POOL = Node("via", "max_pool", ("a",), {"pool": (2, 2)})
MEAN = Node("via", "average_pool", ("a",), {"pool": (2, 2)})


@pytest.mark.parametrize("via", [None, SHUFFLE, POOL, MEAN], ids=["nothing", "shuffle", "max_pool", "average_pool"])
def test_padded_maps_have_one_zero_point(via: Node | None) -> None:
    """A gutter has one colour, so a padded map has one zero point; the rule extends to the layer that computes it."""
    body = [conv("a", "image", 3, 64, "linear"), *([] if via is None else [via])]
    plain = classifier(*body, conv("end", body[-1].name, 64, 4, "sigmoid"))
    with_padding = classifier(*body, padded(body[-1].name, 64))
    assert len(ranges(plain)["a"].zeros) == 64
    assert len(ranges(with_padding)["a"].zeros) == 1
    assert len(ranges(with_padding)["a"].scales) == 64, "scales may still differ"


def test_one_zero_point_is_required_through_a_concatenation() -> None:
    body = [conv("a", "image", 3, 8, "linear"), conv("bb", "image", 3, 8, "linear")]
    body.append(Node("joint", "concat", ("a", "bb")))
    bounds = ranges(classifier(*body, padded("joint", 16)))
    assert len(bounds["a"].zeros) == len(bounds["bb"].zeros) == 1
    bounds = ranges(classifier(*body, conv("end", "joint", 16, 4, "sigmoid")))
    assert len(bounds["a"].zeros) == len(bounds["bb"].zeros) == 8


def test_depth_to_space_needs_one_scale() -> None:
    body = [conv("a", "image", 3, 16, "linear"), Node("pool", "max_pool", ("a",), {"pool": (2, 2)})]
    graph = Graph("g", (input_node(8), *body, Node("out", "depth_to_space", ("pool",), {"block": 2})), "out")
    assert (len(ranges(graph)["a"].scales), len(ranges(graph)["a"].zeros)) == (1, 1)


def test_an_image_at_the_end_has_one_range() -> None:
    graph = Graph("g", (input_node(8), conv("a", "image", 3, 3, "linear")), "a")
    assert (len(ranges(graph)["a"].scales), len(ranges(graph)["a"].zeros)) == (1, 1)
    limited = Graph("g", (input_node(8), conv("a", "image", 3, 3, "relu(1)")), "a")
    assert ranges(limited)["a"] == ranges(limited, ())["a"] == Range(), "a picture's range is known"


def test_averages_and_enlargements_keep_the_range_of_their_input() -> None:
    body = [conv("a", "image", 3, 4, "linear"), Node("mean", "average_pool", ("a",), {})]
    body.append(Node("large", "upsample_bilinear", ("mean",), {}))
    bounds = ranges(classifier(*body))
    assert bounds["a"] == bounds["mean"] == bounds["large"]
    assert len(bounds["a"].zeros) == 4


def test_bounds_are_the_ends_of_ranges() -> None:
    graph = assign_ranges(classifier(conv("a", "image", 3, 64, "linear"), SHUFFLE), Calibration(PICTURES)).graph
    graph = Graph("g", graph.nodes[:-1], "pool")
    bounds = bounds_of(graph)
    low, high = Range(graph.by_name["a"].attrs["scales"], graph.by_name["a"].attrs["zeros"]).ends(64)
    order = [4 * ((8 * s) % 16 + 8 * s // 16) + lane for s in range(16) for lane in range(4)]
    np.testing.assert_array_equal(bounds["via"][0], low[order])
    np.testing.assert_array_equal(bounds["pool"][1], high[order])


def test_an_output_that_is_only_moved_keeps_its_whole_range() -> None:
    """Calibration on dark images must not clip the output of bright ones."""
    nodes = (input_node(8), conv("a", "image", 3, 12, "relu(1)"), Node("deep", "depth_to_space", ("a",), {"block": 2}))
    dark = np.full((8, 8, 3), 60, np.uint8)
    assert ranges(Graph("g", nodes, "deep"), [dark])["a"] == Range((1.0,), (0.0,))


def observations(*largest: float) -> list[Observation]:
    """Return the observations of images whose largest values are these."""
    zero = np.zeros(1)
    return [Observation(zero, np.full(1, high), zero, zero, 0, np.zeros((2, 1, 1), np.float32)) for high in largest]


def test_few_images_leave_headroom_in_late_layers_relative_to_the_image_with_the_smallest_values() -> None:
    factors = [expected_growth(observations(1.0, 1.0, 1.0), depth) for depth in (1, 8, 30)]
    assert 1.0 < factors[0] < 2.0 < factors[1] < factors[2] == MOST_GROWTH
    assert expected_growth(observations(1.0, 2.0, 2.0), 30) == pytest.approx(MOST_GROWTH / 2.0)
    assert expected_growth(observations(1.0, 16.0, 16.0), 30) == 4.0  # the largest image can be an ordinary one
    assert expected_growth(observations(1.0, 32.0, 32.0), 30) == pytest.approx(2.0)
    assert expected_growth(observations(1.0, 1.0, 1e3), 30) == 1.0  # one image is wide enough, also for others


def test_many_images_leave_fourfold_headroom_if_none_is_far_larger_than_the_others() -> None:
    ordinary = [1.0] * (MANY - 1)
    for depth in (30, None):  # None: a layer of an output
        for other in (1.0, 3.0, 0.0):  # the last image is black
            assert expected_growth(observations(*ordinary, other), depth) == 4.0
        assert expected_growth(observations(*ordinary, 1e3), depth) == 1.0
    assert expected_growth(observations(*ordinary, 32.0), 30) == pytest.approx(2.0)
    assert expected_growth(observations(*ordinary, 3.0), 1) == pytest.approx(1.2)  # pixels are bounded
