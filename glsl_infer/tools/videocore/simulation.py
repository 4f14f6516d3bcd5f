"""Milliseconds of a frame on a board, as a range: clocks that the virtual VideoCore IV simulates, and the CPU's part.

The GPU's clocks come from an event simulation of a drawn frame (scripts/vc4/executor/time.c): processors, threads,
texture units, caches and memory, with three sets of what is not published. The CPU's part is draws and jobs:

    user space = draws * ARM instructions of a draw / instructions a second
    kernel     = jobs * time of a job

Nobody published the kernel's time of a job. It is what the article's frame leaves of 595 ms (Pi Zero W) or 328 ms
(Pi 3 B+) when the same simulation has drawn the article's network in the article's way (scripts/vc4/article.py).
Set ``low`` lets CPU and GPU work at the same time, so that the longer part counts; the others add both.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from glsl_infer import bundle as bundles
from glsl_infer.bundle import probe
from glsl_infer.errors import GlslInferError, InputError, RunError
from glsl_infer.gl.context import Context
from glsl_infer.runtime.session import Session
from glsl_infer.support.child_process import module_command
from glsl_infer.tools.videocore.estimate import BOARDS, Board
from glsl_infer.tools.videocore.executor import Controls, Executor

SETS = ("low", "middle", "high")
"""Sets of parameters that are not published; scripts/vc4/executor/time.c lists them with their sources."""

ARM_INSTRUCTIONS_OF_A_DRAW = 30_000
"""In user space, Python and Mesa together, upload included; scripts/vc4/arm/count counts them."""

ARM_RATES = {"low": 1.0e9, "middle": 0.7e9, "high": 0.5e9}
"""Instructions a second: 1, 0.7 and 0.5 a clock of 1 GHz; assumptions."""

ARTICLE_DRAWS, ARTICLE_JOBS = 1218, 1123
ARTICLE_CLOCKS = {"low": 19.9e6, "middle": 30.3e6, "high": 54.9e6}
"""X22 at 385x385 as the article draws it; scripts/vc4/article.py counts them."""

ADDS = {"low": False, "middle": True, "high": True}
"""Whether the CPU's and the GPU's times add up."""


@dataclass(frozen=True)
class Clocks:
    """What one frame takes with one set of parameters; see ``COUNTERS`` of ``executor``.

    Attributes:
        name: one of ``SETS``.
        clocks: of the GPU, all jobs one after the other.
        clocks_computing: if memory were endlessly fast.
        clocks_moving: if only memory counted.
        clocks_waiting: that processors waited for texels, summed over 12 processors.
        memory_bytes: read and written.
    """

    name: str
    clocks: int
    clocks_computing: int
    clocks_moving: int
    clocks_waiting: int
    memory_bytes: int


@dataclass(frozen=True)
class Simulation:
    """A drawn frame: its clocks in each set, and what does not depend on the sets."""

    sets: tuple[Clocks, ...]
    draws: int
    jobs: int
    instructions: int

    def as_json(self) -> dict[str, Any]:
        """Return it as plain data, with the milliseconds on each board."""
        return {**asdict(self), "boards": {board.name: vars(frame(self, board)) for board in BOARDS}}


@dataclass(frozen=True)
class Frame:
    """Milliseconds of a frame in each set, and its parts in the middle one.

    Attributes:
        low, middle, high: the frame.
        gpu, cpu: in the middle set.
        bound: what takes longest in the middle set: ``instructions``, ``texture fetches``, ``memory`` or ``CPU``.
    """

    low: float
    middle: float
    high: float
    gpu: float
    cpu: float
    bound: str


def frame(simulation: Simulation, board: Board) -> Frame:
    """Return what a simulated frame takes on a board."""
    times = {}
    for clocks in simulation.sets:
        gpu = 1e3 * clocks.clocks / board.clock
        cpu = cpu_ms(clocks.name, board, simulation.draws, simulation.jobs)
        times[clocks.name] = (gpu, cpu, gpu + cpu if ADDS[clocks.name] else max(gpu, cpu))
    gpu, cpu, total = times["middle"]
    return Frame(times["low"][2], total, times["high"][2], gpu, cpu, _bound(simulation, gpu, cpu))


def cpu_ms(name: str, board: Board, draws: int, jobs: int) -> float:
    """Return the CPU's milliseconds of a frame in the set ``name``, such that the article's frame takes its time."""
    draw = 1e3 * ARM_INSTRUCTIONS_OF_A_DRAW / ARM_RATES[name]
    gpu = 1e3 * ARTICLE_CLOCKS[name] / board.clock
    job = (board.article - ARTICLE_DRAWS * draw - (gpu if ADDS[name] else 0.0)) / ARTICLE_JOBS
    return draws * draw + jobs * job


def _bound(simulation: Simulation, gpu: float, cpu: float) -> str:
    middle = next(clocks for clocks in simulation.sets if clocks.name == "middle")
    if cpu > gpu:
        return "CPU"
    if middle.clocks_moving > middle.clocks_computing:
        return "memory"
    return "texture fetches" if middle.clocks_computing * 12 > 2 * 4 * simulation.instructions else "instructions"


def simulate(path: str | Path, executor: Executor) -> Simulation:
    """Draw a frame of a bundle on the executor, in a process of its own, and return its clocks.

    Raises:
        InputError: the bundle cannot be read.
        RunError: the executor does not do what the driver asks of it.
    """
    command = module_command("glsl_infer.tools.videocore.simulation", path)
    done = subprocess.run(command, env=executor.environment(), capture_output=True, text=True, check=False)
    if done.returncode == 0:
        data = json.loads(done.stdout)
        return Simulation(tuple(Clocks(**entry) for entry in data.pop("sets")), **data)
    message = done.stderr.strip()
    if done.returncode == InputError.exit_code:
        raise InputError(message.rpartition("error: ")[2])
    raise RunError(f"{path}: the virtual VideoCore IV failed: {message or done.returncode}")


def draw(made: bundles.Bundle, names: Sequence[str] = SETS) -> Simulation:
    """Draw one frame in each set, in this process, which has to run on the executor.

    Raises:
        InputError: this process does not run on the executor.
    """
    controls = Controls()
    inputs = probe.inputs(made.manifest.inputs)
    sets = []
    with Context("surfaceless") as context, Session(made, context=context) as session:
        session.run(inputs)  # what only the first frame compiles and uploads is not counted
        for name in names:
            controls.switch("TIME", name)
            before = controls.counters()
            session.run(inputs)
            spent = {counter: after - before[counter] for counter, after in controls.counters().items()}
            sets.append(Clocks(name, *(spent[field] for field in list(Clocks.__dataclass_fields__)[1:])))
        controls.switch("TIME", "off")
    return Simulation(tuple(sets), spent["draws"], spent["jobs"], spent["fragment_instructions"])


def main() -> int:
    """Simulate the bundle that the argument names; print JSON; return the exit code."""
    try:
        print(json.dumps(asdict(draw(bundles.read(sys.argv[1])))))
    except GlslInferError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
