"""A bundle with hundreds of programs is reported, with what makes them fewer."""

from __future__ import annotations

from dataclasses import replace

import pytest

from glsl_infer.lowering.weights_plan import LONGEST_ARRAY, LayerWeights, choose
from glsl_infer.tools.export_report import ExportReport
from glsl_infer.tools.many_programs import MANY, advice


def report(programs: int, columns: int, array: int) -> ExportReport:
    """A report on two layers of 16 slices, whose weights lie where the plan for such an array puts them."""
    layer = LayerWeights("a", 16, 400, columns, columns + 1)
    weights = [choose(replace(layer, name=name), "auto", uniform_vectors=array) for name in "ab"]
    return ExportReport((), (), (), (), (), {"programs": programs}, (), tuple(weights))


@pytest.mark.parametrize(("programs", "said"), [(MANY, False), (MANY + 1, True)])
def test_many_programs(programs: int, said: bool) -> None:
    line = advice(report(programs, 288, 216), 216)
    assert (line is not None) == said
    if line is not None:
        assert line.startswith("32 of the 101 programs are for one slice each: the weights of 2 layers fit no uniform")
        assert "--uniform-vectors videocore" in line


@pytest.mark.parametrize(("columns", "array"), [(36, 216), (288, LONGEST_ARRAY)])
def test_nothing_to_say(columns: int, array: int) -> None:
    """Weights that are in arrays, and arrays that can be no longer."""
    assert advice(report(500, columns, array), array) is None
