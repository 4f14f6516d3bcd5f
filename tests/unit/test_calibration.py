"""Calibration of layers: extremes, and percentiles as NumPy computes them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from graphs import conv_node, input_node, pool_node

from glsl_infer.compiler.ranges.observed import BINS, extremes
from glsl_infer.graph import Graph, reference

PICTURES = [np.random.default_rng(seed).integers(0, 256, (12, 12, 3), np.uint8) for seed in range(4)]
GRAPH = Graph(
    "g",
    (
        input_node(12),
        conv_node(np.random.default_rng(0), "a", ("image",), 3, 5, activation="linear"),
        conv_node(np.random.default_rng(1), "b", ("a",), 5, 4, activation="relu"),
        pool_node("pool", "b"),
    ),
    "pool",
)


def values(name: str) -> np.ndarray:
    """Return all values of a layer as (pixels of all images, channels)."""
    runs = [dict(reference.layers(GRAPH, picture, mode="float"))[name] for picture in PICTURES]
    return np.concatenate([run.reshape(-1, run.shape[-1]) for run in runs]).astype(np.float64)


def test_extremes_are_those_of_all_pictures() -> None:
    bounds = extremes(GRAPH, {"a", "b", "pool"}, PICTURES)
    assert set(bounds) == {"a", "b", "pool"}
    for name, (low, high) in bounds.items():
        np.testing.assert_array_equal(low, values(name).min(axis=0))
        np.testing.assert_array_equal(high, values(name).max(axis=0))


def test_only_the_requested_values_are_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    computed = []
    layer = reference.layer
    monkeypatch.setattr(
        reference, "layer", lambda node, *args, **mode: computed.append(node.name) or layer(node, *args, **mode)
    )
    assert [name for name, _ in reference.layers(GRAPH, PICTURES[0], mode="float", names={"a"})] == computed == ["a"]
    extremes(GRAPH, {"b"}, PICTURES[:1])
    assert computed == ["a", "a", "b"]


@pytest.mark.parametrize("percentile", [99.9, 99.0, 90.0, 75.0])
def test_percentiles_are_numpys_within_a_bin(percentile: float) -> None:
    bounds = extremes(GRAPH, {"a", "b"}, PICTURES, percentile)
    for name, (low, high) in bounds.items():
        ordered = np.sort(values(name), axis=0)
        width = (ordered[-1] - ordered[0]) / BINS * 1.001
        # Between two values, a percentile is a convention, so the value before them and the one after them are allowed.
        for bound, share in ((low, 100.0 - percentile), (high, percentile)):
            rank = share / 100.0 * (len(ordered) - 1)
            before, after = max(math.floor(rank) - 1, 0), min(math.ceil(rank) + 1, len(ordered) - 1)
            assert (bound >= ordered[before] - width).all()
            assert (bound <= ordered[after] + width).all()


def test_percentiles_leave_out_at_most_their_share() -> None:
    low, high = extremes(GRAPH, {"a"}, PICTURES, 95.0)["a"]
    outputs = values("a")
    assert ((outputs < low - 1e-9).mean(axis=0) <= 0.05 + 1e-9).all()
    assert ((outputs > high + 1e-9).mean(axis=0) <= 0.05 + 1e-9).all()
    assert (high < outputs.max(axis=0)).any()


def test_a_constant_channel_has_equal_extremes() -> None:
    node = GRAPH.by_name["a"]
    kernel, bias = node.weights["kernel"].copy(), node.weights["bias"].copy()
    kernel[..., 2], bias[2] = 0.0, 3.0
    constant = type(node)(node.name, node.op, node.inputs, node.attrs, {"kernel": kernel, "bias": bias})
    graph = Graph("g", (GRAPH.nodes[0], constant), "a")
    for percentile in (100.0, 99.0):
        low, high = extremes(graph, {"a"}, PICTURES, percentile)["a"]
        assert low[2] == high[2] == 3.0
