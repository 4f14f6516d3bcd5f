"""The simulated clocks of a frame are between the time of its instructions alone and an upper bound."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from glsl_infer.cli import main, vc4_time
from glsl_infer.tools.videocore import board_time, first_result
from glsl_infer.tools.videocore.board_time import ADDS, Work, frame, kernel_ms, left_out, milliseconds
from glsl_infer.tools.videocore.estimate import BOARDS
from glsl_infer.tools.videocore.executor import Executor
from glsl_infer.tools.videocore.simulation import SETS, Simulation, simulate

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
        ours = frame(simulated, board)
        assert ours.low < ours.middle < ours.high < board.article


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
    monkeypatch.setattr(first_result, "counter", lambda: None)  # test_arm_budget.py counts these
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
