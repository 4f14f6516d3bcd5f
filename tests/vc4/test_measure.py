"""Measurements of a bundle: every program and every job, each with its layer."""

from __future__ import annotations

from pathlib import Path

import pytest
import tiny

from glsl_infer.tools.videocore import Driver, measure, report


@pytest.mark.parametrize("weights", ["uniform", "baked"])
def test_every_program_has_its_count(driver: Driver, tmp_path: Path, weights: str) -> None:
    made, measured = measure(tiny.write_tiny(tmp_path, weights=weights), driver)
    assert measured.failures == {}
    assert sorted(measured.programs) == sorted(one.name for one in made.manifest.programs)
    names = ["expand", "unit-pw", "unit-dw"] if weights == "uniform" else ["expand.3", "unit-pw.3", "unit-dw.3"]
    counts = [measured.programs[name].instructions for name in names]
    assert counts == sorted(counts) and counts[0] > 2 * 4 * 4, "the more is read, the longer"
    assert [measured.programs[name].fetches for name in names] == [2, 8, 10], "texels that are read"


def test_an_atlas_takes_a_job_a_layer_and_no_loads(driver: Driver, tmp_path: Path) -> None:
    found = report(*measure(tiny.write_tiny(tmp_path), driver))
    assert {row.layer: row.jobs for row in found.rows} == dict.fromkeys((row.layer for row in found.rows), 1)
    assert len(found.frame) == len(found.rows) == tiny.tiny_bundle().manifest.jobs
    assert found.totals["loads"] == sum(row.loads for row in found.rows) == 0


def test_planar_takes_a_job_a_slice(driver: Driver, tmp_path: Path) -> None:
    found = report(*measure(tiny.write_tiny(tmp_path, layout="planar"), driver))
    jobs = {row.layer: row.jobs for row in found.rows}
    assert jobs["expand"] == jobs["unit-pw"] == jobs["unit-dw"] == 16
    assert found.totals["jobs"] == sum(jobs.values()) == tiny.tiny_bundle(layout="planar").manifest.jobs


def test_the_disassembly_has_a_line_for_each_instruction(driver: Driver, tmp_path: Path) -> None:
    _, measured = measure(tiny.write_tiny(tmp_path), driver, disassembly=True)
    assert sorted(measured.listings) == sorted(measured.programs)
    for name, shader in measured.programs.items():
        assert len(measured.listings[name].splitlines()) == shader.instructions
        assert measured.listings[name].startswith("0x")


def test_measuring_twice_gives_the_same(driver: Driver, tmp_path: Path) -> None:
    path = tiny.write_tiny(tmp_path)
    assert measure(path, driver) == measure(path, driver)
