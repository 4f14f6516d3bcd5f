"""Convolutions, and operations on two maps, compile for a VideoCore IV with enough registers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from convolution_cases import ACTIVATIONS, DILATED_ACTIVATIONS, KINDS, SIZES, WEIGHTS, Batch, Case, batches
from convolutions import TABLE, Result, as_json, batch_range, compile_with_each, merge_rows, read, table
from graphs import classifier, conv_node, input_node

from glsl_infer import bundle as bundles
from glsl_infer.compiler.build import Options, build
from glsl_infer.graph import Node
from glsl_infer.graph.activations import FORMS
from glsl_infer.tools import videocore
from glsl_infer.tools.videocore import Driver
from glsl_infer.tools.videocore.driver import RELEASES

Drivers = tuple[Driver, ...]

SAMPLE = {
    "uniform": [
        Case(1, 64, "plain", "uniform", "relu(6)"),
        Case(1, 9, "residual", "uniform", "sigmoid"),
        Case(3, 16, "groups", "uniform", "linear"),
        Case(3, 24, "strided", "uniform", "piecewise_linear_sigmoid"),
        Case(5, 12, "residual", "uniform", "relu(6)"),
        Case(9, 1, "plain", "uniform", "relu(6)"),
        Case(9, 4, "strided", "uniform", "linear"),
        Case(3, 1, "depthwise", "uniform", "relu(6)"),
        Case(3, 8, "dilated", "uniform", "relu(6)"),
        Case(3, 24, "dilated", "uniform", "linear"),
    ],
    "baked": [
        Case(1, 48, "strided", "baked", "relu(6)"),
        Case(3, 12, "residual", "baked", "linear"),
        Case(7, 6, "plain", "baked", "relu(6)"),
        Case(2, 8, "groups", "baked", "relu(6)"),
        Case(3, 6, "dilated", "baked", "relu"),
    ],
    "texture": [
        Case(1, 24, "residual", "texture", "relu(6)"),
        Case(3, 8, "plain", "texture", "linear"),
        Case(3, 9, "groups", "texture", "relu(6)"),
    ],
    "texture, windows": [
        Case(3, 16, "strided", "texture", "relu(6)"),
        Case(3, 1, "depthwise", "texture", "relu(6)"),
        Case(3, 12, "dilated", "texture", "relu(6)"),
    ],
    "texture-16": [Case(1, 12, "residual", "texture-16", "hard_sigmoid"), Case(3, 6, "plain", "texture-16", "relu(6)")],
    "texture-16, dilated": [Case(3, 6, "dilated", "texture-16", "relu(6)")],
}


IMAGE_SIDE = 16


def test_the_sweep_has_all_kinds() -> None:
    cases = [case for batch in batches() for case in batch.cases]
    assert len(cases) >= 300 and len({case.name for case in cases}) == len(cases)
    assert {side for case in cases for side in case.window} == set(range(1, 10))
    slices = {case.slices for case in cases}
    assert min(slices) == 1 and max(slices) > 100 and len(slices) > 40
    assert {case.weights for case in cases} == set(WEIGHTS)
    assert {case.kind for case in cases} == {*KINDS, "dilated", "shared"}
    activations = {*ACTIVATIONS, *DILATED_ACTIVATIONS}
    assert {case.activation for case in cases} == activations
    forms = {name.partition("(")[0] for name in activations}
    not_swept = {"cos", "log", "reciprocal", "rsqrt", "sin", "sqrt"}
    assert set(FORMS) - forms == not_swept, "list it in convolution_cases.py; --write"
    assert {batch.size for batch in batches()} == set(SIZES) and {3, 224} < set(SIZES)


@pytest.mark.parametrize("mesa", RELEASES)
def test_no_convolution_of_the_whole_sweep_fails(mesa: str) -> None:
    """The table of the full sweep has every convolution, and no failure."""
    rows = {row.name: row for row in read(table(mesa))}
    names = [case.name for batch in batches() for case in batch.cases]
    assert set(rows) == set(names), "other convolutions since: run scripts/vc4/convolutions.py --write"
    assert not [row.name for row in rows.values() if row.is_bad]
    assert all(row.weights in ("baked", "uniform", "texture", "partial sums") for row in rows.values())


def test_rows_counted_again_replace_their_own(tmp_path: Path) -> None:
    first, second, *_ = read(TABLE)
    path = tmp_path / "table.json"
    path.write_text(as_json([first, second, replace(first, name="c9999-9x9-s1-plain-auto")]), "utf-8")
    recount = replace(second, instructions=second.instructions + 1)
    assert merge_rows([recount], path) == [first, recount]
    assert [*batch_range("20"), *batch_range("28-30")] == [20, 28, 29, 30]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("cases", SAMPLE.values(), ids=SAMPLE)
def test_convolutions_of_many_shapes_compile(drivers: Drivers, tmp_path: Path, cases: list[Case]) -> None:
    batch = Batch(IMAGE_SIDE, tuple(replace(case, number=index) for index, case in enumerate(cases)))
    for mesa, rows in compile_with_each(batch, drivers, 3500, tmp_path).items():
        assert {row.name: row.failure or row.threads for row in rows} == {case.name: 2 for case in batch.cases}, mesa
        assert [row.weights for row in rows] == [case.weights.removesuffix("-16") for case in cases]


def results_of_one(
    drivers: Drivers, folder: Path, batch: Batch, uniform_vectors: int = 3500
) -> set[tuple[str, str, int]]:
    """Return the weights mode, the failure and the threads of a batch's only convolution, by all compilers."""
    results = compile_with_each(batch, drivers, uniform_vectors, folder)
    return {(row.weights, row.failure, row.threads) for rows in results.values() for row in rows}


def test_partial_sums_of_a_block_of_many_slices_compile(drivers: Drivers, tmp_path: Path) -> None:
    batch = Batch(IMAGE_SIDE, (Case(3, 24, "plain", "auto", "relu(6)"),))
    assert results_of_one(drivers, tmp_path, batch, 120) == {("partial sums", "", 2)}


@pytest.mark.exhaustive
def test_a_batch_compiles_as_in_the_table(drivers: Drivers, tmp_path: Path) -> None:
    """The first batch, 12 convolutions on maps of 3x3 pixels, compiles as in the table.

    The instructions of baked weights depend on the weights and ranges, and so on rules that change them by a few.
    """

    def without_counts(row: Result) -> Result:
        return replace(row, instructions=0, temporaries=0, ratio=None)

    batch = next(batches())
    for mesa, result in compile_with_each(batch, drivers, 3500, tmp_path).items():
        rows = {row.name: row for row in read(table(mesa))}
        expected = [rows[case.name] for case in batch.cases]
        assert [*map(without_counts, result)] == [*map(without_counts, expected)], mesa
        counts = [row.instructions for row in expected]
        assert [row.instructions for row in result] == pytest.approx(counts, rel=0.03), mesa


@pytest.mark.exhaustive
def test_more_rows_of_tiles_than_registers_compile(drivers: Drivers, tmp_path: Path) -> None:
    """A texture of 512 small slices compiles, as of InceptionV3's last branch: 16 columns and 32 rows of tiles."""
    batch = Batch(4, (Case(1, 512, "plain", "uniform", "relu"),))
    assert results_of_one(drivers, tmp_path, batch) == {("uniform", "", 2)}


def test_the_square_of_a_sum_with_weights_in_a_texture_has_two_threads(drivers: Drivers, tmp_path: Path) -> None:
    """The square of a sum with weights in a texture has two threads.

    An earlier order of its factors took 43 registers, which left one thread.
    """
    batch = Batch(96, (Case(2, 1, "groups", "texture", "square", 6),))
    assert results_of_one(drivers, tmp_path, batch) == {("texture", "", 2)}


SIZE, CHANNELS = 8, 16


def check_threads(driver: Driver, tmp_path: Path, node: Node, bits: int = 8, before: str = "linear") -> None:
    """Check that a node on two maps, the outputs of convolutions with activation ``before``, has two threads."""
    rng = np.random.default_rng(1)
    body = [input_node(SIZE)]
    body += [conv_node(rng, name, ("image",), 3, CHANNELS, activation=before) for name in "ab"]
    # A maximum ends the network, because a mean reads the terms of a sum, which is then not drawn.
    body += [node, Node("largest", "max_pool", (node.name,))]
    pictures = [rng.integers(0, 256, (SIZE, SIZE, 3), np.uint8) for _ in range(4)]
    path = tmp_path / "binary.glslnn"
    options = Options(precision="8", precision_for={"n": bits})
    built, _, _ = build(classifier(rng, body, CHANNELS), ["a", "b", "c"], options=options, calibration=pictures)
    bundles.write(built, path)
    bundle, measured = videocore.measure(path, driver)
    programs = {draw.program for draw in bundle.manifest.passes if draw.layer == "n"}
    assert {measured.programs[program].threads for program in programs} == {2}


@pytest.mark.parametrize(
    ("operation", "bits"), [("add", 8), ("add", 16), ("subtract", 8), ("subtract", 16), ("multiply", 8)]
)  # a 16-bit product fetches 18 texels at once: one thread
def test_operations_on_two_maps_have_two_threads(driver: Driver, tmp_path: Path, operation: str, bits: int) -> None:
    check_threads(driver, tmp_path, Node("n", "binary", ("a", "b"), {"operation": operation}), bits)


@pytest.mark.parametrize("activation", ["linear", "relu", "sigmoid"])
def test_two_threads_of_sums(driver: Driver, tmp_path: Path, activation: str) -> None:
    check_threads(driver, tmp_path, Node("n", "add", ("a", "b"), {"activation": activation}), before="relu")
