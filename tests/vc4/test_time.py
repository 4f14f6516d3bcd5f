"""The simulated clocks of a frame: between what instructions alone take and what they may take at most."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from glsl_infer.cli import main
from glsl_infer.tools.videocore.estimate import BOARDS
from glsl_infer.tools.videocore.executor import Executor
from glsl_infer.tools.videocore.simulation import (
    ARTICLE_CLOCKS,
    ARTICLE_DRAWS,
    ARTICLE_JOBS,
    SETS,
    Clocks,
    Simulation,
    frame,
    simulate,
)

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
    assert low.memory_bytes < middle.memory_bytes  # a smaller second level misses more


def test_many_pixels_fill_all_processors(executor: Executor) -> None:
    superres = simulate(MODELS / "superres-x2-96.glslnn", executor)
    least = superres.instructions * CLOCKS_OF_AN_INSTRUCTION / PROCESSORS
    assert superres.sets[0].clocks_computing < 1.25 * least


def test_the_article_takes_the_article_s_time(simulated: Simulation) -> None:
    article = Simulation(
        tuple(Clocks(name, int(clocks), int(clocks), 0, 0, 0) for name, clocks in ARTICLE_CLOCKS.items()),
        ARTICLE_DRAWS,
        ARTICLE_JOBS,
        0,
    )
    for board in BOARDS:
        times = frame(article, board)
        assert [times.low, times.middle, times.high] == pytest.approx([board.article] * 3)
        ours = frame(simulated, board)
        assert ours.low < ours.middle < ours.high < board.article


def test_the_command_prints_a_range_for_each_board(simulated: Simulation, capsys: pytest.CaptureFixture[str]) -> None:
    model = str(MODELS / "trashnet-x22-129.glslnn")
    assert main(["vc4", "--time", model]) == 0
    board = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("Pi Zero W"))
    times = frame(simulated, BOARDS[0])
    low, middle, high, *_ = (int(word) for word in board.removeprefix("Pi Zero W").split()[:3])
    assert low == pytest.approx(times.low, rel=0.1) and middle == pytest.approx(times.middle, rel=0.1)
    assert high == pytest.approx(times.high, rel=0.1)
    assert main(["vc4", "--time", "--json", model]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["bundles"][0]["draws"] == simulated.draws
