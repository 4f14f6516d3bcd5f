"""Taps outside the map at every position are removed, without any other change."""

from __future__ import annotations

import numpy as np
import pytest
from graphs import conv_node, input_node
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from glsl_infer.compiler.lower import gutters
from glsl_infer.compiler.optimize import leave_out_idle_taps
from glsl_infer.errors import ModelError
from glsl_infer.graph import Graph, reference

Padding = tuple[int, int, int, int]


def convolution(size: int, kernel: int, dilations: tuple[int, int], padding: Padding, stride: int = 1) -> Graph:
    rng = np.random.default_rng(0)
    node = conv_node(
        rng,
        "n",
        ("image",),
        3,
        2,
        kernel=(kernel, kernel),
        strides=(stride, stride),
        padding=padding,
        dilations=dilations,
        activation="linear",
    )
    return Graph("apart", (input_node(size), node), "n")


@given(
    size=st.integers(1, 7),
    kernel=st.integers(1, 4),
    dilation=st.integers(1, 9),
    padding=st.tuples(*[st.integers(0, 12)] * 4),
    stride=st.integers(1, 3),
)
@settings(max_examples=150)
def test_the_output_stays(size: int, kernel: int, dilation: int, padding: Padding, stride: int) -> None:
    dilations = (dilation, 1 + dilation // 2)
    padded = [size + sum(padding[:2]), size + sum(padding[2:])]
    assume(all(long >= (kernel - 1) * step + 1 for long, step in zip(padded, dilations)))
    graph = convolution(size, kernel, dilations, padding, stride)
    shape = graph.shapes["n"]
    reduced = leave_out_idle_taps(graph)
    picture = np.random.default_rng(size).integers(0, 256, (size, size, 3), np.uint8)
    assert reduced.shapes["n"] == shape
    expected, actual = (reference.run(candidate, picture, mode="float") for candidate in (graph, reduced))
    np.testing.assert_allclose(actual, expected, atol=1e-6)


@pytest.mark.parametrize(
    "size, dilation, left, gutter", [(16, 18, 1, 0), (33, 18, 3, 18), (18, 18, 1, 0), (19, 18, 3, 18)]
)
def test_same_padding_keeps_taps_inside_the_map(size: int, dilation: int, left: int, gutter: int) -> None:
    graph = leave_out_idle_taps(convolution(size, 3, (dilation, dilation), (dilation,) * 4))
    assert graph.by_name["n"].weights["kernel"].shape[:2] == (left, left)
    assert gutters(graph)["image"] == gutter


@pytest.mark.parametrize("attrs", [{"dilations": (0, 1)}, {"strides": (1, 0)}, {"padding": (0, -1, 0, 0)}])
def test_invalid_attributes_are_refused(attrs: dict[str, tuple[int, ...]]) -> None:
    graph = convolution(9, 3, (1, 1), (0, 0, 0, 0))
    with pytest.raises(ModelError, match="layer 'n'"):
        graph.rebuilt([graph.by_name["image"], graph.by_name["n"].with_attrs(**attrs)]).shapes  # noqa: B018
