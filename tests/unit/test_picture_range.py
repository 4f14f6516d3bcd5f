"""The range of the input bytes, in the graph and in the reference."""

from __future__ import annotations

import numpy as np
import pytest
from graphs import conv_node, input_node

from glsl_infer.errors import InputError, ModelError
from glsl_infer.graph import Graph, Node, reference
from glsl_infer.graph.picture import picture_range, picture_values, with_picture_range

PICTURE = np.random.default_rng(0).integers(0, 256, (3, 3, 3), np.uint8)


def identity_on(node: Node) -> Graph:
    eye = np.eye(3, dtype=np.float32)[None, None]
    attrs = {"strides": (1, 1), "padding": (0, 0, 0, 0), "groups": 1, "activation": "linear"}
    weights = {"kernel": eye, "bias": np.zeros(3, np.float32)}
    return Graph("g", (node, Node("same", "conv2d", ("image",), attrs, weights)), "same")


@pytest.mark.parametrize(
    "scales, zeros", [((1.0,), (0.0,)), ((2.0,), (127.5,)), ((255.0,), (0.0,)), ((1.0, -2.0, 3.5), (0.25, 300.0, -7.0))]
)
def test_the_reference_applies_the_range_of_the_input(scales, zeros) -> None:
    graph = identity_on(input_node(3).with_attrs(scales=scales, zeros=zeros))
    expected = np.array(scales) * (PICTURE - np.array(zeros)) / 255
    np.testing.assert_allclose(picture_values(graph.input, PICTURE), expected, rtol=1e-15)
    np.testing.assert_allclose(reference.run(graph, PICTURE, mode="float"), expected, rtol=1e-6, atol=1e-6)


def test_stored_and_float_start_from_the_same_values() -> None:
    rng = np.random.default_rng(0)
    attrs = {"scales": (2.0,), "zeros": (127.5,)}
    sigmoid = conv_node(rng, "c", ("image",), 3, 4).with_attrs(scales=(1.0,), zeros=(0.0,))
    graph = Graph("g", (input_node(3).with_attrs(**attrs), sigmoid), "c")
    runs = [reference.run(graph, PICTURE, mode=mode) for mode in reference.MODES]
    np.testing.assert_allclose(*runs, atol=0.6 / 255)


def test_graphs_without_ranges_refuse_stored_mode() -> None:
    graph = identity_on(input_node(3))
    assert reference.default_mode(graph) == "float"
    with pytest.raises(InputError, match="no ranges and scales yet"):
        reference.run(graph, PICTURE, mode="stored")


def test_the_default_range_divides_bytes_by_255() -> None:
    result = picture_values(input_node(3), PICTURE).astype(np.float32)
    np.testing.assert_array_equal(result, PICTURE.astype(np.float32) / np.float32(255))


def test_written_as_briefly_as_can_be() -> None:
    node = input_node(3)
    assert picture_range(node) == ((1.0,), (0.0,))
    brief = with_picture_range(node, (2.0, 2.0, 2.0), (0.0, 1.0, 2.0))
    assert dict(brief.attrs) == {"shape": (3, 3, 3), "scales": (2.0,), "zeros": (0.0, 1.0, 2.0)}
    assert dict(with_picture_range(brief, (1.0,) * 3, (0.0,)).attrs) == {"shape": (3, 3, 3)}


@pytest.mark.parametrize(
    "attrs, message",
    [
        ({"scales": (1.0, 2.0)}, "scales .* of an input of"),
        ({"zeros": (0.0, float("nan"), 0.0)}, "zeros .* of an input of"),
        ({"scales": (1.0, 0.0, 1.0)}, "a scale of 0"),
    ],
)
def test_invalid_ranges_are_refused(attrs, message) -> None:
    with pytest.raises(ModelError, match=f"layer 'image': .*{message}"):
        identity_on(input_node(3).with_attrs(**attrs))
