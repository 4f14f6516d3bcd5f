"""``glsl-infer vc4 --time``: estimated frame time on a board, as a range, and its limiting factor."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from glsl_infer.cli.terminal_text import print_result
from glsl_infer.tools.aibench.memory_need import PYTHON, needed
from glsl_infer.tools.videocore import board_time, executor, first_result
from glsl_infer.tools.videocore.board_time import frame
from glsl_infer.tools.videocore.estimate import BOARDS

if TYPE_CHECKING:
    from glsl_infer.tools.videocore.driver import Driver
    from glsl_infer.tools.videocore.simulation import Simulation


def run(args: argparse.Namespace, compilers: Sequence[Driver]) -> int:
    """Simulate a frame of every model with each compiler, and print its milliseconds.

    Raises:
        InputError, RunError: as in ``simulation.simulate``.
    """
    from glsl_infer.tools.videocore.simulation import simulate

    chips = [executor.find(driver) for driver in compilers]
    counter = first_result.counter()
    starts = {path: None if counter is None else first_result.counted(path, counter) for path in args.models}
    drawn = [(path, chip.driver.version, simulate(path, chip)) for path in args.models for chip in chips]
    data = [_data(path, mesa, simulation, starts[path]) for path, mesa, simulation in drawn]
    tables = [
        "\n".join(lines(path, simulation, starts[path], f" (Mesa {mesa})" if len(chips) > 1 else ""))
        for path, mesa, simulation in drawn
    ]
    print_result(args, {"bundles": data}, "\n\n".join(tables).split("\n"))
    return 0


def _data(path: Path, mesa: str, simulation: Simulation, start: Mapping[str, int] | None) -> dict[str, Any]:
    boards = {board.name: vars(frame(simulation, board)) for board in BOARDS}
    return {
        "file": str(path),
        "mesa": mesa,
        **asdict(simulation),
        "boards": boards,
        "arm_instructions": start,
        "memory_bytes": PYTHON + needed(path),
    }


def lines(path: Path, simulation: Simulation, start: Mapping[str, int] | None, compiler: str = "") -> Iterator[str]:
    """Yield the report of one model. The compiler's name follows the model's."""
    yield f"{path}{compiler}: a simulated frame: {simulation.draws} draws in {simulation.jobs} jobs"
    yield ""
    yield f"{'ms':16s}{'low':>8s}{'middle':>8s}{'high':>8s}   {'GPU':>8s}{'CPU':>8s}  bound by"
    for board in BOARDS:
        times = frame(simulation, board)
        yield (
            f"{board.name:16s}{times.low:8.0f}{times.middle:8.0f}{times.high:8.0f}   "
            f"{times.gpu:8.0f}{times.cpu:8.0f}  {times.bound}"
        )
    yield ""
    yield _first(start)
    yield (
        f"memory: {(PYTHON + needed(path)) / 1e6:.0f} MB (Python, the unpacked file, textures); a Pi Zero has "
        f"{first_result.BOARD_MB}, of which the system takes some {first_result.SYSTEM_MB}"
    )
    yield ""
    yield f"{'million clocks':24s}{'all':>8s}{'computing':>12s}{'moving':>8s}{'waiting':>9s}{'MB moved':>10s}"
    for clocks in simulation.sets:
        yield (
            f"{clocks.name:24s}{clocks.clocks / 1e6:8.1f}{clocks.clocks_computing / 1e6:12.1f}"
            f"{clocks.clocks_moving / 1e6:8.1f}{clocks.clocks_waiting / 12e6:9.1f}{clocks.memory_bytes / 1e6:10.1f}"
        )


def _first(start: Mapping[str, int] | None) -> str:
    """Return a line about the time to the first result, from the instruction counts in ``start``."""
    if start is None:
        return "first result: not counted; scripts/vc4/arm/fetch of a checkout fetches an emulated Pi for it, 650 MB"
    count = start["start to first output"]
    seconds = [count / rate for rate in board_time.RATES.values()]
    boards = [
        f"{min(seconds) / speed:.1f} to {max(seconds) / speed:.1f} s ({name})"
        for name, speed in board_time.SPEED.items()
    ]
    return f"first result of a later start: {count / 1e6:,.0f} million ARM instructions, {', '.join(boards)}"
