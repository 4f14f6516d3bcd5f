"""Measurements of a bundle: every program and every job, each with its layer."""

from __future__ import annotations

import subprocess
import sys
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


@pytest.mark.parametrize("module", ["harness", "simulation", "pixels"])
def test_the_process_that_draws_is_restricted(driver: Driver, tmp_path: Path, module: str) -> None:
    """After ``main`` the process can neither write files nor start programs, whether it has drawn or not."""
    code = f"""
import os, subprocess, sys
from glsl_infer.runtime import fence, isolated_run
held = []
isolated_run.fence.close = lambda close=fence.close: held.extend(close())
from glsl_infer.tools.videocore import {module}
try:
    {module}.main()
except Exception:
    pass  # only harness draws without the executor
if "landlock" in held:
    for work in (lambda: open(r"{tmp_path}/planted", "w"), lambda: subprocess.run(["/bin/true"])):
        try:
            work()
            sys.exit("not refused")
        except PermissionError:
            pass
print("held", bool(held) or not os.path.exists("/sys/kernel/security/landlock"))
"""
    command = [sys.executable, "-c", code, str(tiny.write_tiny(tmp_path))]
    done = subprocess.run(command, env=driver.environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stdout.splitlines()[-1] == "held True", done.stderr


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
