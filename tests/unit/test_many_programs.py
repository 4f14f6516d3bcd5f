"""Export's advice for a bundle with hundreds of programs."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from glsl_infer.lowering.weights_plan import LONG_ARRAY, LONGEST_ARRAY, LayerWeights, choose, longer_array
from glsl_infer.tools.export_report import ExportReport
from glsl_infer.tools.many_programs import MANY, advice, long_arrays


def report(programs: int, columns: int, array: int) -> ExportReport:
    """Return a report of two layers of 16 slices, with weights placed as the plan for such an array does."""
    layer = LayerWeights("a", 16, 400, columns, columns + 1)
    weights = [choose(replace(layer, name=name), "auto", uniform_vectors=array) for name in "ab"]
    return ExportReport((), (), (), (), (), {"programs": programs}, (), tuple(weights))


@pytest.mark.parametrize(("programs", "message"), [(MANY, False), (MANY + 1, True)])
def test_many_programs_get_advice(programs: int, message: bool) -> None:
    line = advice(report(programs, 288, 216), 216)
    assert (line is not None) == message
    if line is not None:
        assert line.startswith("32 of the 101 programs are for one slice each: the weights of 2 layers fit no uniform")
        assert "--uniform-vectors videocore" in line


@pytest.mark.parametrize(("columns", "array"), [(36, 216), (288, LONGEST_ARRAY)])
def test_few_programs_get_no_advice(columns: int, array: int) -> None:
    """Weights in arrays, and arrays of maximum length, need no advice."""
    assert advice(report(500, columns, array), array) is None


@pytest.mark.parametrize("length, longer", [(216, LONG_ARRAY), (LONG_ARRAY, LONGEST_ARRAY), (LONGEST_ARRAY, None)])
def test_too_many_constants_get_advice_on_longer_arrays(length: int, longer: int | None) -> None:
    wide = LayerWeights("wide", 512, 49, 1152, LONGEST_ARRAY + 1, "too wide")
    (choice,) = [choose(wide, "auto", None, length)]
    assert choice.mode == "baked"
    assert longer_array([choice], length) == longer
    assert longer_array([replace(choice, slices=8)], length) is None


def test_a_warning_names_the_required_uniform_vectors() -> None:
    def bundle(vectors: int) -> Any:
        return SimpleNamespace(manifest=SimpleNamespace(limits=SimpleNamespace(fragment_uniform_vectors=vectors)))

    (message,) = long_arrays([bundle(200), bundle(903)], 216)
    assert message.startswith("a driver needs 903 uniform vectors for it, and many phones have 224")
    assert long_arrays([bundle(903)], 1000) == long_arrays([bundle(220)], 216) == long_arrays([], 216) == ()
