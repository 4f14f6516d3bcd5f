"""Stored costs equal those by every Mesa version, and estimates without the driver's compiler are close to them."""

from __future__ import annotations

import re
from pathlib import Path

import budget
import numpy as np
import pytest
from budget import ROOT, differences, models, stored_fields
from catalogue_ranges import milliseconds
from graphs import classifier, conv_node, input_node
from x22 import x22

from glsl_infer import bundle as bundles
from glsl_infer.compiler.build import Options, build
from glsl_infer.compiler.planned_cost import planned
from glsl_infer.errors import InputError
from glsl_infer.tools import videocore as vc4
from glsl_infer.tools.get import catalogue, exporting
from glsl_infer.tools.videocore import Driver, Report, foresight
from glsl_infer.tools.videocore.driver import RELEASES
from glsl_infer.tools.videocore.measure import measure
from glsl_infer.tools.videocore.report import report
from glsl_infer.tools.videocore.verify import measured


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
    lines = differences(budget.read(stored).get(path.stem), stored_fields(report))
    advice = f"if that is meant, run python scripts/vc4/budget.py --write and commit {stored.name} with it"
    assert not lines, "\n".join([f"{path.name} costs a VideoCore IV something else than before:", *lines, advice])


@pytest.mark.parametrize("mesa", RELEASES)
def test_the_budget_has_every_shipped_model(mesa: str) -> None:
    assert sorted(budget.read(budget.stored(mesa))) == [path.stem for path in models()]


@pytest.mark.sampled(4)
def test_differences_are_listed_layer_by_layer(shipped: tuple[Path, Report]) -> None:
    _, report = shipped
    after = stored_fields(report)
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
    stored = {path.stem: stored_fields(report)}
    budget.write(tmp_path / "budget.json", stored)
    assert budget.read(tmp_path / "budget.json") == stored
    with pytest.raises(InputError, match=re.escape("No such file or directory; python scripts/vc4/budget.py")):
        budget.read(tmp_path / "none.json")


@pytest.mark.parametrize("name", ["face-detection", "face-mesh"])  # the others take a minute each
def test_the_milliseconds_of_the_catalogue_are_the_estimates(name: str, driver: Driver) -> None:
    model = catalogue.read()[name]
    if not exporting.stored_file(model).is_file():
        pytest.skip(f"not fetched: glsl-infer get {name}")
    assert model.zero_ms == milliseconds(model)


@pytest.mark.parametrize("name", ["trashnet-x22-129", "superres-x2-96"])
def test_the_estimate_is_near_the_compilers(name: str, driver: Driver) -> None:
    bundle = bundles.read(ROOT / f"models/{name}.glslnn")
    _, result = measured(bundle, 120.0, prefix=driver.prefix)
    forecast, foreseen = foresight.foresee(bundle, result.programs), foresight.foresee(bundle, {})
    assert (forecast.compiled, foreseen.compiled) == (1.0, 0.0)
    assert foreseen.milliseconds == pytest.approx(forecast.milliseconds, rel=0.1)
    assert foreseen.computing == pytest.approx(forecast.computing, rel=0.15)
    share = max(forecast.layers, key=lambda layer: layer.milliseconds).layer
    assert share in str(foreseen), "the longest layer is named either way"


FINE = {"spread": 16, "sum": 16}


def test_maps_of_16_bits_add_the_planned_share(driver: Driver, tmp_path: Path) -> None:
    """A depthwise layer and a sum with a 16-bit residual cost the share of the plan if both store two bytes."""
    rng = np.random.default_rng(5)
    body = [input_node(32), conv_node(rng, "feed", ("image",), 3, 16, activation="relu")]
    body.append(conv_node(rng, "spread", ("feed",), 16, 16, kernel=(3, 3), groups=16, padding=(1, 1, 1, 1)))
    body.append(conv_node(rng, "sum", ("spread", "spread"), 16, 16))
    graph = classifier(rng, body, 16)
    pictures = [{"image": rng.integers(0, 256, (32, 32, 3), np.uint8)} for _ in range(2)]
    plans, counts = [], []
    for bits in ({}, FINE):
        options = Options(precision="8", precision_for=bits)
        bundle, _, prepared = build(graph, ("a", "b", "c"), options=options, calibration=pictures)
        bundles.write(bundle, tmp_path / "model.glslnn")
        rows = report(*measure(tmp_path / "model.glslnn", driver), "model").rows
        counts.append(sum(row.total for row in rows if row.layer in ("feed", *FINE)))
        plans.append(planned(prepared.graph, calibrated=True).work)
    assert counts[1] > 1.5 * counts[0]
    assert plans[1] / plans[0] == pytest.approx(counts[1] / counts[0], rel=0.12)


MOST = 630e6
"""Largest number of instructions times pixels of a frame; Beatmup's shaders take 738.8 million by the same compiler."""


def test_a_frame_stays_below_the_limit(driver: Driver, tmp_path: Path) -> None:
    labels = [f"class {index}" for index in range(120)]
    bundle, _, _ = build(x22(385, 120), labels, options=Options(weights="uniform"))
    bundles.write(bundle, tmp_path / "x22.glslnn")
    result = vc4.report(*vc4.measure(tmp_path / "x22.glslnn", driver), "x22")
    assert result.total <= MOST
    assert result.totals["jobs"] <= 48
    assert [problem.layer for problem in result.problems if problem.fatal] == []
