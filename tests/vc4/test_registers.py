"""Layers that read many slices compile for a VideoCore IV in all weights modes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from graphs import PLS, classifier, conv_node, dense_node, input_node, pool_node
from pairwise import each_of, pairs_of

from glsl_infer import bundle as bundles
from glsl_infer.bundle import Bundle
from glsl_infer.compiler.build import Options, build
from glsl_infer.graph import Node
from glsl_infer.lowering.weight_bytes import MOST_SINGLE_COLUMNS
from glsl_infer.lowering.weights_plan import READS_16_BITS, WINDOW_READS, WINDOW_READS_16_BITS
from glsl_infer.ops.convolution_sum import MAX_UNORDERED_FETCHES
from glsl_infer.program import placement
from glsl_infer.tools import videocore as vc4
from glsl_infer.tools.videocore import Driver

Kernel = tuple[int, int]


def layer(
    size: int,
    channels: int,
    kernel: Kernel,
    *,
    residual: bool = False,
    filters: int = 8,
    groups: int = 1,
    activation: str = PLS,
) -> list[Node]:
    """Return an input, a layer with ``channels`` channels, and the convolution under test."""
    rng, (height, width) = np.random.default_rng(0), kernel
    feed = conv_node(rng, "feed", ("image",), 3, channels)
    convolution = conv_node(
        rng,
        "layer",
        ("feed", "feed") if residual else ("feed",),
        channels,
        channels if residual else filters,
        kernel=kernel,
        groups=groups,
        padding=(height // 2, height - 1 - height // 2, width // 2, width - 1 - width // 2),
        activation=activation,
    )
    return [input_node(size), feed, convolution]


def slopes(channels: int) -> str:
    """Return a PReLU with a slope for each channel."""
    values = np.random.default_rng(0).uniform(0.1, 0.3, channels)
    return f"prelu({','.join(f'{slope:.3f}' for slope in values)})"


@dataclass(frozen=True)
class Compiled:
    """The layer's programs, by all compilers.

    Attributes:
        failures: the compiler's message by program.
        threads: the number of threads by program.
        mode: the weights mode.
        bundle: the bundle, as read from its file.
    """

    failures: dict[str, str]
    threads: dict[str, int]
    mode: str
    bundle: Bundle

    def has_two_threads(self, *modes: str, programs: str = "layer") -> bool:
        """Return whether all compile with two threads in one of the weights modes; no mode stands for any."""
        threads = {count for name, count in self.threads.items() if programs in name}
        assert (self.failures, threads) == ({}, {2})
        assert not modes or self.mode in modes
        return True


Compile = Callable[..., Compiled]


@pytest.fixture
def compiled(drivers: tuple[Driver, ...], tmp_path: Path) -> Compile:
    """A function of nodes and of options of the build; ``images`` calibrates with a number of random images."""

    def compile_layer(nodes: list[Node], *, images: int = 0, **options: object) -> Compiled:
        filters, shape = nodes[-1].weights["kernel"].shape[3], nodes[0].attrs["shape"]
        pictures = [np.random.default_rng(2).integers(0, 256, shape, dtype=np.uint8) for _ in range(images)]
        graph, path = classifier(np.random.default_rng(1), nodes, filters), tmp_path / "layer.glslnn"
        bundle, program, _ = build(graph, ["a", "b", "c"], options=Options(**options), calibration=pictures)  # type: ignore[arg-type]
        bundles.write(bundle, path)
        failures, threads = dict[str, str](), dict[str, int]()
        for driver in drivers:
            _, measured = vc4.measure(path, driver)
            compiler = "" if driver is drivers[0] else f" by Mesa {driver.version}"
            failures |= {f"{name}{compiler}": text for name, text in measured.failures.items()}
            programs = {name: shader for name, shader in measured.programs.items() if name.startswith("layer")}
            threads |= {f"{name}{compiler}": shader.threads for name, shader in programs.items()}
        choice = program.choices.get("layer")
        return Compiled(failures, threads, choice.mode if choice else "partial sums", bundles.read(path))

    return compile_layer


@pytest.fixture
def in_rows_of(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """A function that makes textures prefer rows of about as many tiles."""
    arranged = placement.grids

    def prefer(columns: int) -> None:
        def longest_first(*tile: int) -> tuple[placement.Grid, ...]:
            return tuple(sorted(arranged(*tile), key=lambda grid: abs(grid.columns - columns)))

        monkeypatch.setattr("glsl_infer.program.placement.grids", longest_first)

    return prefer


@pytest.fixture
def limit(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, float], None]:
    """A function that changes a limit of the plan of weights."""
    return lambda name, value: monkeypatch.setattr(f"glsl_infer.lowering.{name}", value)


Limit = Callable[[str, float], None]
ANY_NOISE = ("weight_bytes.MOST_NOISE", float("inf"))
"""8-bit weights, whatever they cost."""


@pytest.mark.sampled(4)
@each_of(("weights", ["uniform", "baked"]), ("kernel, channels", [(3, 33), (3, 40), (3, 64), (5, 40)]))
def test_partial_sums_wait_for_both_halves(compiled: Compile, kernel: int, channels: int, weights: str) -> None:
    result = compiled(layer(8, channels, (kernel, kernel)), weights=weights, layout="planar")
    assert result.has_two_threads("partial sums", programs="products")


def test_many_partial_sums_wait_for_the_sum_so_far(compiled: Compile) -> None:
    result = compiled(layer(8, 192, (3, 3)))
    (sum_node,) = [node for node in result.bundle.graph.nodes if node.op == "convolution_sum"]
    assert result.has_two_threads("partial sums") and sum_node.attrs["blocks"] > MAX_UNORDERED_FETCHES // 2


@pytest.mark.sampled(4)
@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize(("activation", "residual"), [("relu(6)", True), ("silu", True), (slopes(222), False)])
def test_sums_of_all_slices_in_one_draw(compiled: Compile, bits: int, activation: str, residual: bool) -> None:
    """The sums of all slices take one draw, with their constants in a texture, and two threads.

    In 8 bits, the texture also has the constants of the activation and of the ranges.
    """
    nodes = layer(5, 222, (3, 3), residual=residual, filters=222, activation=activation)
    result = compiled(nodes, images=4, precision="8", precision_for={"layer": bits})
    sums = [draw for draw in result.bundle.manifest.passes if draw.layer == "layer"]
    assert result.has_two_threads("partial sums")
    assert len(sums) <= 2 or (bits == 16 and activation != "relu(6)")


@pytest.mark.sampled(4)
@pytest.mark.parametrize("weights", ["auto", "texture"])
@pytest.mark.parametrize("size", [8, 16])
def test_a_narrow_window_over_eight_slices(compiled: Compile, size: int, weights: str) -> None:
    result = compiled(layer(size, 32, (3, 3)), images=1, weights=weights)
    assert result.has_two_threads(*(["texture"] if weights == "texture" else []))


@pytest.mark.sampled(4)
@each_of(("kernel", [(3, 3), (2, 2), (2, 3), (1, 9), (9, 1)]), ("residual", [False, True]))
def test_as_many_slices_as_the_plan_allows(compiled: Compile, kernel: Kernel, residual: bool) -> None:
    nodes = layer(8, 4 * (WINDOW_READS - residual), kernel, residual=residual)
    assert compiled(nodes, weights="texture").has_two_threads("texture")


def test_a_window_over_more_slices_with_weights_of_8_bits(compiled: Compile, limit: Limit) -> None:
    """A window over more slices compiles with 8-bit weights in a texture: its fetches wait for each other.

    With 16-bit weights, the layer gets no texture.
    """
    limit(*ANY_NOISE)
    assert compiled(layer(8, 52, (3, 3)), weights="texture").has_two_threads("texture")


@pytest.mark.parametrize("residual", [False, True])
def test_one_texel_of_eight_slices_needs_no_such_limit(compiled: Compile, residual: bool) -> None:
    assert compiled(layer(8, 32, (1, 1), residual=residual), weights="texture").has_two_threads("texture")


def test_a_residual_counts_as_a_slice_of_a_window(compiled: Compile) -> None:
    """A window over as many slices as without a residual gets no texture of 16-bit weights, and compiles."""
    result = compiled(layer(6, 4 * WINDOW_READS, (1, 5), residual=True), weights="texture", weight_bits="16")
    assert result.has_two_threads() and result.mode != "texture"


@pytest.mark.sampled(2)
@pytest.mark.parametrize("activation", ["sqrt", "rsqrt", "power(1.5)", "squareplus(4)"])
def test_roots_of_sums_with_weights_of_16_bits(compiled: Compile, activation: str) -> None:
    nodes = layer(7, 32, (1, 1), filters=6, activation=activation)
    assert compiled(nodes, images=3, weights="texture", weight_bits="16", precision="8").has_two_threads()


def test_two_slices_more_than_the_plan_allows_do_not_compile(compiled: Compile, limit: Limit) -> None:
    """One more takes all registers, and the plan leaves it for other constants."""
    limit("weight_bytes.MOST_NOISE", 0.0)  # weights of 16 bits
    limit("weights_plan.WINDOW_READS", WINDOW_READS + 2)
    result = compiled(layer(8, 4 * (WINDOW_READS + 2), (3, 3)), weights="texture")
    assert result.mode == "texture" and "too few registers" in result.failures["layer"], "the limit can be higher"


FINE_FEED = {"weights": "texture", "weight_bits": "16", "precision": "8", "precision_for": {"feed": 16}, "images": 4}


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
    compiled: Compile, kernel: Kernel, slices: int, mode: str
) -> None:
    """16-bit maps with 16-bit weights compile with two threads, as 1x1 over 8 slices in selfie segmentation.

    That network was exported with 16 images.
    """
    nodes = layer(8, 4 * slices, kernel, activation="linear")
    assert compiled(nodes, **FINE_FEED).has_two_threads(mode)


def test_more_slices_of_16_bits_do_not_compile(compiled: Compile, limit: Limit) -> None:
    slices = WINDOW_READS_16_BITS + 2
    limit("weights_plan.WINDOW_READS_16_BITS", slices)
    limit("weights_plan.READS_16_BITS", slices)
    result = compiled(layer(8, 4 * slices, (3, 3), activation="linear"), **FINE_FEED)
    assert result.mode == "texture" and "too few registers" in result.failures["layer"], "the limit can be higher"


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("kernel", "channels"), [((1, 1), 2048), ((3, 3), 288), ((3, 3), 448), ((1, 7), 192), ((7, 1), 192), ((5, 5), 96)]
)
def test_partial_sums_with_weights_in_textures(compiled: Compile, kernel: Kernel, channels: int) -> None:
    result = compiled(layer(8, channels, kernel), weights="texture")
    assert result.has_two_threads("partial sums", programs="products")


@pytest.mark.exhaustive
def test_as_many_slices_of_one_texel_as_a_text_holds(compiled: Compile, limit: Limit) -> None:
    limit(*ANY_NOISE)
    nodes = layer(7, MOST_SINGLE_COLUMNS, (1, 1))
    assert compiled(nodes, weights="texture", uniform_vectors=3500, precision="8").has_two_threads("texture")


@pytest.mark.exhaustive
@pytest.mark.parametrize("weight_bits", ["auto", "16"])
def test_a_row_of_many_tiles_has_enough_registers(
    compiled: Compile, in_rows_of: Callable[[int], None], weight_bits: str
) -> None:
    """Many tiles in a row compile with two threads, as 17 in EfficientNetV2-B3, with a slope for each channel."""
    in_rows_of(16)
    nodes = layer(6, 128, (1, 1), residual=True, activation=slopes(128))
    bits = {"feed": 16, "layer": 16}
    result = compiled(nodes, images=4, weights="texture", precision="8", precision_for=bits, memory="naive")
    assert result.has_two_threads("texture")


@pytest.mark.exhaustive
def test_a_wide_layer_has_few_rows_of_tiles_in_common(compiled: Compile) -> None:
    assert compiled(layer(12, 1536, (1, 1)), uniform_vectors=3500, precision="8").has_two_threads("uniform")


def test_weights_in_textures_for_many_slices_of_16_bits(compiled: Compile) -> None:
    result = compiled(layer(19, 240, (1, 1)), weights="texture", uniform_vectors=3500, precision="16")
    assert result.has_two_threads()
    assert result.mode != "texture", "60 slices of 16 bits are more than it has registers for"


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("kernel", "channels"), [((3, 3), 16), ((5, 5), 8)])
@pytest.mark.parametrize("feed", [8, 16])
def test_each_half_of_a_large_map_of_16_bits(
    compiled: Compile, drivers: tuple[Driver, ...], kernel: Kernel, channels: int, feed: int
) -> None:
    """Each half of a large 16-bit map compiles with two threads, as of a U-Net's second layer.

    One draw stores channels 0 and 1, one stores 2 and 3, and each drops the sums of the others.
    """
    options = {"weights": "uniform", "uniform_vectors": 3500, "precision": "8", "memory": "naive"}
    result = compiled(layer(65, channels, kernel), **options, precision_for={"feed": feed, "layer": 16})
    assert result.has_two_threads("uniform")
    assert len(result.threads) == 2 * len(drivers), "its halves are not drawn apart"


@each_of(("columns", [9, 12, 18]), ("stored", [8, 16]))
def test_rows_of_tiles_of_16_bits(
    compiled: Compile, in_rows_of: Callable[[int], None], columns: int, stored: int
) -> None:
    """Rows of 16-bit tiles compile with two threads, as of a MobileNet v3's projection.

    It has 24 slices in two or three rows, and no residual.
    """
    in_rows_of(columns)
    bits = {"feed": 16, "layer": stored}
    result = compiled(layer(14, 96, (1, 1)), weights="texture", precision="8", precision_for=bits, memory="naive")
    assert result.has_two_threads("texture")


@pytest.mark.parametrize(("channels", "columns"), [(32, 9), (192, 12)])
def test_a_residual_of_a_16_bit_map(
    compiled: Compile, in_rows_of: Callable[[int], None], channels: int, columns: int
) -> None:
    in_rows_of(columns)
    nodes = layer(7, channels, (1, 1), residual=True)
    result = compiled(nodes, weights="texture", precision="8", precision_for={"layer": 16}, memory="naive")
    assert result.has_two_threads("texture")


@pytest.mark.sampled(6)
@pairs_of(
    ("channels", [4, 28, 32, 64, 96, 128]),
    ("feed, stored", [(8, 8), (8, 16), (16, 8), (16, 16)]),
    ("weights, weight_bits", [("texture", "auto"), ("texture", "16"), ("uniform", "auto")]),
    ("size, residual", [(4, False), (7, True), (9, True), (16, False)]),
)
def test_gates_of_all_slices(
    compiled: Compile,
    limit: Limit,
    channels: int,
    feed: int,
    stored: int,
    weights: str,
    weight_bits: str,
    size: int,
    residual: bool,
) -> None:
    """Convolutions that multiply each texel by gates compile with two threads, with weights of 16 bits in uniforms."""
    limit(*ANY_NOISE)
    rng, filters = np.random.default_rng(3), 24
    nodes = layer(size, channels, (1, 1), filters=filters)
    gates = [
        pool_node("mean", "feed"),
        dense_node(rng, "gates", "mean", channels, channels, activation="sigmoid"),
        Node("product", "binary", ("feed", "gates"), {"operation": "multiply"}),
        conv_node(rng, "side", ("image",), 3, filters),
    ]
    inputs = ("product", "side") if residual else ("product",)
    nodes = [*nodes[:2], *gates, replace(nodes[2], inputs=inputs)]
    options = {"weights": weights, "weight_bits": weight_bits, "precision": "8"}
    result = compiled(nodes, images=2, precision_for={"feed": feed, "layer": stored}, **options)
    assert result.bundle.graph.by_name["layer"].op == "gated_convolution"
    assert result.has_two_threads()
    assert weight_bits == "16" or result.mode == weights


@pytest.mark.sampled(6)
@pairs_of(
    ("channels, hidden", [(12, 1), (16, 8), (66, 17), (96, 24), (128, 32)]),
    ("size", [2, 5, 6, 7, 16, 24, 64]),
    ("feed", [8, 16]),
    ("inner", ["relu", "silu", "sigmoid"]),
    ("layout", ["atlas", "planar"]),
)
def test_squeeze_and_excite_blocks(
    compiled: Compile, channels: int, hidden: int, size: int, feed: int, inner: str, layout: str
) -> None:
    rng = np.random.default_rng(3)
    nodes = [
        *layer(size, channels, (1, 1))[:2],
        pool_node("mean", "feed"),
        dense_node(rng, "layer", "mean", channels, hidden, activation=inner),
        dense_node(rng, "layer-gates", "layer", hidden, channels, activation="sigmoid"),
        Node("product", "binary", ("feed", "layer-gates"), {"operation": "multiply"}),
        conv_node(rng, "end", ("product",), channels, 8),
    ]
    result = compiled(nodes, images=2, precision="8", precision_for={"feed": feed}, layout=layout)
    assert result.bundle.graph.by_name["layer-gates"].op == "dense_of_sums"
    assert result.has_two_threads()


@pytest.mark.sampled(10)
@pairs_of(
    ("weight_bits", ["auto", "16"]),
    ("residual", [False, True]),
    ("kernel, slices", [((3, 3), 6), ((3, 3), 13), ((5, 5), 3), ((1, 1), 8), ((1, 1), 58)]),
)
def test_layers_that_store_16_bits_two_channels_at_a_time(
    compiled: Compile, limit: Limit, kernel: Kernel, slices: int, residual: bool, weight_bits: str
) -> None:
    """Layers that store 16 bits, from rows of two channels, have registers for 16-bit weights and 16-bit maps too."""
    limit(*ANY_NOISE)
    options = {"weights": "texture", "weight_bits": weight_bits, "precision": "8", "memory": "naive"}
    nodes = layer(14, 4 * slices, kernel, residual=residual)
    result = compiled(nodes, **options, precision_for={"feed": 16, "layer": 16})
    assert result.has_two_threads()
    assert result.mode == "texture" or slices > READS_16_BITS


@pytest.mark.exhaustive
def test_a_window_of_16_bits_with_more_operations_than_a_shader_may_have(compiled: Compile) -> None:
    options = {"uniform_vectors": 3500, "precision": "8", "precision_for": {"feed": 16}}
    assert compiled(layer(8, 128, (5, 5)), **options).has_two_threads("partial sums")


@pytest.mark.sampled(3)
@each_of(
    ("bits", [8, 16]),
    ("kernel, groups, channels, filters", [((7, 7), 2, 26, 4), ((7, 1), 3, 96, 15), ((3, 3), 8, 208, 40)]),
)
def test_groups_that_share_a_slice(
    compiled: Compile, kernel: Kernel, groups: int, channels: int, filters: int, bits: int
) -> None:
    """Groups that share a slice compile with two threads as constants.

    A group's weights leave out the components of other groups, so the fetches wait for all four components of the sum.
    """
    nodes = layer(8, channels, kernel, filters=filters, groups=groups)
    result = compiled(nodes, weights="baked", precision="8", precision_for={"layer": bits}, memory="naive")
    assert result.has_two_threads()
