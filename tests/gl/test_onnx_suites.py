"""Other people's tests of ONNX: a part of tests/onnx_suites.json is tried anew, and the goals are met in the whole."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import onnx_cases
import pytest
from onnx_backend import PASSED, Case, judge

from glsl_infer.gl.context import Context

pytestmark = [pytest.mark.once, pytest.mark.slow]

REPORT: dict[str, Any] = json.loads((Path(__file__).parents[1] / "onnx_suites.json").read_text("utf-8"))
EACH = 6
"""Every so many of the cases that pass are tried; scripts/onnx_suites.py tries all."""

LARGEST = 100_000
"""Numbers of a case that is tried here."""


@pytest.fixture(scope="module")
def cases() -> dict[str, Case]:
    return {f"{case.kind}/{case.name}": case for case in onnx_cases.cases()}


def test_the_report_is_of_these_cases_and_sets(cases: dict[str, Case]) -> None:
    missing = sorted(set(REPORT["cases"]) - set(cases))
    assert not missing, "scripts/onnx_suites.py writes the report anew"
    for name, members in REPORT["members"].items():
        assert members == [key for key, case in cases.items() if name in onnx_cases.goals_of(case)], name


def test_the_goals_are_met() -> None:
    for name, least in onnx_cases.GOALS.items():
        passed = [member for member in REPORT["members"][name] if REPORT["cases"][member].startswith(PASSED)]
        assert len(passed) == REPORT["sets"][name][PASSED] >= least, name


def test_what_passed_still_passes(cases: dict[str, Case], context: Context) -> None:
    passing = [name for name, text in REPORT["cases"].items() if text.startswith(PASSED)]
    small = [name for name in passing if sum(array.size for array in cases[name].inputs) <= LARGEST]
    lost = {}
    for name in small[::EACH]:
        verdict = judge(cases[name], context)
        if verdict.verdict != PASSED:
            lost[name] = verdict.reason
    assert not lost
