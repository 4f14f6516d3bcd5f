"""Milliseconds of a frame on a board, as a range: simulated clocks of the virtual VideoCore IV, and the CPU's share.

The GPU's clocks come from an event simulation of a drawn frame (scripts/vc4/executor/time.c): processors, threads,
texture units, caches and memory, with three sets of the unpublished parameters. ``board_time`` adds the CPU's share.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from glsl_infer import bundle as bundles
from glsl_infer.bundle import probe
from glsl_infer.bundle.manifest import PICTURE
from glsl_infer.gl.context import Context
from glsl_infer.runtime.frame import Call
from glsl_infer.runtime.isolated_run import enclose
from glsl_infer.runtime.session import Session
from glsl_infer.support.child_process import exit_code_of
from glsl_infer.tools.videocore.executor import Controls, Executor

SETS = ("low", "middle", "high")
"""Sets of unpublished parameters; scripts/vc4/executor/time.c lists them with their sources."""


@dataclass(frozen=True)
class Clocks:
    """Counts of one frame with one set of parameters; see ``COUNTERS`` of ``executor``.

    Attributes:
        name: one of ``SETS``.
        clocks: clocks of the GPU, all jobs in sequence.
        clocks_computing: clocks with infinitely fast memory.
        clocks_moving: clocks of memory traffic alone.
        clocks_waiting: clocks in which processors waited for texels, summed over 12 processors.
        memory_bytes: bytes read and written.
        of_jobs: the clocks of each job, in order.
    """

    name: str
    clocks: int
    clocks_computing: int
    clocks_moving: int
    clocks_waiting: int
    memory_bytes: int
    of_jobs: tuple[int, ...]


@dataclass(frozen=True)
class Simulation:
    """A drawn frame: its clocks in each set, and the counts independent of the sets.

    Attributes:
        texels: texels of the uploaded images.
        draws_of_jobs: the draws of each job, in order.
    """

    sets: tuple[Clocks, ...]
    draws: int
    jobs: int
    instructions: int
    texels: int
    draws_of_jobs: tuple[int, ...]


def simulate(path: str | Path, executor: Executor) -> Simulation:
    """Draw a frame of a bundle on the executor, in a separate process, and return its clocks.

    Raises:
        InputError, RunError: as for ``Executor.answer_of``.
    """
    data = executor.answer_of("glsl_infer.tools.videocore.simulation", path)
    sets = tuple(Clocks(**{**clocks, "of_jobs": tuple(clocks["of_jobs"])}) for clocks in data.pop("sets"))
    return Simulation(sets, **{**data, "draws_of_jobs": tuple(data["draws_of_jobs"])})


def draw(bundle: bundles.Bundle, names: Sequence[str] = SETS) -> Simulation:
    """Draw one frame in each set. The calling process must run on the executor.

    Raises:
        InputError: this process does not run on the executor.
    """
    controls = Controls()
    inputs = probe.inputs(bundle.manifest.inputs)
    sets = []
    with Context("surfaceless") as context, Session(bundle, context=context) as session:
        session.run(inputs)  # exclude the compilation and uploads of the first frame
        jobs = jobs_of(session.frame)
        for name in names:
            controls.switch("TIME", name)
            session.upload(inputs)
            context.gl.Finish()
            start = before = controls.counters()
            of_jobs = []
            for calls in jobs:
                for function, arguments in calls:
                    function(*arguments)
                context.gl.Finish()  # the driver submits its pending commands: this job
                after = controls.counters()
                of_jobs.append(after["clocks"] - before["clocks"])
                before = after
            spent = {counter: before[counter] - start[counter] for counter in before}
            summed = {field: spent[field] for field in list(Clocks.__dataclass_fields__)[1:-1]}
            sets.append(Clocks(name=name, of_jobs=tuple(of_jobs), **summed))
        controls.switch("TIME", "off")
    texels = sum(
        math.prod(model_input.shape[:2]) for model_input in bundle.manifest.inputs if model_input.kind == PICTURE
    )
    draws = tuple(sum(function.__name__ == "glDrawArrays" for function, _ in calls) for calls in jobs)
    return Simulation(tuple(sets), spent["draws"], spent["jobs"], spent["fragment_instructions"], texels, draws)


def jobs_of(frame: Sequence[Call]) -> list[list[Call]]:
    """Return the calls of a frame by jobs; a job begins when another target is bound."""
    jobs: list[list[Call]] = []
    for call in frame:
        if call[0].__name__ == "glBindFramebuffer" or not jobs:
            jobs.append([])
        jobs[-1].append(call)
    return jobs


def main() -> int:
    """Simulate the bundle named by the argument; print JSON; return the exit code."""
    return exit_code_of(_simulate)


def _simulate() -> None:
    bundle = bundles.read(sys.argv[1])
    enclose()
    print(json.dumps(asdict(draw(bundle))))


if __name__ == "__main__":
    sys.exit(main())
