"""Each row of docs/reference/operators.md on the GPU, its costs, and the operator of CONTRIBUTING's example."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import needs
import new_operator
import numpy as np
import pytest
from conformance_files import FOLDER, INDEX, check_outputs, inputs_of
from contributing import DIFFS, FILES, TESTS, copy_with_operator, require_tests_pass, run_command
from layer_check import layer_error, stored_inputs
from operator_table import ROWS, SAMPLE, exported
from operator_table.cost import subjects, tolerance
from operator_table.exported import Exported
from operator_table.row import Row
from shared_exports import made_once

from glsl_infer.errors import BundleError
from glsl_infer.gl.context import Context
from glsl_infer.runtime.session import Session

ROOT = Path(__file__).resolve().parents[2]

FLOAT64_ERROR = 1e-9
"""Error of float64 values that are a whole number of steps, in steps."""

SOURCES = ("scripts/docs/operator_table", "scripts/docs/operators_keras.py")
UNSAMPLED_ROWS = tuple(row for row in ROWS if row not in SAMPLE)

each_row = pytest.mark.parametrize(
    "row", [pytest.param(row, marks=() if row in SAMPLE else pytest.mark.exhaustive, id=row.name) for row in ROWS]
)


def exports(name: str, rows: Sequence[Row]) -> dict[str, Exported]:
    """Return the rows by name, exported by one process with Keras."""
    needs.installed("keras")
    return exported.read(made_once(name, partial(exported.export, rows=rows), SOURCES))


@pytest.fixture(scope="session")
def sample() -> dict[str, Exported]:
    return exports("rows-sample", SAMPLE)


@pytest.fixture(scope="session")
def rows(sample: dict[str, Exported]) -> dict[str, Exported]:
    return sample | exports("rows-others", UNSAMPLED_ROWS)


@pytest.fixture
def exported_row(request: pytest.FixtureRequest, row: Row) -> Exported:
    """The exported row. One process exports all rows of its half: the sample, or the others."""
    exports_of_half: dict[str, Exported] = request.getfixturevalue("sample" if row in SAMPLE else "rows")
    return exports_of_half[row.name]


@pytest.mark.drivers("all")
@each_row
def test_each_layer_of_a_row_is_within_its_tolerance(context: Context, exported_row: Exported, row: Row) -> None:
    rng = np.random.default_rng(0)
    with Session(exported_row.bundle, context=context, selfcheck=True) as session:
        for node in exported_row.bundle.graph.nodes:
            allowed = tolerance(node) if node.op != "input" else None
            if allowed is not None:
                error = layer_error(session, node.name, stored_inputs(exported_row.bundle, node.name, rng))
                assert error <= allowed + FLOAT64_ERROR, f"{node.name} ({node.op})"
        output = session.run(exported_row.picture)
    assert np.ptp(exported_row.expected) > 0.03, "the comparison would show nothing"
    assert exported_row.error(output) <= row.bound


@each_row
def test_fused_rows_add_no_layer(exported_row: Exported, row: Row) -> None:
    assert subjects(row, exported_row.bundle) or row.without is not None
    if exported_row.without is not None:
        assert [node.op for node in exported_row.bundle.graph.nodes] == [
            node.op for node in exported_row.without.graph.nodes
        ]


def test_names_of_rows_are_unique() -> None:
    assert len({row.name for row in ROWS}) == len(ROWS)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "name, passes, fetched",
    [
        ("conv2d-3x3-same-8-to-8", 2, 9 * 2),
        ("depthwiseconv2d-3x3-same-8-channels", 2, 9),
        ("add-of-a-conv2d-without-activation-and-a-map-a-residual-8-channels", 0, 1),
        ("maxpooling2d-3x3-strides-2-same-8-channels", 1, 9),
        ("globalaveragepooling2d-8x8", 2, 2 * (64 + 1)),
        ("upsampling2d-bilinear-2-8-channels", 1, 4),
        # 5 values in 3 texels: 8 pairs of inputs, twice 8 of weights, 2 of constants
        ("dense-8-to-5", 1, 3 * (24 + 2) / 2),
    ],
)
def test_costs_worked_out_by_hand(rows: dict[str, Exported], name: str, passes: int, fetched: float) -> None:
    result = rows[name].cost()
    assert (result.passes, result.fetches) == (passes, fetched)


def test_a_new_operator_runs_without_a_change_of_the_runner(context: Context, tmp_path: Path) -> None:
    project = new_operator.write_by_copy(tmp_path)
    with Session(project.bundle, context=context, selfcheck=True) as session:
        np.testing.assert_allclose(session.run(project.picture), project.output, atol=project.tolerance)
        with pytest.raises(BundleError, match="reflection_padding"):
            session.bundle.graph  # noqa: B018  # tools need it, and this engine does not know the operator


def test_the_contributing_guide_lists_all_files_tests_and_patches() -> None:
    assert [Path(name).suffix for name in FILES] == [".py", ".frag", ".py", ".py"]
    assert {test for test in TESTS if " -k " not in test} == {name for name in FILES if name.startswith("tests/")}
    assert len(DIFFS) == 2


def test_the_example_operator_passes_lint_and_tests_in_a_copy(tmp_path: Path) -> None:
    needs.installed("ruff")
    copy = copy_with_operator(tmp_path / "copy")
    run_command(copy, sys.executable, "-m", "ruff", "check", "--no-cache", *python_files(copy))
    run_command(copy, sys.executable, "-m", "ruff", "format", "--check", "--no-cache", *python_files(copy))
    require_tests_pass(copy, "tests/unit/test_reflection_padding.py")
    require_tests_pass(copy, "tests/gl/test_networks.py -k reflection_padding")


def python_files(folder: Path) -> list[str]:
    return [str(folder / name) for name in FILES if name.endswith(".py")]


@pytest.mark.drivers("all")
@pytest.mark.parametrize("case", INDEX["sound"] + INDEX["parts"], ids=lambda case: case["file"])
def test_conformance_bundles_compute_the_expected_outputs(context: Context, case: dict[str, Any]) -> None:
    with Session(FOLDER / case["file"], context=context, selfcheck=True) as session:
        check_outputs(case, session.run(inputs_of(case)))
