"""Layers that read many slices compile for a VideoCore IV in all weights modes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from graphs import classifier, conv_node, input_node
from numpy.typing import NDArray
from pairwise import each_of, pairs_of

from glsl_infer import bundle as bundles
from glsl_infer.compiler.build import Options, build
from glsl_infer.graph import Node
from glsl_infer.lowering.weight_bytes import MOST_SINGLE_COLUMNS
from glsl_infer.lowering.weights_plan import READS_16_BITS, WINDOW_READS, WINDOW_READS_16_BITS
from glsl_infer.ops.convolution_sum import AT_ONCE
from glsl_infer.program import placement
from glsl_infer.tools import videocore as vc4
from glsl_infer.tools.videocore import Driver

FILTERS = 8
PICTURES = [np.random.default_rng(2).integers(0, 256, (8, 8, 3), dtype=np.uint8) for _ in range(4)]
FINE_FEED = Options(weights="texture", weight_bits="16", precision="8", precision_for={"feed": 16})


def layer(
    size: int,
    channels: int,
    kernel: tuple[int, int],
    *,
    residual: bool = False,
    filters: int = FILTERS,
    groups: int = 1,
) -> list[Node]:
    """Return an input, a layer with ``channels`` channels, and the convolution under test."""
    rng = np.random.default_rng(0)
    height, width = kernel
    return [
        input_node(size),
        conv_node(rng, "feed", ("image",), 3, channels),
        conv_node(
            rng,
            "layer",
            ("feed", "feed") if residual else ("feed",),
            channels,
            channels if residual else filters,
            kernel=kernel,
            groups=groups,
            padding=(height // 2, height - 1 - height // 2, width // 2, width - 1 - width // 2),
        ),
    ]


def compiled(
    nodes: list[Node],
    options: Options,
    drivers: Sequence[Driver],
    folder: Path,
    pictures: Sequence[NDArray[np.uint8]] = (),
) -> tuple[Mapping[str, str], dict[str, int], str]:
    """Return failures and threads of the layer's programs by each compiler, and its weights mode."""
    filters = nodes[-1].weights["kernel"].shape[3]
    graph = classifier(np.random.default_rng(1), nodes, filters)
    made, program, _ = build(graph, ["a", "b", "c"], options=options, calibration=list(pictures))
    bundles.write(made, folder / "layer.glslnn")
    failures, threads = dict[str, str](), dict[str, int]()
    for driver in drivers:
        _, measured = vc4.measure(folder / "layer.glslnn", driver)
        compiler = "" if driver is drivers[0] else f" by Mesa {driver.version}"
        failures |= {f"{name}{compiler}": text for name, text in measured.failures.items()}
        programs = {name: shader for name, shader in measured.programs.items() if name.startswith("layer")}
        threads |= {f"{name}{compiler}": shader.threads for name, shader in programs.items()}
    choice = program.choices.get("layer")
    return failures, threads, choice.mode if choice else "partial sums"


def in_rows_of(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make textures prefer rows of about ``columns`` tiles."""
    arranged = placement.grids

    def longest_first(*tile: int) -> tuple[placement.Grid, ...]:
        return tuple(sorted(arranged(*tile), key=lambda grid: abs(grid.columns - columns)))

    monkeypatch.setattr("glsl_infer.program.placement.grids", longest_first)


@pytest.mark.sampled(4)
@each_of(("weights", ["uniform", "baked"]), ("kernel, channels", [(3, 33), (3, 40), (3, 64), (5, 40)]))
def test_partial_sums_wait_for_both_halves(
    drivers: tuple[Driver, ...], tmp_path: Path, kernel: int, channels: int, weights: str
) -> None:
    nodes = layer(8, channels, (kernel, kernel))
    failures, threads, mode = compiled(nodes, Options(weights=weights, layout="planar"), drivers, tmp_path)
    assert mode == "partial sums", "this is no wide layer"
    assert failures == {}
    products = [count for name, count in threads.items() if "products" in name]
    assert products and set(products) == {2}


def test_many_partial_sums_wait_for_the_sum_so_far(drivers: tuple[Driver, ...], tmp_path: Path) -> None:
    failures, threads, mode = compiled(layer(8, 192, (3, 3)), Options(), drivers, tmp_path)
    (entry,) = [node for node in bundles.read(tmp_path / "layer.glslnn").graph.nodes if node.op == "convolution_sum"]
    assert mode == "partial sums" and entry.attrs["blocks"] > AT_ONCE // 2
    assert failures == {} and set(threads.values()) == {2}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize(("activation", "residual"), [("relu(6)", True), ("silu", True), ("prelu", False)])
def test_sums_of_all_slices_in_one_draw(
    drivers: tuple[Driver, ...], tmp_path: Path, bits: int, activation: str, residual: bool
) -> None:
    """The sums of all slices take one draw, with their constants in a texture, and two threads.

    In 8 bits, the texture also has the constants of the activation and of the ranges.
    """
    rng = np.random.default_rng(0)
    nodes = layer(5, 222, (3, 3), residual=True)
    if not residual:
        nodes[-1] = replace(nodes[-1], inputs=("feed",))
    if activation == "prelu":
        activation = f"prelu({','.join(f'{slope:.3f}' for slope in rng.uniform(0.1, 0.3, 222))})"
    nodes[-1] = nodes[-1].with_attrs(activation=activation)
    pictures = [rng.integers(0, 256, (5, 5, 3), dtype=np.uint8) for _ in range(4)]
    options = Options(precision="8", precision_for={"layer": bits})
    failures, threads, mode = compiled(nodes, options, drivers, tmp_path, pictures)
    sums = [one for one in bundles.read(tmp_path / "layer.glslnn").manifest.passes if one.layer == "layer"]
    assert mode == "partial sums" and (len(sums) <= 2 or (bits == 16 and activation != "relu(6)"))
    assert failures == {} and set(threads.values()) == {2}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("weights", ["auto", "texture"])
@pytest.mark.parametrize("size", [8, 16])
def test_a_narrow_window_over_eight_slices(
    drivers: tuple[Driver, ...], tmp_path: Path, size: int, weights: str
) -> None:
    images = [np.random.default_rng(2).integers(0, 256, (size, size, 3), dtype=np.uint8)]
    failures, threads, mode = compiled(layer(size, 32, (3, 3)), Options(weights=weights), drivers, tmp_path, images)
    assert failures == {}
    assert set(threads.values()) == {2}
    assert mode == "texture" or weights == "auto"


@pytest.mark.sampled(4)
@each_of(("kernel", [(3, 3), (2, 2), (2, 3), (1, 9), (9, 1)]), ("residual", [False, True]))
def test_as_many_slices_as_the_plan_allows(
    drivers: tuple[Driver, ...], tmp_path: Path, kernel: tuple[int, int], residual: bool
) -> None:
    nodes = layer(8, 4 * (WINDOW_READS - residual), kernel, residual=residual)
    failures, threads, mode = compiled(nodes, Options(weights="texture"), drivers, tmp_path)
    assert mode == "texture"
    assert failures == {} and set(threads.values()) == {2}


def test_a_window_over_more_slices_with_weights_of_8_bits(
    drivers: tuple[Driver, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A window over more slices compiles with 8-bit weights in a texture: its fetches wait for each other.

    With 16-bit weights, the layer gets no texture.
    """
    monkeypatch.setattr("glsl_infer.lowering.weight_bytes.MOST_NOISE", float("inf"))
    failures, threads, mode = compiled(layer(8, 52, (3, 3)), Options(weights="texture"), drivers, tmp_path)
    assert mode == "texture"
    assert failures == {} and set(threads.values()) == {2}


@pytest.mark.parametrize("residual", [False, True])
def test_one_texel_of_eight_slices_needs_no_such_limit(
    drivers: tuple[Driver, ...], tmp_path: Path, residual: bool
) -> None:
    nodes = layer(8, 32, (1, 1), residual=residual)
    failures, threads, mode = compiled(nodes, Options(weights="texture"), drivers, tmp_path)
    assert mode == "texture"
    assert failures == {} and set(threads.values()) == {2}


def test_one_slice_more_than_the_plan_allows_does_not_compile(
    drivers: tuple[Driver, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("glsl_infer.lowering.weight_bytes.MOST_NOISE", 0.0)  # weights of 16 bits
    monkeypatch.setattr("glsl_infer.lowering.weights_plan.WINDOW_READS", WINDOW_READS + 1)
    nodes = layer(8, 4 * (WINDOW_READS + 1), (3, 3))
    failures, _, mode = compiled(nodes, Options(weights="texture"), drivers, tmp_path)
    assert mode == "texture"
    assert "too few registers" in failures["layer"], "the limit can be higher"


def plain_over_fine(channels: int, kernel: tuple[int, int]) -> list[Node]:
    """Return a layer without an activation, so that it computes sums only."""
    nodes = layer(8, channels, kernel)
    return [*nodes[:-1], replace(nodes[-1], attrs={**nodes[-1].attrs, "activation": "linear"})]


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("kernel", "slices", "mode"),
    [
        ((1, 1), READS_16_BITS, "texture"),
        ((1, 1), 8, "texture"),
        ((2, 2), WINDOW_READS_16_BITS, "texture"),
        ((3, 3), WINDOW_READS_16_BITS, "texture"),
        ((3, 3), WINDOW_READS_16_BITS + 1, "uniform"),
    ],
)
def test_slices_of_16_bits_that_meet_weights_of_16_bits(
    drivers: tuple[Driver, ...], tmp_path: Path, kernel: tuple[int, int], slices: int, mode: str
) -> None:
    """16-bit maps with 16-bit weights compile with two threads, as 1x1 over 8 slices in selfie segmentation.

    That network was exported with 16 images.
    """
    failures, threads, taken = compiled(plain_over_fine(4 * slices, kernel), FINE_FEED, drivers, tmp_path, PICTURES)
    assert (failures, set(threads.values()), taken) == ({}, {2}, mode)


@pytest.mark.parametrize(
    ("kernel", "slices", "limit"), [((1, 1), 8, "READS_16_BITS"), ((3, 3), 6, "WINDOW_READS_16_BITS")]
)
def test_more_slices_of_16_bits_do_not_compile(
    drivers: tuple[Driver, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kernel: tuple[int, int],
    slices: int,
    limit: str,
) -> None:
    monkeypatch.setattr(f"glsl_infer.lowering.weights_plan.{limit}", slices)
    monkeypatch.setattr("glsl_infer.lowering.weights_plan.READS_16_BITS", slices)
    failures, _, taken = compiled(plain_over_fine(4 * slices, kernel), FINE_FEED, drivers, tmp_path, PICTURES)
    assert taken == "texture" and "too few registers" in failures["layer"], "the limit can be higher"


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("kernel", "channels"), [((1, 1), 2048), ((3, 3), 288), ((3, 3), 448), ((1, 7), 192), ((7, 1), 192), ((5, 5), 96)]
)
def test_partial_sums_with_weights_in_textures(
    drivers: tuple[Driver, ...], tmp_path: Path, kernel: tuple[int, int], channels: int
) -> None:
    failures, threads, mode = compiled(layer(8, channels, kernel), Options(weights="texture"), drivers, tmp_path)
    assert mode == "partial sums", "this is no wide layer"
    assert failures == {}
    products = [count for name, count in threads.items() if "products" in name]
    assert products and set(products) == {2}


@pytest.mark.exhaustive
def test_as_many_slices_of_one_texel_as_a_text_holds(
    drivers: tuple[Driver, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("glsl_infer.lowering.weight_bytes.MOST_NOISE", float("inf"))
    options = Options(weights="texture", uniform_vectors=3500, precision="8")
    failures, threads, mode = compiled(layer(7, MOST_SINGLE_COLUMNS, (1, 1)), options, drivers, tmp_path)
    assert (failures, set(threads.values()), mode) == ({}, {2}, "texture")


@pytest.mark.exhaustive
@pytest.mark.parametrize("weight_bits", ["auto", "16"])
def test_many_tiles_beside_each_other(
    drivers: tuple[Driver, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, weight_bits: str
) -> None:
    """Many tiles in a row compile with two threads, as 17 in EfficientNetV2-B3, with a slope for each channel."""
    in_rows_of(16, monkeypatch)
    rng = np.random.default_rng(0)
    nodes = layer(6, 128, (1, 1), residual=True)
    slopes = ",".join(f"{slope:.3f}" for slope in rng.uniform(0.1, 0.3, 128))
    nodes[-1] = nodes[-1].with_attrs(activation=f"prelu({slopes})")
    pictures = [rng.integers(0, 256, (6, 6, 3), dtype=np.uint8) for _ in range(4)]
    options = Options(weights="texture", precision="8", precision_for={"feed": 16, "layer": 16}, memory="naive")
    failures, threads, mode = compiled(nodes, options, drivers, tmp_path, pictures)
    assert (failures, set(threads.values()), mode) == ({}, {2}, "texture")


@pytest.mark.exhaustive
def test_a_wide_layer_has_few_rows_of_tiles_in_common(drivers: tuple[Driver, ...], tmp_path: Path) -> None:
    options = Options(uniform_vectors=3500, precision="8")
    failures, threads, mode = compiled(layer(12, 1536, (1, 1)), options, drivers, tmp_path)
    assert (failures, set(threads.values()), mode) == ({}, {2}, "uniform")


def test_weights_in_textures_for_many_slices_of_16_bits(drivers: tuple[Driver, ...], tmp_path: Path) -> None:
    options = Options(weights="texture", uniform_vectors=3500, precision="16")
    failures, threads, mode = compiled(layer(19, 240, (1, 1)), options, drivers, tmp_path)
    assert (failures, set(threads.values())) == ({}, {2})
    assert mode != "texture", "60 slices of 16 bits are more than it has registers for"


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("kernel", "channels"), [((3, 3), 16), ((5, 5), 8)])
@pytest.mark.parametrize("feed", [8, 16])
def test_each_half_of_a_large_map_of_16_bits(
    drivers: tuple[Driver, ...], tmp_path: Path, kernel: tuple[int, int], channels: int, feed: int
) -> None:
    """Each half of a large 16-bit map compiles with two threads, as of a U-Net's second layer.

    One draw stores channels 0 and 1, one stores 2 and 3, and each drops the sums of the others.
    """
    bits = {"feed": feed, "layer": 16}
    options = Options(weights="uniform", uniform_vectors=3500, precision="8", precision_for=bits, memory="naive")
    failures, threads, mode = compiled(layer(65, channels, kernel), options, drivers, tmp_path)
    assert mode == "uniform" and len(threads) == 2 * len(drivers), "its halves are not drawn apart"
    assert (failures, set(threads.values())) == ({}, {2})


@each_of(("columns", [9, 12, 18]), ("stored", [8, 16]))
def test_rows_of_tiles_of_16_bits(
    drivers: tuple[Driver, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, columns: int, stored: int
) -> None:
    """Rows of 16-bit tiles compile with two threads, as of a MobileNet v3's projection.

    It has 24 slices in two or three rows, and no residual.
    """
    in_rows_of(columns, monkeypatch)
    nodes = layer(14, 96, (1, 1))
    options = Options(weights="texture", precision="8", precision_for={"feed": 16, "layer": stored}, memory="naive")
    failures, threads, mode = compiled(nodes, options, drivers, tmp_path)
    assert (failures, set(threads.values()), mode) == ({}, {2}, "texture")


@pytest.mark.parametrize(("channels", "columns"), [(32, 9), (192, 12)])
def test_a_residual_of_what_16_bits_are_stored_of(
    drivers: tuple[Driver, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, channels: int, columns: int
) -> None:
    in_rows_of(columns, monkeypatch)
    nodes = layer(7, channels, (1, 1), residual=True)
    options = Options(weights="texture", precision="8", precision_for={"layer": 16}, memory="naive")
    failures, threads, mode = compiled(nodes, options, drivers, tmp_path)
    assert (failures, set(threads.values()), mode) == ({}, {2}, "texture")


@pytest.mark.sampled(10)
@pairs_of(
    ("weight_bits", ["auto", "16"]),
    ("residual", [False, True]),
    ("kernel, slices", [((3, 3), 6), ((3, 3), 13), ((5, 5), 3), ((1, 1), 8), ((1, 1), 58)]),
)
def test_what_stores_16_bits_by_two_channels_at_a_time(
    drivers: tuple[Driver, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kernel: tuple[int, int],
    slices: int,
    residual: bool,
    weight_bits: str,
) -> None:
    """Layers that store 16 bits, from rows of two channels, have registers for 16-bit weights and 16-bit maps too."""
    monkeypatch.setattr("glsl_infer.lowering.weight_bytes.MOST_NOISE", float("inf"))
    bits = {"feed": 16, "layer": 16}
    options = Options(weights="texture", weight_bits=weight_bits, precision="8", precision_for=bits, memory="naive")
    failures, threads, mode = compiled(layer(14, 4 * slices, kernel, residual=residual), options, drivers, tmp_path)
    assert (failures, set(threads.values())) == ({}, {2})
    assert mode == "texture" or slices > READS_16_BITS


@pytest.mark.exhaustive
def test_a_window_of_16_bits_with_more_operations_than_a_shader_may_have(
    drivers: tuple[Driver, ...], tmp_path: Path
) -> None:
    options = Options(uniform_vectors=3500, precision="8", precision_for={"feed": 16})
    failures, threads, mode = compiled(layer(8, 128, (5, 5)), options, drivers, tmp_path)
    assert (failures, set(threads.values()), mode) == ({}, {2}, "partial sums")


@pytest.mark.sampled(3)
@each_of(
    ("bits", [8, 16]),
    ("kernel, groups, channels, filters", [((7, 7), 2, 26, 4), ((7, 1), 3, 96, 15), ((3, 3), 8, 208, 40)]),
)
def test_groups_that_share_a_slice(
    drivers: tuple[Driver, ...],
    tmp_path: Path,
    kernel: tuple[int, int],
    groups: int,
    channels: int,
    filters: int,
    bits: int,
) -> None:
    """Groups that share a slice compile with two threads as constants.

    A group's weights leave out the components of other groups, so the fetches wait for all four components of the sum.
    """
    options = Options(weights="baked", precision="8", precision_for={"layer": bits}, memory="naive")
    nodes = layer(8, channels, kernel, filters=filters, groups=groups)
    failures, threads, _ = compiled(nodes, options, drivers, tmp_path)
    assert (failures, set(threads.values())) == ({}, {2})
