"""Dense layers in 16-bit fixed point: close to float, bounded, and calibrated if bounds are too wide."""

from __future__ import annotations

import numpy as np
import pytest
from graphs import PLS, conv_node, dense_node, input_node, pool_node
from hypothesis import given, settings
from hypothesis import strategies as st

from glsl_infer.compiler.ranges import Calibration, KnownRanges, fixed_point, prepare
from glsl_infer.graph import Graph, reference


def network(rng: np.random.Generator, channels: int, classes: int, weight: float = 1.0, **attrs: object) -> Graph:
    dense = dense_node(rng, "dense", "pool", channels, classes, **attrs)
    dense.weights["kernel"][...] *= weight  # type: ignore[index]
    nodes = [input_node(5), conv_node(rng, "conv", ("image",), 3, channels), pool_node("pool", "conv"), dense]
    return Graph("test", tuple(nodes), "dense")


def pictures(rng: np.random.Generator, count: int) -> list[np.ndarray]:
    return [rng.integers(0, 256, (5, 5, 3), np.uint8) for _ in range(count)]


@given(st.integers(1, 300), st.integers(1, 9), st.integers(0, 99))
@settings(max_examples=20)
def test_splitting_changes_float_results_by_the_weights_rounding_only(channels: int, classes: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    graph = network(rng, channels, classes)
    split = fixed_point.split_dense(graph)
    picture = pictures(rng, 1)[0]
    step = np.abs(graph.by_name["dense"].weights["kernel"]).max() / 2**14
    difference = reference.run(split, picture, mode="float") - reference.run(graph, picture, mode="float")
    assert np.abs(difference).max() <= channels * step + 1e-3


@given(st.integers(1, 300), st.integers(1, 9), st.integers(0, 99))
@settings(max_examples=20)
def test_values_are_within_bounds_that_do_not_saturate(channels: int, classes: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    prepared = prepare(network(rng, channels, classes, activation=str(rng.choice([PLS, "linear"]))))
    graph, choices = prepared.graph, prepared.scales
    bounds = {choice.layer: choice for choice in choices}
    for picture in pictures(rng, 2):
        for name, value in reference.layers(graph, picture, mode="float"):
            if name in bounds:
                assert np.abs(value).max() <= bounds[name].bound + 1e-4
                assert bounds[name].bound / bounds[name].scale <= 32767 / 256


def test_stored_results_are_within_the_stages_steps_of_float() -> None:
    rng = np.random.default_rng(5)
    prepared = prepare(network(rng, 100, 7))
    graph, choices = prepared.graph, prepared.scales
    steps = {choice.layer: choice.step for choice in choices}
    for picture in pictures(rng, 5):
        stored, exact = (reference.run(graph, picture, mode=mode) for mode in ("stored", "float"))
        # 8-bit rounding of the convolution dominates: half a step of 1/255 on 100 inputs with weights of about 2.
        assert np.abs(stored - exact).max() < 0.1 + steps["dense"]


def test_weights_of_very_different_rows_keep_their_precision() -> None:
    rng = np.random.default_rng(6)
    graph = network(rng, 40, 4)
    kernel = graph.by_name["dense"].weights["kernel"]
    kernel *= np.array([65.0, 1.0, 0.1, 0.02], np.float32)
    split = fixed_point.split_dense(graph)
    last = split.by_name["dense"]
    restored = last.weights["kernel"] * last.weights["row_scale"]
    assert (np.abs(restored - kernel) <= last.weights["row_scale"] / 512 * 1.001).all()
    assert (np.abs(kernel).max(axis=0) / last.weights["row_scale"] > 32).all(), "no row wastes its bits"
    assert (np.log2(last.weights["row_scale"]) % 1 == 0).all()


def test_calibration_replaces_bounds_that_are_too_wide() -> None:
    rng = np.random.default_rng(7)
    graph = network(rng, 192, 5, weight=40.0)
    by_bound = {scale.layer: scale for scale in prepare(graph).scales}
    assert by_bound["dense"].by == "bound"
    assert by_bound["dense"].step > fixed_point.LARGEST_STEP
    assert by_bound["dense"].too_coarse
    seen = pictures(rng, 8)
    result = prepare(graph, Calibration(seen))
    prepared, calibrated = result.graph, {scale.layer: scale for scale in result.scales}
    assert calibrated["pool"].by == "bound"
    dense = calibrated["dense"]
    assert dense.by == "calibration"
    assert not dense.too_coarse
    assert dense.calibrated is not None
    assert 2 * dense.calibrated <= dense.scale * 128 < by_bound["dense"].scale * 128
    largest = max(np.abs(reference.run(prepared, picture)).max() for picture in seen)
    assert largest <= dense.calibrated * 1.1
    names = {**dict.fromkeys(calibrated, 2.0**-6), "of another part": 1.0}
    stored = prepare(graph, Calibration(known=KnownRanges(scales=names))).scales
    assert {(scale.scale, scale.by) for scale in stored} == {(2.0**-6, "ranges")}


def test_each_calibration_image_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Layers with coarse bounds need all images and others the first few, but each image runs once."""
    rng = np.random.default_rng(7)
    graph, seen, run = prepare(network(rng, 192, 5, weight=40.0)).graph, pictures(rng, 8), []
    layers = reference.layers
    monkeypatch.setattr(reference, "layers", lambda *args, **options: run.append(options) or layers(*args, **options))
    _, choices = fixed_point.assign_scales(graph, seen)
    assert len(run) == len(seen)
    assert {choice.layer for choice in choices if choice.calibrated is not None} == {"dense-products", "dense"}
    assert [len(options["wanted"]) for options in run] == [len(choices)] * fixed_point.FEW + [2] * 6


def test_long_rows_are_summed_in_several_steps() -> None:
    rng = np.random.default_rng(8)
    graph = network(rng, 1000, 140)
    split = fixed_point.split_dense(graph)
    assert [(node.name, split.shapes[node.name]) for node in split.nodes[3:]] == [
        ("dense-products", (64, 140)),
        ("dense-sum1", (4, 140)),
        ("dense", (140,)),
    ]
    picture = pictures(rng, 1)[0]
    expected = reference.run(graph, picture, mode="float")
    np.testing.assert_allclose(reference.run(split, picture, mode="float"), expected, rtol=1e-3, atol=1e-1)


def test_long_rows_of_few_outputs_are_summed_at_once() -> None:
    split = fixed_point.split_dense(network(np.random.default_rng(8), 1000, 20))
    assert [(node.name, split.shapes[node.name]) for node in split.nodes[3:]] == [
        ("dense-products", (63, 20)),
        ("dense", (20,)),
    ]


def test_stored_mode_requires_scales() -> None:
    rng = np.random.default_rng(9)
    with pytest.raises(reference.InputError, match=r"ranges\.prepare"):
        reference.run(network(rng, 4, 2), pictures(rng, 1)[0], mode="stored")
