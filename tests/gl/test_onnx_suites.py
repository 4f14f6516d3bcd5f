"""ONNX test suites of other projects: a sample of tests/onnx_suites.json is repeated, and the totals meet the goals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import onnx_cases
import pytest
from onnx_backend import PASSED, Case, judge

from glsl_infer.gl.context import Context

pytestmark = pytest.mark.slow

REPORT: dict[str, Any] = json.loads((Path(__file__).parents[1] / "onnx_suites.json").read_text("utf-8"))
PASSING = [name for names in REPORT["cases"][PASSED].values() for name in names]

EACH = 6
"""Step between the repeated cases, among those that pass; scripts/bench/onnx_suites.py runs all."""

LARGEST = 100_000
"""Largest number of input values of a repeated case."""


@pytest.fixture(scope="module")
def cases() -> dict[str, Case]:
    return {f"{case.kind}/{case.name}": case for case in onnx_cases.cases()}


def test_the_report_is_of_these_cases_and_the_goals_are_met(cases: dict[str, Case]) -> None:
    again = "scripts/bench/onnx_suites.py writes the report anew"
    listed = {name for reasons in REPORT["cases"].values() for names in reasons.values() for name in names}
    assert listed == set(cases), again
    for name, least in onnx_cases.GOALS.items():
        members = [key for key, case in cases.items() if name in onnx_cases.goals_of(case)]
        assert sum(REPORT["sets"][name].values()) == len(members), again
        assert len(set(members) & set(PASSING)) == REPORT["sets"][name][PASSED] >= least, name


@pytest.mark.exhaustive
def test_what_passed_still_passes(cases: dict[str, Case], context: Context) -> None:
    small = [name for name in PASSING if sum(array.size for array in cases[name].inputs) <= LARGEST]
    lost = {}
    for name in sorted(small)[::EACH]:
        verdict = judge(cases[name], context)
        if verdict.verdict != PASSED:
            lost[name] = verdict.reason
    assert not lost
