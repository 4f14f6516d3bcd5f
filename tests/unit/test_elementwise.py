"""Elementwise functions and their bounds, stored formats, and dense layers in 16-bit fixed point."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from graphs import PLS, conv_node, dense_node, input_node, pool_node
from hypothesis import given, settings
from hypothesis import strategies as st
from pages import ROOT

from glsl_infer.compiler.ranges import Calibration, KnownRanges, fixed_point, prepare
from glsl_infer.graph import Graph, reference
from glsl_infer.graph.elementwise import BINARY, DRAWN, UNARY, Elementwise, monotone
from glsl_infer.program import quantize
from glsl_infer.program.layout import FeatureMap, FixedMap, FixedPoint, View
from glsl_infer.program.texels import decode_fixed, decode_tiles, in_steps, pack_fixed, pack_tiles

ROWS = {**{name: (row, 2) for name, row in BINARY.items()}, **{name: (row, 1) for name, row in UNARY.items()}}


def exceeds_bounds(row: Elementwise, operands: int) -> bool:
    """Return whether a result for values within random intervals is outside the row's bounds."""
    rng = np.random.default_rng(5)
    for scale in (0.3, 4.0, 300.0):
        intervals = [tuple(np.sort(rng.normal(0.0, scale, (2, 200)), axis=0)) for _ in range(operands)]
        low, high = row.range(*intervals)
        for _ in range(40):
            values = [begin + rng.random(200) * (end - begin) for begin, end in intervals]
            with np.errstate(all="ignore"):
                results = np.asarray(row.compute(*values), np.float64)
            if ((results < low) | (results > high)).any():  # false for NaN, which has no bounds
                return True
    return False


@pytest.mark.parametrize("name", ROWS)
def test_bounds_contain_all_results(name: str) -> None:
    assert not exceeds_bounds(*ROWS[name])


@pytest.mark.parametrize("name", ["squared_difference", "divide", "modulo", "cos"])
def test_bounds_at_interval_ends_fail_for_other_functions(name: str) -> None:
    row, operands = ROWS[name]
    assert exceeds_bounds(replace(row, interval=monotone), operands)


def test_functions_of_one_value_have_no_glsl() -> None:
    assert not [name for name, row in UNARY.items() if row.glsl], (
        "a function of one value with a shader is an activation"
    )


@pytest.mark.parametrize(
    ("page", "start", "form", "names"),
    [
        ("cpu-operators.md", "* `tensor_binary`", "`{}`", BINARY),
        ("cpu-operators.md", "* `tensor_unary`", "`{}`", UNARY),
        ("graph-format.md", "**vector_binary.**", " {}[ ,]", DRAWN),
    ],
)
def test_a_page_lists_every_function(page: str, start: str, form: str, names: Mapping[str, Elementwise]) -> None:
    _, _, after = (ROOT / "docs/reference" / page).read_text("utf-8").partition(f"\n{start}")
    text = after.partition("\n\n")[0].partition("\n* ")[0].replace("\n", " ") + " "
    assert not [name for name in names if not re.search(form.format(name), text)]


@given(st.floats(-2, 3))
def test_store8_rounds_to_the_nearest_step_and_saturates(value: float) -> None:
    stored = float(quantize.round_to_8_bits(np.array([value]))[0])
    clipped = min(max(value, 0.0), 1.0)
    assert abs(stored - clipped) <= 0.5 / 255 + 1e-12
    assert quantize.encode_8_bits(np.array([value]))[0] == round(stored * 255)


@given(st.floats(-1000, 1000), st.integers(-8, 4))
def test_fixed16_rounds_within_half_a_step_and_never_wraps(value: float, exponent: int) -> None:
    scale = 2.0**exponent
    stored = float(quantize.round_to_fixed16(np.array([value]), scale)[0])
    low, high = -128.0 * scale, 32767 / 256 * scale
    assert abs(stored - min(max(value, low), high)) <= 0.5 * scale / 256 + 1e-9


@given(st.lists(st.integers(-32768, 32767), min_size=1))
def test_bytes_of_fixed16_go_both_ways(integers: list[int]) -> None:
    array = np.array(integers, np.int64)
    np.testing.assert_array_equal(quantize.join_fixed16(quantize.split_fixed16(array)), array)


def test_bytes_follow_the_formula_of_the_format() -> None:
    v = -1.5
    n = np.floor(v * 256 + 0.5)
    high = np.floor(n / 256)
    np.testing.assert_array_equal(
        quantize.split_fixed16(quantize.encode_fixed16(np.array([v]), 1.0))[0], [high + 128, n - 256 * high]
    )


@given(st.floats(1e-3, 1e6))
def test_scale_is_the_smallest_power_of_two_that_fits(bound: float) -> None:
    scale = quantize.power_of_two_scale(bound)
    assert np.log2(scale) == int(np.log2(scale))
    assert bound / scale <= quantize.FIXED_LIMIT < 2 * bound / scale


@pytest.mark.parametrize("columns, length", [(0, 1), (0, 7), (3, 5), (1, 8)])
def test_fixed_point_textures_go_both_ways(columns: int, length: int) -> None:
    value = FixedPoint("t", columns, length, 0.25)
    shape = (columns, length) if columns else (length,)
    stored = quantize.round_to_fixed16(np.random.default_rng(0).normal(0, 10, shape), 0.25)
    texture = pack_fixed(stored, value)
    assert texture.shape == (value.size[1], value.size[0], 4)
    np.testing.assert_array_equal(decode_fixed(texture, value).astype(np.float32), stored)


@pytest.mark.parametrize("channels", [1, 3, 4, 6])
@pytest.mark.parametrize("affine", [False, True])
def test_feature_maps_go_both_ways(channels: int, affine: bool) -> None:
    rng = np.random.default_rng(0)
    views = tuple(View("t", 0, 0) for _ in range(-(-channels // 4)))
    scales, zeros = (tuple(rng.uniform(0.1, 9.0, channels)), (100.0,)) if affine else ((1.0,), (0.0,))
    value = FeatureMap(2, 3, channels, 0, views, scales, zeros)
    stored = rng.integers(0, 256, (2, 3, channels))
    output = value.scale_of * (stored - value.zero_of) / 255
    tiles = pack_tiles(output, value)
    assert tiles.shape == (len(views), 2, 3, 4)
    lanes = tiles.transpose(1, 2, 0, 3).reshape(2, 3, -1)
    np.testing.assert_array_equal(lanes[..., :channels], stored)
    assert not lanes[..., channels:].any()
    np.testing.assert_array_equal(decode_tiles(tiles, value), output)
    np.testing.assert_allclose(in_steps(output, value), stored, atol=1e-9)


def test_16_bit_maps_go_both_ways() -> None:
    value = FixedMap(2, 3, 8, 0.5, tuple(View("t", 3 * tile, 0) for tile in range(4)))
    output = np.random.default_rng(0).integers(-32768, 32768, (2, 3, 8)) * (0.5 / 256)
    tiles = pack_tiles(output, value)
    assert tiles.shape == (4, 2, 3, 4)
    np.testing.assert_array_equal(decode_tiles(tiles, value).astype(np.float32), output)
    high = tiles[1, :, :, 2].astype(int) - 128
    np.testing.assert_array_equal(high, np.floor(output[..., 3] / 0.5), "channel 3 is the second of view 1")


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
    calibration_images = pictures(rng, 8)
    result = prepare(graph, Calibration(calibration_images))
    prepared, calibrated = result.graph, {scale.layer: scale for scale in result.scales}
    assert calibrated["pool"].by == "bound"
    dense = calibrated["dense"]
    assert dense.by == "calibration"
    assert not dense.too_coarse
    assert dense.calibrated is not None
    assert 2 * dense.calibrated <= dense.scale * 128 < by_bound["dense"].scale * 128
    largest = max(np.abs(reference.run(prepared, picture)).max() for picture in calibration_images)
    assert largest <= dense.calibrated * 1.1
    names = {**dict.fromkeys(calibrated, 2.0**-6), "of another part": 1.0}
    stored = prepare(graph, Calibration(known=KnownRanges(scales=names))).scales
    assert {(scale.scale, scale.by) for scale in stored} == {(2.0**-6, "ranges")}


def test_each_calibration_image_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Layers with coarse bounds need all images and others the first few, but each image runs once."""
    rng = np.random.default_rng(7)
    graph, calibration_images, run = prepare(network(rng, 192, 5, weight=40.0)).graph, pictures(rng, 8), []
    layers = reference.layers
    monkeypatch.setattr(reference, "layers", lambda *args, **options: run.append(options) or layers(*args, **options))
    _, choices = fixed_point.assign_scales(graph, calibration_images)
    assert len(run) == len(calibration_images)
    assert {choice.layer for choice in choices if choice.calibrated is not None} == {"dense-products", "dense"}
    assert [len(options["names"]) for options in run] == [len(choices)] * fixed_point.FEW + [2] * 6


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
