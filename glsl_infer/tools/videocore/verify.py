"""Verification that a bundle's programs compile for VideoCore IV, with its driver if it is installed.

Each program is compiled and linked once, in up to as many processes as there are processors. Nothing is drawn. Programs
of earlier exports are not compiled again (``known_programs``). Time is limited, so the longest program of each layer is
compiled first: the remaining programs are similar. Without the driver, the predictions of the plan remain.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import tempfile
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from glsl_infer.bundle import Bundle
from glsl_infer.errors import InputError
from glsl_infer.program import PRELUDE
from glsl_infer.support.child_process import last_line, module_command
from glsl_infer.tools.videocore import driver as drivers
from glsl_infer.tools.videocore.driver import Driver
from glsl_infer.tools.videocore.known_programs import KnownPrograms, key_of
from glsl_infer.tools.videocore.report import SMALL_SHARE
from glsl_infer.tools.videocore.transcript import Loops, Measured, loops_of, parse_compiled

ONE_THREAD = "one thread is left of two, so that nothing is computed while a texel is on its way"

PROGRAMS_PER_PROCESS = 8
"""Programs for each process: compiling them takes about as long as its start."""


@dataclass(frozen=True)
class LayerCheck:
    """Result of VideoCore IV's compiler for a layer.

    Attributes:
        layer: its name.
        programs: number of programs the layer draws with.
        compiled: number of programs passed to the driver. If all were, the layer is verified, else predicted.
        threads: fewest threads of the compiled programs; None before any is compiled.
        registers: largest number of values alive at once; a thread has 32 registers for them, a single thread 64.
        instructions: largest number of instructions.
        failure: reason why one of them fails or is slow; empty without a known problem.
    """

    layer: str
    programs: int
    compiled: int
    threads: int | None = None
    registers: int | None = None
    instructions: int | None = None
    failure: str = ""

    @property
    def verified(self) -> bool:
        """True if all of its programs were passed to the driver."""
        return self.compiled == self.programs


@dataclass(frozen=True)
class Verification:
    """Verification results of a bundle on VideoCore IV.

    Attributes:
        driver: the driver's own name; empty if it is missing or did not work.
        note: reason for programs that were not compiled; empty if all were.
        layers: results in the order of execution.
    """

    driver: str
    note: str
    layers: tuple[LayerCheck, ...]

    @property
    def warnings(self) -> tuple[str, ...]:
        """A sentence for each failure, with the names of its layers."""
        reasons: dict[str, list[str]] = defaultdict(list)
        for check in self.layers:
            if check.failure:
                reasons[check.failure].append(f"'{check.layer}'")
        return tuple(
            f"VideoCore IV (Raspberry Pi Zero to 3): layer{'s' * (len(layers) > 1)} {', '.join(layers)}: {reason}"
            for reason, layers in reasons.items()
        )


def verify(bundle: Bundle, seconds: float, *, prefix: Path | None = None) -> Verification:
    """Compile a bundle's programs with VideoCore IV's driver, if it is installed; see ``measured``."""
    return measured(bundle, seconds, prefix=prefix)[0]


def measured(bundle: Bundle, seconds: float, *, prefix: Path | None = None) -> tuple[Verification, Measured]:
    """Compile a bundle's programs with VideoCore IV's driver, if it is installed; return the results and statistics.

    Args:
        bundle: the bundle.
        seconds: time limit; programs not compiled by then stay predicted.
        prefix: the driver's folder, see ``driver.find``.
    """
    users: dict[str, list[str]] = defaultdict(list)
    for layer, program in dict.fromkeys((draw.layer, draw.program) for draw in bundle.manifest.passes):
        users[layer].append(program)
    try:
        driver = drivers.find(prefix)
    except InputError as error:
        return Verification("", str(error), _checks(bundle, users, Measured())), Measured()
    compiled, note = _compiled(bundle, _ordered(bundle, users), driver, seconds)
    checks = _checks(bundle, users, compiled)
    if not note and not all(check.verified for check in checks):
        note = f"{seconds:g} seconds were over"
    return Verification(compiled.driver, note, checks), compiled


def _ordered(bundle: Bundle, users: Mapping[str, Sequence[str]]) -> list[str]:
    """Return all programs: first the longest of each layer, then the second of each, and so on."""
    lengths = {program.name: len(bundle.members[program.fragment]) for program in bundle.manifest.programs}
    ranks: dict[str, tuple[int, int]] = {}
    for programs in users.values():
        for rank, name in enumerate(sorted(programs, key=lambda name: -lengths[name])):
            ranks[name] = min(ranks.get(name, (rank, 0)), (rank, -lengths[name]))
    return sorted(ranks, key=lambda name: ranks[name])


def _compiled(bundle: Bundle, names: Sequence[str], driver: Driver, seconds: float) -> tuple[Measured, str]:
    """Return the driver's statistics of programs compiled in this order, and the reason if it failed to run."""
    described = {program.name: program for program in bundle.manifest.programs}
    text = {name: data.decode("ascii") for name, data in bundle.members.items() if name.startswith("shaders/")}
    varyings = max((program.varyings for program in described.values()), default=0)
    common = {
        "prelude": bundle.members[PRELUDE].decode("ascii"),
        "attributes": ["position", *(f"corner{index}" for index in range(varyings))],
    }
    sources = {name: (text[described[name].vertex], text[described[name].fragment]) for name in names}
    cache = KnownPrograms(driver)
    keys = {name: key_of(common, *sources[name]) for name in names}
    shaders = {name: shader for name in names if (shader := cache.get(keys[name])) is not None}
    programs = [
        {"name": name, "vertex": sources[name][0], "fragment": sources[name][1]}
        for name in names
        if name not in shaders
    ]
    results, note = _compiled_in_processes(programs, common, driver, loops_of(bundle), seconds)
    failures: dict[str, str] = {}
    for result in results:
        shaders.update(result.programs)
        failures.update(result.failures)
    driver_name = max((result.driver for result in results), default=cache.name)
    cache.keep(driver_name, {keys[name]: shader for name, shader in shaders.items() if name not in failures})
    return Measured(driver_name, shaders, failures), note


def _compiled_in_processes(
    programs: Sequence[Mapping[str, str]], common: Mapping[str, Any], driver: Driver, loops: Loops, seconds: float
) -> tuple[list[Measured], str]:
    """Return the driver's statistics of each process, and the reason if one failed to run.

    Args:
        programs: name, vertex shader and fragment shader of each program.
        common: prelude and attributes of all programs.
        driver: compiles the programs.
        loops: as for ``parse_compiled``.
        seconds: time limit; a process that exceeds it is killed, and its statistics so far are returned.
    """
    workers = min(os.cpu_count() or 1, math.ceil(len(programs) / PROGRAMS_PER_PROCESS))
    until = time.monotonic() + seconds
    results, note = [], ""
    with tempfile.TemporaryDirectory() as folder:
        processes = []
        for worker in range(workers):
            job = Path(folder) / f"{worker}.json"
            job.write_text(json.dumps({**common, "programs": programs[worker::workers]}), "utf-8")
            processes.append(_started(job, driver, disassembly=bool(loops)))
        for process in processes:
            try:
                output, messages = process.communicate(timeout=max(0.0, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                output, messages = process.communicate()
            else:
                if process.returncode:
                    note = f"the driver in {driver.prefix} does not work here ({last_line(messages)})"
            results.append(parse_compiled(output.splitlines(), loops))
    return results, note


def _started(job: Path, driver: Driver, *, disassembly: bool) -> subprocess.Popen[str]:
    return subprocess.Popen(
        module_command("glsl_infer.tools.videocore.compile_only", job),
        env=driver.environment(disassembly=disassembly),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="backslashreplace",
    )


def _checks(bundle: Bundle, users: Mapping[str, Sequence[str]], measured: Measured) -> tuple[LayerCheck, ...]:
    checks = []
    work: dict[str, int] = defaultdict(int)
    for draw in bundle.manifest.passes:
        if draw.program in measured.programs:
            work[draw.layer] += measured.programs[draw.program].executed * draw.pixels
    frame = sum(work.values())
    for layer, programs in users.items():
        shaders = [measured.programs[name] for name in programs if name in measured.programs]
        failed = [measured.failures[name] for name in programs if name in measured.failures]
        fetching = [shader.threads for shader in shaders if shader.fetches]
        if 1 in fetching and work[layer] > SMALL_SHARE * frame:
            failed.append(ONE_THREAD)
        checks.append(
            LayerCheck(
                layer,
                len(programs),
                sum(name in measured.programs or name in measured.failures for name in programs),
                min(fetching or [shader.threads for shader in shaders], default=None),
                max((shader.temporaries for shader in shaders), default=None),
                max((shader.instructions for shader in shaders), default=None),
                failed[0] if failed else "",
            )
        )
    return tuple(checks)
