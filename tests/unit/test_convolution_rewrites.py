"""Convolutions in another form compute the same: dilated, in two passes, folded ranges, and blocks of wide ones."""

from __future__ import annotations

import numpy as np
import pytest
from graphs import conv_node, dense_node, input_node, pool_node
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from glsl_infer.compiler.ranges import Calibration, prepare
from glsl_infer.compiler.ranges.eight_bits import assign_ranges
from glsl_infer.compiler.ranges.intervals import bounds_of
from glsl_infer.compiler.ranges.rewrites import MOST_IN_A_MEAN, means_in_two_passes
from glsl_infer.compiler.ranges.wide import Parts, split_wide
from glsl_infer.graph import Graph, Node, reference
from glsl_infer.graph.activations import activation
from glsl_infer.importers.core.convolutions import dilated_padding
from glsl_infer.lowering import fold
from glsl_infer.lowering.product_blocks import block_kernels
from glsl_infer.lowering.target import Target
from glsl_infer.ops.convolution_window import convolve
from glsl_infer.ops.zero_padding import pad
from glsl_infer.program.layout import LAYOUTS, FeatureMap
from glsl_infer.program.quantize import FIXED_LIMIT

Map = NDArray[np.float64]
PAIR = st.tuples(st.integers(1, 3), st.integers(1, 3))


def by_phases(x: Map, kernel: Map, block: tuple[int, int], padding: tuple[int, ...], inner: tuple[int, ...]) -> Map:
    """Pad, convolve every phase separately, and merge the phases."""
    x = pad(x, padding)
    phases = {
        (y, z): convolve(pad(x[y :: block[0], z :: block[1]], inner), kernel, (1, 1), 1)
        for y in range(block[0])
        for z in range(block[1])
    }
    height, width, filters = phases[0, 0].shape
    out = np.zeros((height * block[0], width * block[1], filters))
    for (y, z), phase in phases.items():
        out[y :: block[0], z :: block[1]] = phase
    return out


@given(
    size=st.tuples(st.integers(1, 9), st.integers(1, 9)),
    block=PAIR,
    kernel_size=PAIR,
    before=st.tuples(st.integers(0, 4), st.integers(0, 4)),
    inner=st.tuples(*[st.integers(0, 1)] * 4),
    seed=st.integers(0, 99),
)
@settings(max_examples=60)
def test_all_three_are_one(size, block, kernel_size, before, inner, seed) -> None:
    rng = np.random.default_rng(seed)
    x, kernel = rng.normal(size=(*size, 2)), rng.normal(size=(*kernel_size, 2, 3))
    # As in TensorFlow: the end is padded to full blocks, and phases are at least as large as the kernel.
    long = [
        max(-(-(actual + first) // step), taps) * step
        for actual, first, step, taps in zip(size, before, block, kernel_size)
    ]
    after = [padded - actual - first for padded, actual, first in zip(long, size, before)]
    padding = (before[0], after[0], before[1], after[1])
    padded = by_phases(x, kernel, block, padding, inner)
    crops = tuple(int(rng.integers(0, max(1, length // 3))) for length in np.repeat(padded.shape[:2], 2))
    expected = padded[crops[0] : padded.shape[0] - crops[1], crops[2] : padded.shape[1] - crops[3]]
    around = dilated_padding(block, padding, crops, inner)
    actual = convolve(pad(x, [max(side, 0) for side in around]), kernel, (1, 1), 1, block)
    cropped = [max(-side, 0) for side in around]
    actual = actual[cropped[0] : actual.shape[0] - cropped[1], cropped[2] : actual.shape[1] - cropped[3]]
    np.testing.assert_allclose(actual, expected, atol=1e-9)


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


CASES = st.tuples(
    st.sampled_from([(1, 3, 5), (2, 2, 3), (4, 1, 1), (3, 4, 2)]),  # groups, channels and filters per group
    st.sampled_from(["linear", "relu", "relu(6)", "sigmoid", "piecewise_linear(0.25,0.5,2,-0.25,0.75)"]),
    st.booleans(),
    st.booleans(),
    st.integers(0, 10_000),
)


def feature_map(rng: np.random.Generator, channels: int, *, low: float = 0.2, zeros: bool = True) -> FeatureMap:
    return FeatureMap(
        5,
        5,
        channels,
        0,
        (),
        tuple(rng.uniform(low, 3.0, channels).tolist()),
        tuple(rng.integers(0, 256, channels).astype(float).tolist()) if zeros else (0.0,),
    )


def random_case(
    case: tuple,
) -> tuple[np.random.Generator, fold.Kernel, np.ndarray, np.ndarray, FeatureMap, FeatureMap | None, FeatureMap, str]:
    (groups, channels, filters), function, with_residual, alpha, seed = case
    rng = np.random.default_rng(seed)
    alpha = alpha and groups == 1
    source = feature_map(rng, groups * channels)
    total = groups * filters
    residual = feature_map(rng, total) if with_residual else None
    out = FeatureMap(5, 5, total, 0, ())
    if activation(function).clips:
        out = feature_map(rng, total, zeros=function == "linear")
    attrs = {"groups": groups, "alpha": alpha, "activation": function, "scales": out.scales, "zeros": out.zeros}
    kernel = rng.normal(size=(2, 3, channels, total)).astype(np.float32)
    bias = rng.normal(size=total).astype(np.float32)
    folder = fold.Kernel(Node("n", "conv2d", (), attrs), source, residual, kernel.shape)
    return rng, folder, kernel, bias, source, residual, out, function


@given(CASES)
def test_unfold_undoes_fold(case) -> None:
    _, folder, kernel, bias, *_ = random_case(case)
    folded, total = folder.fold(kernel, bias)
    assert folded.dtype == total.dtype == np.float32
    assert folded.shape[2] == kernel.shape[2] + folder.alpha
    back, offset = folder.unfold(folded, total)
    np.testing.assert_allclose(back, kernel, rtol=1e-6)
    size = np.abs(total).max() + np.abs(folded).sum(axis=(0, 1, 2)).max()
    assert np.abs((offset - bias) * folder.output.factor).max() <= 1e-6 * size


@given(CASES)
def test_texels_in_and_texels_out(case) -> None:
    """The folded sum of the shader, activated and stored, equals the real sum, activated and stored."""
    rng, folder, kernel, bias, source, residual, out, function = random_case(case)
    groups = source.channels // kernel.shape[2]
    texels = rng.integers(0, 256, (4, 6, source.channels)) / 255.0
    values = source.scale_of * (texels - source.zero_of / 255.0)
    exact = convolve(values, kernel.astype(np.float64), (1, 1), groups) + bias
    folded, total = folder.fold(kernel, bias)
    if folder.alpha:
        texels = np.concatenate([texels, np.ones((4, 6, 1))], axis=2)
    shader = convolve(texels, folded.astype(np.float64), (1, 1), groups) + total
    if residual is not None:
        added = rng.integers(0, 256, exact.shape) / 255.0
        exact = exact + residual.scale_of * (added - residual.zero_of / 255.0)
        shader = shader + folder.residual_factor * added
    clipped = np.clip(folder.output.activation(shader), 0, 1)
    expected = np.clip(activation(function)(exact) / out.scale_of + out.zero_of / 255.0, 0, 1)
    np.testing.assert_allclose(clipped, expected, atol=2e-4)


def test_alpha_makes_padding_zero() -> None:
    """In the input's gutter all four components are 0, and so is their contribution."""
    rng = np.random.default_rng(0)
    picture = FeatureMap(4, 4, 3, 1, (), (2.0,), (127.5,))
    attrs = {"groups": 1, "alpha": True, "activation": "linear", "scales": (1.0,), "zeros": (0.0,)}
    kernel, bias = rng.normal(size=(3, 3, 3, 2)).astype(np.float32), np.zeros(2, np.float32)
    folder = fold.Kernel(Node("n", "conv2d", (), attrs), picture, None, kernel.shape)
    folded, total = folder.fold(kernel, bias)
    assert not total.any()
    bytes_ = rng.integers(0, 256, (4, 4, 3))
    texels = np.pad(np.concatenate([bytes_ / 255.0, np.ones((4, 4, 1))], axis=2), ((1, 1), (1, 1), (0, 0)))
    values = np.pad(2.0 * (bytes_ - 127.5) / 255.0, ((1, 1), (1, 1), (0, 0)))
    np.testing.assert_allclose(
        convolve(texels, folded.astype(np.float64), (1, 1), 1), convolve(values, kernel, (1, 1), 1), atol=1e-5
    )


@pytest.mark.parametrize(
    "function, scales, zeros, message",
    [
        ("hard_sigmoid", (1.0,), (1.0,), "'hard_sigmoid' is stored over"),
        ("piecewise_linear(1,0)", (0.5,), (0.0,), r"'piecewise_linear\(1,0\)' is stored over"),
        ("relu", (1.0,), (1.0,), "wider than that of 'relu'"),
        ("relu(6)", (7.0,), (0.0,), r"a range of 0 to 7 is wider than that of 'relu\(6\)'"),
    ],
)
def test_ranges_wider_than_the_function_are_refused(function, scales, zeros, message) -> None:
    with pytest.raises(ValueError, match=message):
        fold.output(activation(function), {"scales": scales, "zeros": zeros}, 4)


def test_slices_are_padded() -> None:
    assert fold.slices(np.arange(6.0), -1.0).tolist() == [[0, 1, 2, 3], [4, 5, -1, -1]]


@pytest.mark.parametrize(
    "function, left",
    [("piecewise_linear(0.25,0.5)", "linear"), ("piecewise_linear(2,0,1,0,1)", "piecewise_linear(1,0,1,0,1)")],
)
def test_the_factor_and_offset_of_a_piecewise_line_are_folded_into_the_sum(function: str, left: str) -> None:
    out = fold.output(activation(function), {"scales": (1.0,), "zeros": (0.0,)}, 3)
    assert out.activation.text == left
    line = activation(function).pieces
    assert line is not None
    assert out.factor.tolist() == [line.factor] * 3
    assert out.offset.tolist() == [line.offset] * 3
    assert np.clip(activation(left)(np.array(out.pad)), 0.0, 1.0) == 0.0


def test_lanes_beyond_the_last_channel_have_its_constants() -> None:
    slopes = activation("prelu(0.1,0.2,0.3,0.4,0.5)")
    for name, rows in fold.function_constants(slopes, 5).items():
        values = np.broadcast_to(slopes.constants[name], 5)
        assert rows == pytest.approx(np.array([values[:4], [values[4]] * 4]))


PICTURES = [np.random.default_rng(seed).integers(0, 256, (6, 6, 3), np.uint8) for seed in range(3)]
AROUND = (1, 1, 1, 1)


def ranged(channels: int, filters: int, *, kernel: int = 1, groups: int = 1, residual: bool = False) -> Graph:
    """Return a graph with ranges, whose last layer reads ``channels`` channels."""
    rng = np.random.default_rng(channels + filters)
    nodes = [input_node(6), conv_node(rng, "many", ("image",), 3, channels, activation="linear")]
    inputs: tuple[str, ...] = ("many",)
    if residual:
        nodes.append(conv_node(rng, "side", ("image",), 3, filters, activation="relu"))
        inputs = ("many", "side")
    padding = AROUND if kernel == 3 else (0, 0, 0, 0)
    shape = {"kernel": (kernel, kernel), "groups": groups, "padding": padding}
    nodes.append(conv_node(rng, "last", inputs, channels, filters, activation="relu", **shape))
    return assign_ranges(Graph("g", tuple(nodes), "last"), Calibration(PICTURES)).graph


WIDE = [
    {"channels": 36, "filters": 5},
    {"channels": 50, "filters": 8, "kernel": 3},
    {"channels": 128, "filters": 6, "groups": 2, "kernel": 3},
    {"channels": 72, "filters": 3, "residual": True},
]


@pytest.mark.parametrize("case", WIDE, ids=str)
def test_the_function_stays_the_same(case: dict) -> None:
    before = ranged(**case)
    after, layers = split_wide(before, Target(layout="planar"))
    assert [layer.layer for layer in layers] == ["last"]
    assert [node.op for node in after.nodes[-2:]] == ["convolution_products", "convolution_sum"]
    for picture in PICTURES:
        expected = reference.run(before, picture, mode="float")
        outputs = reference.run(after, picture, mode="float")
        np.testing.assert_allclose(outputs, expected, atol=1e-5 * np.abs(expected).max())


def test_split_parts_are_reused_for_other_graphs() -> None:
    """The split parts are cached: they copy all weights, and a search for 16-bit maps requests them dozens of times."""
    graph, parts = ranged(72, 3, residual=True), Parts()

    def kernel(**scales: tuple[float, ...]) -> int:
        nodes = [node.with_attrs(scales=scales.get(node.name, node.attrs["scales"])) for node in graph.nodes[1:]]
        blocks, _ = split_wide(graph.rebuilt([graph.nodes[0], *nodes]), Target(layout="planar"), before=parts)
        return id(blocks.by_name["last-products"].weights["kernel"])

    first = kernel()
    assert kernel(side=(3.0,)) == first
    assert {kernel(many=(9.0,)), kernel(last=(5.0,))}.isdisjoint({first})
    assert kernel() == first
    assert len(parts) == 3


@pytest.mark.parametrize("case", WIDE, ids=str)
def test_partial_sums_as_stored_are_close(case: dict) -> None:
    """The stored output of 16-bit partial sums differs by a step at most."""
    graph = ranged(**case)
    prepared = prepare(Graph("g", graph.nodes, "last"), Calibration(PICTURES), target=Target(layout="planar")).graph
    node = prepared.by_name["last"]
    exact = reference.run(graph, PICTURES[0], mode="stored")
    outputs = reference.run(prepared, PICTURES[0])
    assert (np.abs(outputs - exact) <= np.asarray(node.attrs["scales"]) * 1.01 / 255).all()


@pytest.mark.parametrize("case", WIDE, ids=str)
def test_units_are_powers_of_two_that_use_the_bits(case: dict) -> None:
    after, _ = split_wide(ranged(**case), Target(layout="planar"))
    unit = after.by_name["last"].weights["unit"]
    assert (np.log2(unit) == np.round(np.log2(unit))).all()
    low, high = bounds_of(after)["last-products"]
    largest = np.maximum(-low, high).reshape(after.by_name["last"].attrs["blocks"], -1).max(axis=0)[: len(unit)]
    assert (largest <= FIXED_LIMIT * (1 + 1e-6)).all()
    assert (largest > 0.49 * FIXED_LIMIT).all()


def test_blocks_hold_every_weight_once() -> None:
    after, (layer,) = split_wide(ranged(50, 8, kernel=3), Target(layout="planar", uniform_vectors=120))
    products = after.by_name["last-products"]
    assert (layer.slices, products.attrs["block"], layer.blocks) == (13, 6, 3)
    assert layer.passes == 2 * 3 * 2 + 2
    assert after.shapes["last-products"] == (6, 6, 3 * 8)
    kernel = products.weights["kernel"]
    parts = list(block_kernels(kernel, 1, 6))
    assert [read for _, read in parts] == [slice(0, 24), slice(24, 48), slice(48, 50)]
    np.testing.assert_array_equal(np.concatenate([block for block, _ in parts], axis=2), kernel)


def test_blocks_of_a_grouped_kernel_hold_every_weight_once() -> None:
    kernel = np.random.default_rng(0).normal(size=(3, 3, 32, 8)).astype(np.float32)  # 4 groups: 4 of 32 slices a filter
    parts = list(block_kernels(kernel, 4, 3))
    assert all(block.shape == kernel.shape and read == slice(None) for block, read in parts)
    assert len(parts) > 1 and all(block.any() for block, _ in parts)
    np.testing.assert_array_equal(sum(block for block, _ in parts), kernel)


def test_convolutions_that_fit_a_pass_are_not_split() -> None:
    for graph in (ranged(32, 8), ranged(128, 32, groups=8)):
        for layout in LAYOUTS:
            after, layers = split_wide(graph, Target(layout=layout))
            assert layers == ()
            assert [node.name for node in after.nodes] == [node.name for node in graph.nodes]
    assert split_wide(ranged(36, 8), Target(layout="planar"))[1]
    assert split_wide(ranged(128, 8, groups=8), Target(layout="planar"))[1], "four groups of four slices in one slice"


@pytest.mark.parametrize("case", WIDE, ids=str)
def test_in_an_atlas_one_pass_reads_any_number_of_slices(case: dict) -> None:
    graph = ranged(**case)
    after, layers = split_wide(graph, Target(layout="atlas", uniform_vectors=1200))
    assert layers == () and [node.op for node in after.nodes] == [node.op for node in graph.nodes]


def test_more_columns_than_a_shader_can_have() -> None:
    after, (layer,) = split_wide(ranged(300, 4, kernel=3), Target(layout="atlas", uniform_vectors=1000))
    assert layer.reason == "2700 columns of weights; a uniform array holds 998, a text of constants 2000"
    assert after.by_name["last-products"].attrs["block"] == 55
    assert layer.blocks == 2


def test_long_arrays_are_partial_sums_where_constants_would_take_long_to_compile() -> None:
    _, (layer,) = split_wide(ranged(160, 64, kernel=3), Target(layout="atlas", uniform_vectors=216))
    assert "1440 columns of weights are more than a uniform array of 216 vec4 holds" in layer.reason


def test_more_textures_than_a_pass_binds() -> None:
    rng = np.random.default_rng(0)
    feeds = [conv_node(rng, f"feed{index}", ("image",), 3, 4) for index in range(9)]
    concatenated = Node("joined", "concat", tuple(feed.name for feed in feeds))
    last = conv_node(rng, "last", ("joined",), 36, 4)
    graph = assign_ranges(Graph("g", (input_node(6), *feeds, concatenated, last), "last"), Calibration(PICTURES)).graph
    (layer,) = split_wide(graph)[1]
    assert layer.reason == "it reads 9 textures, and a pass at most 8"


def test_a_residual_takes_a_texture_of_its_own_in_planar_layout() -> None:
    graph = ranged(32, 8, residual=True)
    assert split_wide(graph, Target(layout="atlas"))[1] == ()
    assert [layer.slices for layer in split_wide(graph, Target(layout="planar"))[1]] == [8]


def test_fused_names_stay_with_the_sum() -> None:
    graph = ranged(36, 4)
    last = graph.by_name["last"].with_attrs(fused=("norm",))
    after, _ = split_wide(Graph("g", (*graph.nodes[:-1], last), "last"), Target(layout="planar"))
    assert after.by_name["last"].attrs["fused"] == ("norm",)
    assert "fused" not in after.by_name["last-products"].attrs
    assert isinstance(after.by_name["last"], Node)
