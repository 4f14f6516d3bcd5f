"""Operators unknown to the runner, from CONTRIBUTING.md, and the sound bundles of tests/conformance."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import needs
import new_operator
import numpy as np
import pytest
from conformance_files import FOLDER, INDEX, check_outputs, inputs_of
from contributing import DIFFS, FILES, TESTS, followed, passes, run

from glsl_infer.errors import BundleError
from glsl_infer.gl.context import Context
from glsl_infer.runtime.session import Session


def test_a_new_operator_runs_without_a_change_of_the_runner(context: Context, tmp_path: Path) -> None:
    project = new_operator.written(tmp_path)
    with Session(project.bundle, context=context, selfcheck=True) as session:
        np.testing.assert_allclose(session.run(project.picture), project.output, atol=project.tolerance)
        with pytest.raises(BundleError, match="reflection_padding"):
            session.bundle.graph  # noqa: B018  # tools need it, and this engine does not know the operator


def test_the_section_has_all_files_tests_and_patches() -> None:
    assert [Path(name).suffix for name in FILES] == [".py", ".frag", ".py", ".py"]
    assert {test for test in TESTS if " -k " not in test} == {name for name in FILES if name.startswith("tests/")}
    assert len(DIFFS) == 2


def test_the_operator_passes_its_tests_in_a_copy(tmp_path: Path) -> None:
    needs.installed("ruff")
    copy = followed(tmp_path / "copy")
    run(copy, sys.executable, "-m", "ruff", "check", "--no-cache", *python(copy))
    run(copy, sys.executable, "-m", "ruff", "format", "--check", "--no-cache", *python(copy))
    passes(copy, "tests/unit/test_reflection_padding.py")
    passes(copy, "tests/gl/test_networks.py -k reflection_padding")


def python(folder: Path) -> list[str]:
    return [str(folder / name) for name in FILES if name.endswith(".py")]


@pytest.mark.drivers("all")
@pytest.mark.parametrize("entry", INDEX["sound"] + INDEX["parts"], ids=lambda entry: entry["file"])
def test_conformance_bundles_compute_the_expected_outputs(context: Context, entry: dict[str, Any]) -> None:
    with Session(FOLDER / entry["file"], context=context, selfcheck=True) as session:
        check_outputs(entry, session.run(inputs_of(entry)))
