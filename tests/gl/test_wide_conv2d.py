"""Wide and dilated convolutions, blocks, partial sums, and windows larger than the map or at a tile's edge."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from graphs import classifier, conv_node, input_node
from layer_check import PARTIAL_TOLERANCE, TOLERANCE, allowed, layer_error, make_bundle, stored_inputs
from onnx_networks import File
from pairwise import each_of

from glsl_infer.bundle import Bundle
from glsl_infer.compiler.build import Options, build
from glsl_infer.compiler.optimize import optimize
from glsl_infer.compiler.ranges.inputs import LOWEST
from glsl_infer.errors import ModelError
from glsl_infer.gl.context import Context
from glsl_infer.graph import Graph, Node, reference
from glsl_infer.importers import onnx as importer
from glsl_infer.program import placement
from glsl_infer.program.layout import FeatureMap
from glsl_infer.runtime.drivers.llvmpipe import fetch_loops, uniform_rows
from glsl_infer.runtime.session import Session

PADDING_OF_KERNEL = {1: (0, 0, 0, 0), 3: (1, 1, 1, 1), 5: (2, 2, 2, 2)}


def wide(
    channels: int,
    filters: int = 8,
    *,
    kernel: int | tuple[int, int] = 1,
    residual: bool = False,
    size: int = 6,
    **options: Any,
) -> Graph:
    """Return an input, a layer with many channels, and a convolution that reads them all."""
    rng = np.random.default_rng(channels)
    body = [input_node(size), conv_node(rng, "feed", ("image",), 3, channels)]
    inputs: tuple[str, ...] = ("feed",)
    if isinstance(kernel, int):
        options = {"kernel": (kernel, kernel), "padding": PADDING_OF_KERNEL[kernel], **options}
    else:
        options = {"kernel": kernel, **options}
    if residual:
        body.append(conv_node(rng, "side", ("image",), 3, filters))
        inputs = ("feed", "side")
    body.append(conv_node(rng, "wide", inputs, channels, filters, **options))
    return classifier(rng, body, filters)


def error(bundle: Bundle, context: Context, layer: str = "wide") -> float:
    with Session(bundle, context=context) as session:
        return layer_error(session, layer, stored_inputs(bundle, layer, np.random.default_rng(1)))


CASES: dict[str, dict[str, Any]] = {
    "1x1 over 64 slices": {"channels": 256},
    "1x1 over 9 slices, a residual": {"channels": 33, "residual": True},
    "1x1 over 40 slices, stride 2": {"channels": 160, "strides": (2, 2)},
    "1x1 over 64 slices in 2 groups": {"channels": 256, "groups": 2},
    "3x3 over 16 slices": {"channels": 64, "kernel": 3},
    "3x3 over 10 slices, a residual and relu": {"channels": 40, "kernel": 3, "residual": True},
    "3x3 over 13 slices in 3 groups, stride 2": {
        "channels": 156,
        "kernel": 3,
        "groups": 3,
        "filters": 12,
        "strides": (2, 2),
    },
    "5x5 over 9 slices": {"channels": 36, "kernel": 5},
    "depthwise 3x3 over 32 slices": {"channels": 128, "filters": 128, "kernel": 3, "groups": 128},
}


@pytest.mark.drivers("all")
@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    ("case", "weights"),
    [
        pytest.param(case, weights, id=f"{kind}-{weights}")
        for kind, case in CASES.items()
        for weights in ("baked", "uniform", "texture")
    ],
)
def test_one_pass_is_exact(context: Context, case: dict[str, Any], weights: str) -> None:
    graph = wide(**case)
    bundle = make_bundle(graph, weights, uniform_vectors=1000)
    passes = [draw for draw in bundle.manifest.passes if draw.layer == "wide"]
    assert "wide-products" not in bundle.graph.by_name
    assert sum(len(draw.quads) for draw in passes) == -(-graph.by_name["wide"].weights["kernel"].shape[3] // 4)
    assert error(bundle, context) <= TOLERANCE


@pytest.mark.sampled(1)
@pytest.mark.parametrize("case", [{"channels": 256, "kernel": 3}, {"channels": 1200}, {"channels": 208, "kernel": 3}])
def test_long_arrays_are_read_in_loops(context: Context, case: dict[str, Any]) -> None:
    bundle = make_bundle(wide(**case), "uniform", uniform_vectors=3500)
    looped = fetch_loops.looped(bundle, uniform_rows.MOST_VECTORS, 4096)
    (program,) = (program for program in looped.manifest.programs if fetch_loops.UNIFORM in program.uniforms)
    assert program.uniforms["weights"] > 4 * uniform_rows.MOST_VECTORS
    assert looped.members[program.fragment].count(b"texture2D(") == 1
    assert error(bundle, context) <= TOLERANCE


@pytest.mark.drivers("all")
def test_a_depthwise_window_with_one_large_weight_has_its_weights_in_a_texture(context: Context) -> None:
    """A depthwise window with one large weight has its weights in a texture: a sum of high bytes keeps its precision.

    One of 25 weights is 57 times the stored values, as in networks of hands.
    """
    graph = wide(64, 64, kernel=5, groups=64, activation="relu(1)")
    kernel = graph.by_name["wide"].weights["kernel"]
    kernel *= 0.2
    kernel[2, 2, 0, 7] = -57.0
    bundle = make_bundle(graph)
    (draw,) = (draw for draw in bundle.manifest.passes if draw.layer == "wide")
    assert len(draw.quads) == 16 and "high" in bundle.members[f"shaders/{draw.program}.frag"].decode()
    assert error(bundle, context) <= TOLERANCE
    kernel[2, 2, 0, 7] = -61.0
    assert len([draw for draw in make_bundle(graph).manifest.passes if draw.layer == "wide"]) == 16


@pytest.mark.drivers("all")
def test_textures_of_many_weights_have_rolled_fetches(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("glsl_infer.lowering.weight_bytes.MOST_NOISE", float("inf"))
    bundle = make_bundle(wide(1280, 5), "texture", uniform_vectors=3500)
    (draw,) = (draw for draw in bundle.manifest.passes if draw.layer == "wide")
    assert len(draw.textures) == 2
    text = bundle.members[f"shaders/{draw.program}.frag"].decode()
    assert "WAIT(coord0.y" in text and "#define ROLLED_FETCHES" in text
    assert error(bundle, context) <= TOLERANCE


@pytest.mark.drivers("all")
def test_weights_of_16_bits_over_a_row_of_tiles_are_exact(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    """16-bit weights over a row of tiles use ordered fetches, because each tile needs its own coordinate."""
    arranged = placement.grids
    monkeypatch.setattr("glsl_infer.program.placement.grids", lambda *tile: arranged(*tile)[::-1])
    monkeypatch.setattr("glsl_infer.lowering.weight_bytes.MOST_NOISE", 0.0)
    bundle = make_bundle(wide(136, 5), "texture", memory="naive", uniform_vectors=3500)
    (draw,) = (draw for draw in bundle.manifest.passes if draw.layer == "wide")
    assert len(draw.textures) == 2
    text = bundle.members[f"shaders/{draw.program}.frag"].decode()
    assert "max(at, -t.w)" in text and "#define ROLLED_FETCHES" not in text
    assert error(bundle, context) <= TOLERANCE


@pytest.mark.drivers("all")
@pytest.mark.parametrize("weights", ["baked", "uniform", "texture"])
def test_slices_in_several_textures_are_convolved_exactly(
    context: Context, monkeypatch: pytest.MonkeyPatch, weights: str
) -> None:
    """Slices of three layers in three separate textures are convolved exactly."""
    monkeypatch.setattr("glsl_infer.compiler.sharing.MOST_TILES", -(1 << 20))
    rng = np.random.default_rng(2)
    feeds = [conv_node(rng, f"feed{index}", ("image",), 3, 16) for index in range(3)]
    body = [
        input_node(7),
        *feeds,
        conv_node(rng, "side", ("image",), 3, 16),
        Node("joined", "concat", tuple(feed.name for feed in feeds)),
        conv_node(rng, "wide", ("joined", "side"), 48, 16),
    ]
    bundle = make_bundle(classifier(rng, body, 16), weights, memory="naive", uniform_vectors=1000)
    draw = next(draw for draw in bundle.manifest.passes if draw.layer == "wide")
    assert len(set(draw.textures)) == 4 + (weights == "texture")
    assert error(bundle, context) <= TOLERANCE


@pytest.mark.drivers("all")
@pytest.mark.parametrize("weights", ["baked", "uniform"])
def test_partial_sums_where_a_pass_would_read_too_many_textures(context: Context, weights: str) -> None:
    rng = np.random.default_rng(3)
    feeds = [conv_node(rng, f"feed{index}", ("image",), 3, 4) for index in range(10)]
    wide = conv_node(rng, "wide", ("joined",), 40, 8, kernel=(3, 3), padding=(1, 1, 1, 1))
    body = [input_node(6), *feeds, Node("joined", "concat", tuple(feed.name for feed in feeds)), wide]
    bundle = make_bundle(classifier(rng, body, 8), weights, memory="naive")
    assert max(len(draw.textures) for draw in bundle.manifest.passes) <= 8
    names = {draw.program for draw in bundle.manifest.passes if draw.layer == "wide-products"}
    assert ("wide-products.1.0.1" in names) == (weights == "baked")
    assert error(bundle, context, "wide-products") <= TOLERANCE
    assert error(bundle, context) <= TOLERANCE


@pytest.mark.drivers("all")
def test_partial_sums_are_exact_in_planar_layout(context: Context) -> None:
    bundle = make_bundle(wide(48, kernel=3), layout="planar")
    assert error(bundle, context, "wide-products") <= TOLERANCE
    assert error(bundle, context) <= TOLERANCE


PARTIAL: dict[str, dict[str, Any]] = {
    "3x3 over 75 slices": {"channels": 300, "kernel": 3},
    "3x3 over 60 slices, stride 2": {"channels": 240, "kernel": 3, "strides": (2, 2)},
    "1x1 over 600 slices": {"channels": 2400},
    "1x7 over 80 slices": {"channels": 320, "kernel": (1, 7), "padding": (0, 0, 3, 3)},
    "5x5 over 25 slices": {"channels": 100, "kernel": 5},
    "3x3 over 64 slices in 2 groups": {"channels": 512, "kernel": 3, "groups": 2},
}


@pytest.mark.drivers("all")
@pytest.mark.sampled(4)
@each_of(("bits", [8, 16]), ("case", PARTIAL))
def test_partial_sums_with_weights_in_textures_are_a_pass_a_block(
    context: Context, case: dict[str, Any], bits: int
) -> None:
    bundle = make_bundle(wide(**case), "texture", precision_for={"feed": bits})
    passes = [draw for draw in bundle.manifest.passes if draw.layer == "wide-products"]
    node = bundle.graph.by_name["wide-products"]
    blocks = node.operator.shape(node, [bundle.graph.shapes["feed"]])[2] // 8
    assert 1 < blocks <= len(passes) <= blocks * node.attrs["groups"]
    assert sum(len(draw.quads) for draw in passes) == 4 * blocks
    assert error(bundle, context, "wide-products") <= PARTIAL_TOLERANCE
    assert error(bundle, context) <= TOLERANCE


@pytest.mark.drivers("all")
@pytest.mark.sampled(3)
@pytest.mark.parametrize("weights", ["baked", "uniform", "texture"])
def test_partial_sums_too_large_for_one_texture(
    context: Context, monkeypatch: pytest.MonkeyPatch, weights: str
) -> None:
    """Partial sums too large for one texture are exact, as of an image of 512x512.

    Here textures have 16x16 texels, and hold 4 tiles of 6x6.
    """
    monkeypatch.setattr("glsl_infer.lowering.allocation.MAX_TEXTURE_SIZE", 16)
    bundle = make_bundle(wide(300, 6, kernel=3, residual=True), weights, memory="naive", uniform_vectors=216)
    total = [draw for draw in bundle.manifest.passes if draw.layer == "wide"]
    assert {len(draw.textures) for draw in total} == {5}, "eight partial sums of two tiles each, and the residual"
    assert error(bundle, context, "wide-products") <= PARTIAL_TOLERANCE
    assert error(bundle, context) <= TOLERANCE


MOST = 128
SAMPLE = {1: [1, 2, 8, 9, 17, 31, 54, 128], 3: [1, 7, 9, 31, 54]}
EVERY = os.environ.get("GLSL_INFER_WIDTHS") == "all"
WIDTHS = [(width, window) for window in SAMPLE for width in (range(1, MOST + 1) if EVERY else SAMPLE[window])]
VECTORS = {1: 600, 3: 900}
"""Uniform vectors of the target, by window. 3x3 over 25 slices and more has constants or partial sums."""


@pytest.mark.sampled(5)
@pytest.mark.parametrize("weights", ["baked", "uniform", "texture"])
@pytest.mark.parametrize("slices, window", WIDTHS)
def test_a_width_is_exact(context: Context, slices: int, window: int, weights: str) -> None:
    rng = np.random.default_rng(1000 * window + slices)
    channels = 4 * slices - slices % 4  # the last slice is full, or lacks one, two or three channels
    around = (window // 2,) * 4
    body = [
        input_node(4),
        conv_node(rng, "feed", ("image",), 3, channels),
        conv_node(rng, "wide", ("feed",), channels, 5, kernel=(window, window), padding=around),
    ]
    bundle = make_bundle(classifier(rng, body, 5), weights, uniform_vectors=VECTORS[window])
    with Session(bundle, context=context) as session:
        for layer in [node.name for node in bundle.graph.nodes if node.name.startswith("wide")]:
            assert layer_error(session, layer, stored_inputs(bundle, layer, rng)) <= TOLERANCE, layer


def rough(channels: int = 640, filters: int = 40) -> Graph:
    """Return a 1x1 convolution over many channels with one weight per filter so large that 8 bits are too few.

    The other weights would lose their precision in 8 bits.
    """
    rng = np.random.default_rng(5)
    layer = conv_node(rng, "rough", ("feed",), channels, filters)
    kernel = layer.weights["kernel"].copy()
    kernel[:, :, np.arange(filters), np.arange(filters)] = 40.0 * np.abs(kernel).max()
    body = [
        input_node(4),
        conv_node(rng, "feed", ("image",), 3, channels),
        replace(layer, weights={**layer.weights, "kernel": kernel}),
    ]
    return classifier(rng, body, filters)


@pytest.mark.drivers
@pytest.mark.parametrize("weights_for", [{}, {"rough": "baked"}], ids=["auto", "asked for as constants"])
def test_weights_that_fit_nowhere_become_partial_sums(context: Context, weights_for: dict[str, str]) -> None:
    graph = rough()
    bundle, program, prepared = build(graph, ("a", "b", "c"), options=Options(weights_for=weights_for))
    assert program.graph.by_name.keys() == prepared.graph.by_name.keys() == bundle.graph.by_name.keys()
    of_layer = {draw.program for draw in bundle.manifest.passes if draw.layer.startswith("rough")}
    if weights_for:
        assert len(of_layer) == 10 and "rough-products" not in bundle.graph.by_name
        return
    assert len(of_layer) <= 3
    assert [layer.layer for layer in prepared.wide] == ["rough"] and "no texture" in prepared.wide[0].reason
    assert "rough-products" in {choice.layer for choice in prepared.scales}
    with Session(bundle, context=context) as session:
        inputs = stored_inputs(bundle, "rough-products", np.random.default_rng(1))
        assert layer_error(session, "rough-products", inputs) <= PARTIAL_TOLERANCE
        inputs = stored_inputs(bundle, "rough", np.random.default_rng(1))
        assert layer_error(session, "rough", inputs) <= TOLERANCE


RATES = ((6, 6), (12, 9), (18, 18))


def pyramid(size: int, channels: int) -> Graph:
    """Return three rates and a plain 1x1 convolution on a map with ``channels`` channels, and their concatenation."""
    rng = np.random.default_rng(size)
    body = [input_node(size), conv_node(rng, "feed", ("image",), 3, channels)]
    for index, (down, across) in enumerate(RATES):
        options = {"kernel": (3, 3), "padding": (down, down, across, across), "dilations": (down, across)}
        body.append(conv_node(rng, f"rate{index}", ("feed",), channels, 4, **options))
    branches = tuple(f"rate{index}" for index in range(len(RATES)))
    body += [Node("joined", "concat", branches), conv_node(rng, "last", ("joined",), 4 * len(RATES), 5)]
    return classifier(rng, body, 5)


@pytest.mark.drivers("all")
@each_of(
    ("weights, layout", [("baked", "atlas"), ("uniform", "planar"), ("texture", "atlas")]),
    ("size, channels", [(21, 12), (8, 12), (13, 36)]),
)
def test_a_pyramid_of_rates(context: Context, size: int, channels: int, weights: str, layout: str) -> None:
    bundle = make_bundle(optimize(pyramid(size, channels)), weights, layout)
    rng = np.random.default_rng(1)
    with Session(bundle, context=context) as session:
        names = [node.name for node in bundle.graph.nodes if node.name.startswith("rate")]
        errors = {name: layer_error(session, name, stored_inputs(bundle, name, rng)) for name in names}
    assert all(error <= allowed(session.bundle, name) for name, error in errors.items()), errors


@pytest.mark.drivers("all")
def test_a_gutter_is_as_wide_as_the_taps_over_the_map_need() -> None:
    def gutter(size: int) -> int:
        value = make_bundle(optimize(pyramid(size, 12))).values["feed"]
        assert isinstance(value, FeatureMap)
        return value.gutter

    assert [gutter(size) for size in (6, 8, 10, 13, 19)] == [0, 6, 9, 12, 18]


@pytest.mark.drivers("all")
@pytest.mark.parametrize("weights", ["baked", "uniform"])
def test_an_image_with_a_gutter_other_than_zero_is_exact(context: Context, weights: str) -> None:
    rng = np.random.default_rng(3)
    image = input_node(9).with_attrs(scales=(2.0,), zeros=(127.5,))
    node = conv_node(rng, "n", ("image",), 3, 5, kernel=(3, 3), padding=(4, 4, 2, 2), dilations=(4, 2))
    bundle = make_bundle(classifier(rng, [image, node], 5), weights)
    assert bundle.graph.by_name["n"].attrs["alpha"]
    with Session(bundle, context=context, selfcheck=True) as session:
        assert layer_error(session, "n", stored_inputs(bundle, "n", rng)) <= TOLERANCE


def pool(offset: float) -> Graph:
    """Return a dilated 3x3 pooling with padding, of a map with values of both signs, or of -4 and less."""
    file = File(5)
    x = file.conv(file.input((1, 3, 12, 10)), 4)
    x = file.op("Add", [file.op("Tanh", [x], (1, 4, 12, 10)), file.constant(offset)], (1, 4, 12, 10))
    x = file.op("MaxPool", [x], (1, 4, 12, 10), kernel_shape=[3, 3], dilations=[2, 2], pads=[2] * 4, strides=[1, 1])
    file.output(x)
    return importer.load(file.model())


@pytest.mark.parametrize("offset", [0.0, -5.0])
def test_all_steps_are_the_maps(context: Context, offset: float) -> None:
    graph = pool(offset)
    rng = np.random.default_rng(2)
    pictures = [{graph.input.name: rng.integers(0, 256, (12, 10, 3)).astype(np.uint8)} for _ in range(4)]
    bundle, _, _ = build(graph, (), options=Options(precision="8"), calibration=pictures)
    assert min(node.attrs["value"] for node in bundle.graph.nodes if node.op == "constant_padding") > LOWEST
    with Session(bundle, context=context, cache=False) as session:
        for picture in pictures:
            (floats,) = reference.run(graph, picture, mode="float").values()
            drawn = session.run(picture[graph.input.name])
            assert np.abs(drawn - floats).max() < 0.03 * max(np.ptp(floats), np.abs(floats).max())


def test_a_pyramid_without_calibration_images_is_refused() -> None:
    with pytest.raises(ModelError, match="--images"):
        build(pool(0.0), (), options=Options())


WINDOWS: dict[str, tuple[str, dict[str, Any]]] = {
    **{
        f"enlarged by {y} and {x}": ("upsample_bilinear", {"size": (y, x)}) for y, x in ((2, 2), (3, 5), (1, 4), (7, 6))
    },
    "resized": ("resize", {"size": (13, 5)}),
    "largest of padded windows": ("max_pool", {"pool": (3, 3), "strides": (2, 2), "padding": (1, 1, 1, 1)}),
    "means of padded windows": ("average_pool", {"pool": (3, 2), "strides": (1, 2), "padding": (1, 2, 0, 1)}),
    "largest of many": ("max_pool", {"pool": (9, 9), "strides": (1, 1), "padding": (4, 4, 4, 4)}),
    "means of many": ("average_pool", {"pool": (8, 8), "strides": (1, 1), "padding": (4, 3, 3, 4)}),
    "means of a row's": ("average_pool", {"pool": (1, 8), "strides": (1, 2), "padding": (0, 0, 3, 4)}),
    **{mode: ("mirror_padding", {"padding": (1, 2, 3, 0), "mode": mode}) for mode in ("reflect", "symmetric", "edge")},
}


@pytest.mark.drivers("all")
@each_of(("channels", [20, 22]), ("case", WINDOWS))
def test_all_slices_are_one_draw(context: Context, case: tuple[str, dict[str, Any]], channels: int) -> None:
    rng = np.random.default_rng(channels)
    operator, attrs = case
    body = [input_node(9), conv_node(rng, "a", ("image",), 3, channels), Node("n", operator, ("a",), attrs)]
    bundle = make_bundle(classifier(rng, body, channels), pictures=[rng.integers(0, 256, (9, 9, 3), np.uint8)])
    drawn = [len(draw.quads) for draw in bundle.manifest.passes if draw.layer == "n"]
    assert drawn == [-(-channels // 4)]
    with Session(bundle, context=context) as session:
        assert layer_error(session, "n", stored_inputs(bundle, "n", rng)) <= TOLERANCE
