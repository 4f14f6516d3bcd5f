"""Measurements of a bundle: programs, jobs, loops and the GPU's counters."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tiny
from graphs import conv_node, dense_node, input_node, pool_node

from glsl_infer import bundle as bundles
from glsl_infer.compiler.assemble import classes_of
from glsl_infer.compiler.build import Options, build
from glsl_infer.graph import Graph, Node
from glsl_infer.program import Quad
from glsl_infer.support.child_process import module_command
from glsl_infer.tools.videocore import Driver, measure, report
from glsl_infer.tools.videocore.executor import Executor


@pytest.mark.parametrize("weights", ["uniform", "baked"])
def test_every_program_has_its_count(driver: Driver, tmp_path: Path, weights: str) -> None:
    bundle, measured = measure(tiny.write_tiny(tmp_path, weights=weights), driver)
    assert measured.failures == {}
    assert sorted(measured.programs) == sorted(program.name for program in bundle.manifest.programs)
    names = ["expand", "unit-pw", "unit-dw"] if weights == "uniform" else ["expand.3", "unit-pw.3", "unit-dw.3"]
    counts = [measured.programs[name].instructions for name in names]
    assert counts == sorted(counts) and counts[0] > 2 * 4 * 4, "the more is read, the longer"
    assert [measured.programs[name].fetches for name in names] == [2, 8, 10], "texels that are read"


@pytest.mark.parametrize("module", ["harness", "simulation", "pixels", "compile_only"])
def test_the_process_that_draws_is_restricted(driver: Driver, tmp_path: Path, module: str) -> None:
    """After ``main`` the process can neither write files nor start programs, whether it has drawn or not."""
    code = f"""
import os, subprocess, sys
from glsl_infer.runtime import isolated_run, sandbox
held = []
isolated_run.sandbox.restrict = lambda restrict=sandbox.restrict: held.extend(restrict())
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
    path = tiny.write_tiny(tmp_path)
    if module == "compile_only":
        path = tmp_path / "job.json"
        path.write_text('{"attributes": [], "prelude": "", "programs": []}')
    command = [sys.executable, "-c", code, str(path)]
    done = subprocess.run(command, env=driver.environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stdout.splitlines()[-1] == "held True", done.stderr


def test_an_atlas_takes_a_job_a_layer_and_no_loads(driver: Driver, tmp_path: Path) -> None:
    result = report(*measure(tiny.write_tiny(tmp_path), driver))
    assert {row.layer: row.jobs for row in result.rows} == dict.fromkeys((row.layer for row in result.rows), 1)
    assert len(result.frame) == len(result.rows) == tiny.tiny_bundle().manifest.jobs
    assert result.totals["loads"] == sum(row.loads for row in result.rows) == 0


def test_planar_takes_a_job_a_slice(driver: Driver, tmp_path: Path) -> None:
    result = report(*measure(tiny.write_tiny(tmp_path, layout="planar"), driver))
    jobs = {row.layer: row.jobs for row in result.rows}
    assert jobs["expand"] == jobs["unit-pw"] == jobs["unit-dw"] == 16
    assert result.totals["jobs"] == sum(jobs.values()) == tiny.tiny_bundle(layout="planar").manifest.jobs


def test_the_disassembly_has_a_line_for_each_instruction(driver: Driver, tmp_path: Path) -> None:
    _, measured = measure(tiny.write_tiny(tmp_path), driver, disassembly=True)
    assert sorted(measured.listings) == sorted(measured.programs)
    for name, shader in measured.programs.items():
        assert len(measured.listings[name].splitlines()) == shader.instructions
        assert measured.listings[name].startswith("0x")


def test_measuring_twice_gives_the_same(driver: Driver, tmp_path: Path) -> None:
    path = tiny.write_tiny(tmp_path)
    assert measure(path, driver) == measure(path, driver)


SIZE = 19
CASES: dict[str, tuple[str, int, list[Node]]] = {
    "average 12x12": ("8", 8, [Node("n", "average_pool", ("c",), {"pool": (12, 12), "strides": (5, 5)})]),
    "maximum 7x12": ("8", 8, [Node("n", "max_pool", ("c",), {"pool": (7, 12), "padding": (3, 3, 5, 6)})]),
    "mean": ("8", 8, [pool_node("n", "c")]),
    "mean of 16 bits": ("16", 8, [pool_node("n", "c")]),
    "deviation": ("8", 8, [Node("n", "global_deviation", ("c",), {})]),
    "dense": ("8", 128, [pool_node("p", "c"), dense_node(np.random.default_rng(1), "n", "p", 128, 6)]),
    "softmax": ("8", 128, [pool_node("p", "c"), Node("n", "vector_softmax", ("p",), {})]),
}


def test_turns_are_counted(executor: Executor, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    paths = {}
    for name, (bits, channels, nodes) in CASES.items():
        body = (input_node(SIZE), conv_node(rng, "c", ("image",), 3, channels, activation="sigmoid"), *nodes)
        picture = rng.integers(0, 256, (SIZE, SIZE, 3), np.uint8)
        graph = Graph(name, body, "n")
        labels = [str(index) for index in range(classes_of(graph))]
        bundle, _, _ = build(graph, labels, options=Options(precision=bits), calibration=[picture])
        paths[name] = tmp_path / f"{len(paths)}.glslnn"
        bundles.write(bundle, paths[name])
    command = [sys.executable, str(Path(__file__).with_name("job_counts.py")), *map(str, paths.values())]
    drawn = json.loads(subprocess.run(command, env=executor.environment(), capture_output=True, check=True).stdout)
    loops = 0
    for name, path in paths.items():
        bundle, measured = measure(path, executor.driver)
        jobs = {}
        for entry in bundle.manifest.passes:
            jobs.setdefault(entry.target, set()).add(entry.program)
        assert len(jobs) == len(drawn[str(path)])
        for programs, counts in zip(jobs.values(), drawn[str(path)]):
            if len(programs) == 1:
                shader = measured.programs[programs.pop()]
                assert counts["fragment_instructions"] == shader.executed * counts["groups"], name
                loops += shader.executed > shader.instructions
    assert loops >= len(CASES), "each has a loop that stays one"


ROOT = Path(__file__).resolve().parents[2]
MODEL = ROOT / "models/trashnet-x22-129.glslnn"


def test_the_driver_counts_executed_instructions(executor: Executor, tmp_path: Path) -> None:
    counts = tmp_path / "counts.json"
    done = subprocess.run(
        module_command("glsl_infer.tools.report.counters", MODEL, "surfaceless"),
        env={**executor.environment(counts=counts), "GLSL_INFER_CACHE": "off"},
        capture_output=True,
        text=True,
        check=True,
    )
    report = json.loads(done.stdout)
    quads = sum(-(-quad.width // 2) * -(-quad.height // 2) for quad in _quads())
    assert report["FEP-valid-quads"] == report["TLB-quads-written-to-color-buffer"]
    assert (
        quads <= report["FEP-valid-quads"] <= 1.2 * quads
    )  # quads of the target's grid, and both halves of a diagonal
    executed, everything = report["QPU-total-clk-cycles-executing-valid-instr"], json.loads(counts.read_text("utf-8"))
    assert executed % 4 == 0  # clocks of an instruction
    assert 0 < executed < 4 * (everything["fragment_instructions"] + everything["vertex_instructions"])
    assert 0 < report["TMU-total-text-cache-miss"] < report["TMU-total-text-quads-processed"]
    assert report["QPU-total-idle-clk-cycles"] is None  # not counted yet, so the value is missing


def _quads() -> list[Quad]:
    return [quad for entry in bundles.read(MODEL).manifest.passes for quad in entry.quads]
