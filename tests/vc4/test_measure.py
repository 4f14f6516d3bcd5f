"""Measurements of a bundle: programs, jobs, loops, counters, and the simulated clocks of a frame."""

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
from glsl_infer.cli import main, vc4_time
from glsl_infer.compiler.assemble import classes_of
from glsl_infer.compiler.build import Options, build
from glsl_infer.graph import Graph, Node
from glsl_infer.program import Quad
from glsl_infer.support.child_process import module_command
from glsl_infer.tools.videocore import Driver, board_time, first_result, measure, report
from glsl_infer.tools.videocore.board_time import ADDS, Work, frame, kernel_ms, left_out, milliseconds
from glsl_infer.tools.videocore.estimate import BOARDS
from glsl_infer.tools.videocore.executor import Executor
from glsl_infer.tools.videocore.simulation import SETS, Simulation, simulate


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
        for draw in bundle.manifest.passes:
            jobs.setdefault(draw.target, set()).add(draw.program)
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
    return [quad for draw in bundles.read(MODEL).manifest.passes for quad in draw.quads]


MODELS = Path(__file__).resolve().parents[2] / "models"
PROCESSORS, CLOCKS_OF_AN_INSTRUCTION = 12, 4


@pytest.fixture(scope="module")
def simulated(executor: Executor) -> Simulation:
    return simulate(MODELS / "trashnet-x22-129.glslnn", executor)


def test_no_set_is_quicker_than_its_instructions_and_each_is_slower_than_the_one_before(simulated: Simulation) -> None:
    least = simulated.instructions * CLOCKS_OF_AN_INSTRUCTION / PROCESSORS
    assert [clocks.name for clocks in simulated.sets] == list(SETS)
    low, middle, high = simulated.sets
    assert least < low.clocks_computing < middle.clocks_computing < high.clocks_computing
    for clocks in simulated.sets:
        assert max(clocks.clocks_computing, clocks.clocks_moving) <= clocks.clocks
        assert clocks.clocks <= clocks.clocks_computing + clocks.clocks_moving
        assert clocks.memory_bytes > 0
    assert low.memory_bytes < middle.memory_bytes  # a smaller second-level cache misses more


def test_many_pixels_fill_all_processors(executor: Executor) -> None:
    superres = simulate(MODELS / "superres-x2-96.glslnn", executor)
    least = superres.instructions * CLOCKS_OF_AN_INSTRUCTION / PROCESSORS
    assert superres.sets[0].clocks_computing < 1.25 * least


def test_the_articles_frame_takes_its_published_time(simulated: Simulation) -> None:
    for board in BOARDS:
        article = board_time.article()
        for name in SETS:
            assert milliseconds(article[name], name, board, kernel_ms(name, board)) == pytest.approx(board.article)
        simulated_frame = frame(simulated, board)
        assert simulated_frame.low < simulated_frame.middle < simulated_frame.high < board.article


def test_one_board_follows_from_the_other_within_15_percent_where_times_add_up() -> None:
    """The kernel's time from one frame of the article predicts the other frame within 15 %, where times add up."""
    for board in BOARDS:
        deviations = {name: left_out(name, board) / board.article - 1.0 for name in SETS}
        assert all((abs(deviations[name]) < 0.15) == ADDS[name] for name in SETS), deviations


def test_jobs_begin_when_the_cpu_has_made_them_and_the_gpu_has_done_those_before() -> None:
    zero = BOARDS[0]
    clocks, instructions = zero.clock / 1e3, 1e6  # a millisecond each, in the set "low"
    even = Work([2 * clocks] * 10, [instructions] * 10)
    assert milliseconds(even, "low", zero, 0.0) == pytest.approx(1 + 20)
    assert milliseconds(even, "low", zero, 3.0) == pytest.approx(40 + 2)
    late = Work([0.0, 30 * clocks, 0.0], [instructions, instructions, 10 * instructions])
    assert milliseconds(late, "low", zero, 0.0) == pytest.approx(32)
    assert milliseconds(late, "high", zero, 1.0) == pytest.approx(30 + 2 * 12 + 3)


def test_the_parts_of_a_frame_are_its_jobs(simulated: Simulation) -> None:
    assert len(simulated.draws_of_jobs) == simulated.jobs and sum(simulated.draws_of_jobs) == simulated.draws
    for clocks in simulated.sets:
        assert len(clocks.of_jobs) == simulated.jobs and sum(clocks.of_jobs) == clocks.clocks
    assert simulated.texels == 129 * 129


def test_the_instructions_of_a_frame_are_those_that_are_counted(simulated: Simulation) -> None:
    counted = json.loads((MODELS.parent / "tests/vc4/arm.json").read_text())
    total = sum(board_time.instructions(simulated.draws_of_jobs, simulated.texels))
    assert total == pytest.approx(counted["trashnet-x22-129.glslnn"]["frame"], rel=0.03)


def test_the_command_prints_a_range_for_each_board(
    simulated: Simulation, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(first_result, "counter", lambda: None)  # test_compiled.py counts these
    model = str(MODELS / "trashnet-x22-129.glslnn")
    assert main(["vc4", "--time", model]) == 0
    printed = capsys.readouterr().out
    board = next(line for line in printed.splitlines() if line.startswith("Pi Zero W"))
    assert "first result" in printed and "memory: 6" in printed and "a Pi Zero has 512" in printed
    times = frame(simulated, BOARDS[0])
    low, middle, high, *_ = (int(word) for word in board.removeprefix("Pi Zero W").split()[:3])
    assert low == pytest.approx(times.low, rel=0.1) and middle == pytest.approx(times.middle, rel=0.1)
    assert high == pytest.approx(times.high, rel=0.1)
    assert main(["vc4", "--time", "--json", model]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["bundles"][0]["draws"] == simulated.draws


def test_the_first_result_is_counted_instructions(simulated: Simulation) -> None:
    path = MODELS / "trashnet-x22-129.glslnn"
    text = "\n".join(vc4_time.lines(path, simulated, {"start to first output": 1_660_000_000}))
    assert "1,660 million ARM instructions, 1.7 to 3.3 s (Pi Zero W), 0.7 to 1.4 s (Pi 3 B+)" in text
    assert "scripts/vc4/arm/fetch" in "\n".join(vc4_time.lines(path, simulated, None))
