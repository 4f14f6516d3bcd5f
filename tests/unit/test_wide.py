"""Wide convolutions in blocks: the same function, with powers of two that use all 16 bits."""

from __future__ import annotations

import numpy as np
import pytest
from graphs import conv_node, input_node

from glsl_infer.compiler.ranges import Calibration, prepare
from glsl_infer.compiler.ranges.eight_bits import assign_ranges
from glsl_infer.compiler.ranges.intervals import bounds_of
from glsl_infer.compiler.ranges.wide import Parts, split_wide
from glsl_infer.graph import Graph, Node, reference
from glsl_infer.lowering.product_blocks import block_kernels
from glsl_infer.lowering.target import Target
from glsl_infer.program.layout import LAYOUTS
from glsl_infer.program.quantize import FIXED_LIMIT

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


CASES = [
    {"channels": 36, "filters": 5},
    {"channels": 50, "filters": 8, "kernel": 3},
    {"channels": 128, "filters": 6, "groups": 2, "kernel": 3},
    {"channels": 72, "filters": 3, "residual": True},
]


@pytest.mark.parametrize("case", CASES, ids=str)
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


@pytest.mark.parametrize("case", CASES, ids=str)
def test_partial_sums_as_stored_are_close(case: dict) -> None:
    """The stored output of 16-bit partial sums differs by a step at most."""
    graph = ranged(**case)
    prepared = prepare(Graph("g", graph.nodes, "last"), Calibration(PICTURES), target=Target(layout="planar")).graph
    node = prepared.by_name["last"]
    exact = reference.run(graph, PICTURES[0], mode="stored")
    outputs = reference.run(prepared, PICTURES[0])
    assert (np.abs(outputs - exact) <= np.asarray(node.attrs["scales"]) * 1.01 / 255).all()


@pytest.mark.parametrize("case", CASES, ids=str)
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
    np.testing.assert_array_equal(np.concatenate([part for part, _ in parts], axis=2), kernel)


def test_blocks_of_a_grouped_kernel_hold_every_weight_once() -> None:
    kernel = np.random.default_rng(0).normal(size=(3, 3, 32, 8)).astype(np.float32)  # 4 groups: 4 of 32 slices a filter
    parts = list(block_kernels(kernel, 4, 3))
    assert all(part.shape == kernel.shape and read == slice(None) for part, read in parts)
    assert len(parts) > 1 and all(part.any() for part, _ in parts)
    np.testing.assert_array_equal(sum(part for part, _ in parts), kernel)


def test_convolutions_that_fit_a_pass_are_not_split() -> None:
    for graph in (ranged(32, 8), ranged(128, 32, groups=8)):
        for layout in LAYOUTS:
            after, layers = split_wide(graph, Target(layout=layout))
            assert layers == ()
            assert [node.name for node in after.nodes] == [node.name for node in graph.nodes]
    assert split_wide(ranged(36, 8), Target(layout="planar"))[1]
    assert split_wide(ranged(128, 8, groups=8), Target(layout="planar"))[1], "four groups of four slices in one slice"


@pytest.mark.parametrize("case", CASES, ids=str)
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
    joined = Node("joined", "concat", tuple(feed.name for feed in feeds))
    last = conv_node(rng, "last", ("joined",), 36, 4)
    graph = assign_ranges(Graph("g", (input_node(6), *feeds, joined, last), "last"), Calibration(PICTURES)).graph
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
