"""Cases of the ONNX test suite, and files of TensorFlow Lite, on the GPU."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import foreign_models
import onnx_cases
import pytest
from onnx_backend import PASSED, Case, judge

from glsl_infer.cli import main
from glsl_infer.gl.context import Context

REPORT: dict[str, Any] = json.loads((Path(__file__).parents[1] / "onnx_suites.json").read_text("utf-8"))
PASSING = [name for names in REPORT["cases"][PASSED].values() for name in names]

EACH = 6
"""Step between the repeated cases, among those that pass; scripts/bench/onnx_suites.py runs all."""

LARGEST = 100_000
"""Largest number of input values of a repeated case."""


@pytest.fixture(scope="module")
def cases() -> dict[str, Case]:
    return {f"{case.kind}/{case.name}": case for case in onnx_cases.cases()}


@pytest.mark.slow
def test_the_report_is_of_these_cases_and_the_goals_are_met(cases: dict[str, Case]) -> None:
    advice = "scripts/bench/onnx_suites.py writes the report anew"
    listed = {name for reasons in REPORT["cases"].values() for names in reasons.values() for name in names}
    assert listed == set(cases), advice
    for name, goal in onnx_cases.GOALS.items():
        members = [key for key, case in cases.items() if name in onnx_cases.goals_of(case)]
        assert sum(REPORT["sets"][name].values()) == len(members), advice
        assert len(set(members) & set(PASSING)) == REPORT["sets"][name][PASSED] >= goal, name


@pytest.mark.slow
@pytest.mark.exhaustive
def test_passing_cases_still_pass(cases: dict[str, Case], context: Context) -> None:
    small = [name for name in PASSING if sum(array.size for array in cases[name].inputs) <= LARGEST]
    lost = {}
    for name in sorted(small)[::EACH]:
        verdict = judge(cases[name], context)
        if verdict.verdict != PASSED:
            lost[name] = verdict.reason
    assert not lost


def test_an_exported_detector_agrees_with_litert(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, bundle, photos = foreign_models.exported("detector.tflite", tmp_path)
    assert main(["selfcheck", str(bundle)]) == 0
    capsys.readouterr()
    assert (
        main(["validate", str(model), str(bundle), "--data", str(photos), "--json", "--min-layer-cosine", "0.99"]) == 0
    )
    agreement = json.loads(capsys.readouterr().out)
    assert agreement["beside"].startswith("LiteRT ") and agreement["failures"] == []
    assert [end["name"] for end in agreement["outputs"]] == ["boxes", "mask"]
    assert all(end["sqnr_db"] > 25.0 for end in agreement["outputs"])
    # Zeros, phases of a transposed convolution and partial sums do not correspond to tensors of the file.
    assert len(agreement["layers"]) >= 8 and len(agreement["not_compared"]) <= 3
    assert "tensorflow" not in sys.modules


def test_sizes_that_the_file_leaves_open(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, bundle, photos = foreign_models.exported("open.tflite", tmp_path, "--input-size", "12x20")
    assert main(["inspect", str(model), "--input-size", "12x20"]) == 0
    capsys.readouterr()
    assert main(["validate", str(model), str(bundle), "--data", str(photos), "--json"]) == 0
    agreement = json.loads(capsys.readouterr().out)
    assert agreement["failures"] == [] and agreement["outputs"][0]["cosine"] > 0.99
    assert main(["inspect", str(model)]) == 2
    assert "--input-size" in capsys.readouterr().err
