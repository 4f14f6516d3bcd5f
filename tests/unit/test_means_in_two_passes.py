"""Means of large maps are means of windows' means, with the same result."""

from __future__ import annotations

import numpy as np
import pytest
from graphs import conv_node, dense_node, input_node, pool_node

from glsl_infer.compiler.ranges import prepare
from glsl_infer.compiler.ranges.rewrites import MOST_IN_A_MEAN, means_in_two_passes
from glsl_infer.graph import Graph, reference


def mean_of(size: int) -> Graph:
    rng = np.random.default_rng(0)
    nodes = [input_node(size), conv_node(rng, "a", ("image",), 3, 6, activation="sigmoid"), pool_node("mean", "a")]
    return Graph("mean", (*nodes, dense_node(rng, "end", "mean", 6, 2)), "end")


@pytest.mark.parametrize(("size", "window"), [(48, (4, 4)), (33, (1, 11)), (35, None), (37, None), (32, None)])
def test_windows_divide_a_large_map(size: int, window: tuple[int, int] | None) -> None:
    assert (size * size > MOST_IN_A_MEAN) == (size > 32)
    prepared = prepare(mean_of(size)).graph
    windows = [node.attrs["pool"] for node in prepared.nodes if node.op == "average_pool"]
    assert windows == ([] if window is None else [window])
    assert means_in_two_passes(prepared).by_name["mean"].inputs == prepared.by_name["mean"].inputs


@pytest.mark.parametrize("size", [48, 33])
def test_the_mean_stays(size: int) -> None:
    graph = prepare(mean_of(size)).graph
    picture = np.random.default_rng(1).integers(0, 256, (size, size, 3), np.uint8)
    (windows,) = (node for node in graph.nodes if node.op == "average_pool")
    assert windows.attrs["bits"] == 16
    single = [node for node in graph.nodes if node is not windows]
    plain = graph.rebuilt(single, {windows.name: "a"})
    expected, result = (reference.run(each, picture) for each in (plain, graph))
    np.testing.assert_allclose(result, expected, atol=1e-4)
