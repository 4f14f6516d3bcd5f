"""Every Mesa version compiles the shipped models for a VideoCore IV at the cost in tests/vc4/budget*.json."""

from __future__ import annotations

import re
from pathlib import Path

import budget
import pytest
from budget import differences, models, numbers

from glsl_infer import bundle as bundles
from glsl_infer.errors import InputError
from glsl_infer.tools.videocore import Driver, Report
from glsl_infer.tools.videocore.driver import RELEASES


@pytest.fixture(scope="module", params=models(), ids=lambda path: path.stem)
def shipped(request: pytest.FixtureRequest, each_driver: Driver) -> tuple[Path, Report]:
    return request.param, budget.measured(request.param, each_driver)


@pytest.mark.sampled(4)
def test_every_program_compiles_and_is_accepted(shipped: tuple[Path, Report]) -> None:
    path, report = shipped
    assert [f"{row.layer} fails" for row in report.rows if row.failed] == []
    used = {draw.program for draw in bundles.read(path).manifest.passes}
    assert set(report.shaders) == used


@pytest.mark.sampled(4)
def test_no_layer_that_matters_falls_to_one_thread(shipped: tuple[Path, Report]) -> None:
    _, report = shipped
    assert [problem.layer for problem in report.problems if problem.fatal] == []


@pytest.mark.sampled(4)
def test_a_layer_takes_one_job_and_no_loads(shipped: tuple[Path, Report]) -> None:
    """A layer takes at most one job; independent layers share a job, counted for the first."""
    path, report = shipped
    assert [row.layer for row in report.rows if row.jobs > 1 or row.loads] == []
    assert report.totals["jobs"] == sum(row.jobs for row in report.rows) == bundles.read(path).manifest.jobs
    assert report.totals["loads"] == 0


@pytest.mark.sampled(4)
def test_the_budget_is_kept(shipped: tuple[Path, Report], each_driver: Driver) -> None:
    path, report = shipped
    stored = budget.stored(each_driver.mesa)
    lines = differences(budget.read(stored).get(path.stem), numbers(report))
    advice = f"if that is meant, run python scripts/vc4/budget.py --write and commit {stored.name} with it"
    assert not lines, "\n".join([f"{path.name} costs a VideoCore IV something else than before:", *lines, advice])


@pytest.mark.parametrize("mesa", RELEASES)
def test_the_budget_has_every_shipped_model(mesa: str) -> None:
    assert sorted(budget.read(budget.stored(mesa))) == [path.stem for path in models()]


@pytest.mark.sampled(4)
def test_differences_are_listed_layer_by_layer(shipped: tuple[Path, Report]) -> None:
    _, report = shipped
    after = numbers(report)
    assert differences(after, after) == []
    assert differences(None, after)[0].startswith("new: ")
    first = report.rows[0]
    layers = {name: dict(layer) for name, layer in after["layers"].items()}
    layers[first.layer] |= {"total": 2 * first.total, "threads": 1}
    before = {**after, "total": after["total"] + first.total, "layers": {**layers, "old": layers[first.layer]}}
    lines = differences(before, after)
    millions = f"{first.total / 5e5:.2f} -> {first.total / 1e6:.2f} million (-50.0%)"
    assert f"{first.layer}: threads 1 -> {first.threads}, {millions}" in lines
    assert "old: is gone" in lines
    assert lines[-1].startswith("frame: ") and len(lines) == 3


@pytest.mark.sampled(4)
def test_numbers_are_written_and_read_again(shipped: tuple[Path, Report], tmp_path: Path) -> None:
    path, report = shipped
    stored = {path.stem: numbers(report)}
    budget.write(tmp_path / "budget.json", stored)
    assert budget.read(tmp_path / "budget.json") == stored
    with pytest.raises(InputError, match=re.escape("No such file or directory; python scripts/vc4/budget.py")):
        budget.read(tmp_path / "none.json")
