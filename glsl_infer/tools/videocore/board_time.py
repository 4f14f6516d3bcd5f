"""Time of a simulated frame on a board: the CPU's share, and its overlap with the GPU's.

    user space of a job = (JOB_INSTRUCTIONS + draws * DRAW_INSTRUCTIONS) / instructions a second
    kernel of a job     = remainder of the article's time

The CPU prepares one job after the other, and the kernel queues them. In the set ``low``, a job starts on the GPU once
the CPU has prepared it and the GPU has finished the previous one; a frame takes the longer of both. In the other sets,
a frame takes the sum of both. One of the article's times then predicts the other (``left_out``); with the longer of
both it does not.

Sources of the figures:

    GPU's clocks            executed instructions, fetches and misses; ``SETS`` of unpublished parameters
    *_INSTRUCTIONS          counted under QEMU (scripts/vc4/arm/count), for 76, 129 and 234 draws in 33 and 44 jobs
    RATES                   1, 0.7 and 0.5 instructions a clock of 1 GHz: assumed
    kernel's time of a job  fitted, for each board and set alone: the article's network in the article's way
                            (``article.json``, by scripts/vc4/article.py) takes 595 ms (Zero W) and 328 ms (3 B+)
    SPEED                   of a core of the 3 B+: 2.45 times the Zero's. Published: sysbench takes a Pi 3 at 1.2 GHz a
                            third of a B+'s time at 0.7 GHz
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from glsl_infer.tools.videocore.estimate import BOARDS, Board
from glsl_infer.tools.videocore.simulation import Simulation

FRAME_INSTRUCTIONS, TEXEL_INSTRUCTIONS, JOB_INSTRUCTIONS, DRAW_INSTRUCTIONS = 300_000, 12.3, 37_800, 9_300
"""ARM instructions in user space, Python and Mesa together: of a frame, a texel of its image, a job, a draw."""

RATES = {"low": 1.0e9, "middle": 0.7e9, "high": 0.5e9}
"""ARM instructions a second on a Pi Zero W."""

SPEED = {"Pi Zero W": 1.0, "Pi 3 B+": 2.45}

ADDS = {"low": False, "middle": True, "high": True}
"""Whether the CPU's and the GPU's times add up."""

_ARTICLE = Path(__file__).with_name("article.json")
_STEPS = 50
"""Bisection steps of the search for a kernel's time."""


@dataclass(frozen=True)
class Work:
    """Work of a frame for GPU and CPU, job by job.

    Attributes:
        gpu: clocks.
        cpu: ARM instructions in user space; the first job includes those of the frame and its image.
    """

    gpu: Sequence[float]
    cpu: Sequence[float]


@dataclass(frozen=True)
class Frame:
    """Milliseconds of a frame in each set, and its shares in the middle one.

    Attributes:
        low, middle, high: the frame.
        gpu, cpu: in the middle set, each alone.
        bound: the bottleneck in the middle set: ``instructions``, ``texture fetches``, ``memory`` or ``CPU``.
    """

    low: float
    middle: float
    high: float
    gpu: float
    cpu: float
    bound: str


def frame(simulation: Simulation, board: Board) -> Frame:
    """Return the time of a simulated frame on a board."""
    total, gpu, cpu = {}, 0.0, 0.0
    for clocks in simulation.sets:
        work = Work(clocks.of_jobs, instructions(simulation.draws_of_jobs, simulation.texels))
        kernel = kernel_ms(clocks.name, board)
        total[clocks.name] = milliseconds(work, clocks.name, board, kernel)
        if clocks.name == "middle":
            gpu = 1e3 * sum(work.gpu) / board.clock
            cpu = sum(_cpu_ms(work, clocks.name, board, kernel))
    return Frame(total["low"], total["middle"], total["high"], gpu, cpu, _bound(simulation, gpu, cpu))


def instructions(draws_of_jobs: Sequence[int], texels: int) -> tuple[float, ...]:
    """Return the ARM instructions in user space of each job."""
    jobs = [float(JOB_INSTRUCTIONS + draws * DRAW_INSTRUCTIONS) for draws in draws_of_jobs]
    return (jobs[0] + FRAME_INSTRUCTIONS + TEXEL_INSTRUCTIONS * texels, *jobs[1:])


def milliseconds(work: Work, name: str, board: Board, kernel: float) -> float:
    """Return the milliseconds of a frame in the set ``name``, if the kernel takes ``kernel`` milliseconds for a job."""
    cpu = _cpu_ms(work, name, board, kernel)
    if ADDS[name]:
        return sum(cpu) + 1e3 * sum(work.gpu) / board.clock
    prepared = done = 0.0
    for clocks, spent in zip(work.gpu, cpu):
        prepared += spent
        done = max(prepared, done) + 1e3 * clocks / board.clock
    return done


def kernel_ms(name: str, board: Board) -> float:
    """Return the kernel's milliseconds of a job, fitted so the article's frame takes the article's time."""
    low, high = 0.0, board.article
    for _ in range(_STEPS):
        middle = (low + high) / 2.0
        if milliseconds(article()[name], name, board, middle) < board.article:
            low = middle
        else:
            high = middle
    return high


def left_out(name: str, board: Board) -> float:
    """Return the time of the article's frame with the kernel's time of the other board, scaled by ``SPEED``."""
    (other,) = (candidate for candidate in BOARDS if candidate.name != board.name)
    kernel = kernel_ms(name, other) * SPEED[other.name] / SPEED[board.name]
    return milliseconds(article()[name], name, board, kernel)


@cache
def article() -> dict[str, Work]:
    """Return the article's frame in each set."""
    data = json.loads(_ARTICLE.read_text("utf-8"))
    jobs = [count for count, *_ in data["jobs"]]
    cpu = [data["arm_instructions"] / sum(jobs)] * sum(jobs)
    return {
        name: Work([job[1 + index] for job in data["jobs"] for _ in range(job[0])], cpu)
        for index, name in enumerate(data["sets"])
    }


def _cpu_ms(work: Work, name: str, board: Board, kernel: float) -> list[float]:
    return [1e3 * spent / RATES[name] / SPEED[board.name] + kernel for spent in work.cpu]


def _bound(simulation: Simulation, gpu: float, cpu: float) -> str:
    middle = next(clocks for clocks in simulation.sets if clocks.name == "middle")
    if cpu > gpu:
        return "CPU"
    if middle.clocks_moving > middle.clocks_computing:
        return "memory"
    return "texture fetches" if middle.clocks_computing * 12 > 2 * 4 * simulation.instructions else "instructions"
