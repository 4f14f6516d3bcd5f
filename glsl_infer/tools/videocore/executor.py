"""The virtual VideoCore IV: build the library that draws the jobs of Mesa's vc4 driver, and run processes on it.

As a program it runs a command on the executor: ``python -m glsl_infer.tools.videocore.executor COMMAND...``, which is
scripts/vc4/run-on-executor.
"""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from glsl_infer.errors import GlslInferError, InputError, RunError
from glsl_infer.support.child_process import module_command
from glsl_infer.tools.videocore import driver as drivers
from glsl_infer.tools.videocore.driver import Driver

ROUNDINGS = ("hardware", "nearest")
"""Rounding of its floats: toward zero like the hardware, or to the nearest like other drivers."""

COUNTERS = (
    *("jobs", "draws", "tiles_stored", "tiles_loaded", "pixels", "quads", "groups"),
    *("fragment_instructions", "vertex_instructions", "uniform_words", "varyings", "sfu"),
    *("texels", "texture_quads", "tmu_hits", "tmu_misses", "code_bytes", "lost_flags"),
    *("code_hits", "code_misses", "uniform_hits", "uniform_misses", "second_level_hits", "second_level_misses"),
    *("clocks", "clocks_computing", "clocks_moving", "clocks_waiting", "memory_bytes"),
)
"""Counters; scripts/vc4/executor/count.c defines them. Clocks and memory traffic count only while ``TIME`` is set."""

_SOURCES = Path(__file__).resolve().parents[3] / "scripts/vc4/executor"
_QUIET = ("VC4_DEBUG", "VC4_SHIM_VALIDATE", "VC4_SHIM_LOG_SUBMIT")
"""Variables that make driver and shim log."""


@dataclass(frozen=True)
class Executor:
    """The built library, and the driver whose jobs it draws."""

    library: Path
    driver: Driver

    def environment(self, *, rounding: str = "hardware", counts: Path | None = None) -> dict[str, str]:
        """Return the environment of a process whose OpenGL ES is the virtual VideoCore IV.

        Args:
            rounding: one of ``ROUNDINGS``.
            counts: file for the counters as JSON, written when the process ends.

        Raises:
            InputError: another rounding.
        """
        if rounding not in ROUNDINGS:
            raise InputError(f"rounding '{rounding}'; choose one of {', '.join(ROUNDINGS)}")
        variables = {name: value for name, value in self.driver.environment().items() if name not in _QUIET}
        variables["LD_PRELOAD"] = f"{self.library}:{variables['LD_PRELOAD']}"  # before the shim, whose ioctl() it calls
        variables["VC4_EXECUTOR_ROUND"] = rounding
        if counts is not None:
            variables["VC4_EXECUTOR_COUNT"] = str(counts)
        return variables

    def answer_of(self, module: str, path: str | Path, *arguments: object) -> Any:
        """Run a module on the executor, in a separate process; return the JSON that it prints.

        Args:
            module: full name of the module.
            path: the bundle, its first argument.
            arguments: its other arguments.

        Raises:
            InputError: the bundle, or a file of the arguments, cannot be read.
            RunError: the executor does not support the driver's commands, or the driver refuses a shader.
        """
        command = module_command(module, path, *arguments)
        done = subprocess.run(command, env=self.environment(), capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return json.loads(done.stdout)
        message = done.stderr.strip()
        if done.returncode == InputError.exit_code:
            raise InputError(message.rpartition("error: ")[2])
        named = [
            line for line in message.splitlines() if line.startswith("vc4 executor: ") and "flags are used" not in line
        ]
        raise RunError(f"{path}: {named[0] if named else message or f'the executor ended with code {done.returncode}'}")


def find(driver: Driver | None = None) -> Executor:
    """Return the executor; the first call on a machine builds it, which takes seconds.

    Args:
        driver: Mesa's vc4 driver; by default ``driver.find()``.

    Raises:
        InputError: the driver, the sources (a checkout) or a compiler is missing; the message has the remedy.
    """
    driver = drivers.find() if driver is None else driver
    script = _SOURCES / "build"
    if not script.is_file():
        raise InputError(
            "the virtual VideoCore IV is built from a checkout of glsl-infer, and this is an installed copy"
        )
    cache = drivers.cache_folder()
    if cache is None:
        raise InputError("no home folder to build the virtual VideoCore IV in: set HOME or XDG_CACHE_HOME")
    folder = cache / "executor"
    done = subprocess.run([script, folder], capture_output=True, text=True, check=False)
    if done.returncode:
        raise InputError(f"the virtual VideoCore IV cannot be built: {done.stderr.strip().removeprefix('error: ')}")
    return Executor(Path(done.stdout.strip()), driver)


class Controls:
    """Access to the executor from a process that runs on it: switches to set and counters to read between frames.

    Raises:
        InputError: this process does not run on the executor.
    """

    def __init__(self) -> None:
        self._library = ctypes.CDLL(None)
        if not hasattr(self._library, "vc4_executor_switch"):
            raise InputError(
                "this process does not run on the virtual VideoCore IV: scripts/vc4/run-on-executor COMMAND"
            )
        self._library.vc4_executor_switch.restype = ctypes.c_bool
        self._library.vc4_executor_counter.restype = ctypes.c_uint64

    def switch(self, name: str, word: str) -> None:
        """Set a switch, such as ``ROUND`` to ``nearest``; scripts/vc4/executor/preload.c has a list.

        Raises:
            InputError: the switch does not exist, or does not accept the word.
        """
        if not self._library.vc4_executor_switch(name.encode(), word.encode()):
            raise InputError(f"the virtual VideoCore IV has no switch {name} that takes '{word}'")

    def counters(self) -> dict[str, int]:
        """Return the counts since the process began, by the names in ``COUNTERS``."""
        return {name: int(self._library.vc4_executor_counter(name.encode())) for name in COUNTERS}


def main() -> int:
    """Replace this process by a command on the executor; return an exit code only if it fails."""
    command = sys.argv[1:]
    if not command:
        print("usage: scripts/vc4/run-on-executor COMMAND...", file=sys.stderr)
        return 2
    try:
        rounding = os.environ.get("VC4_EXECUTOR_ROUND") or ROUNDINGS[0]
        os.execvpe(command[0], command, find().environment(rounding=rounding))
    except GlslInferError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    except OSError as error:
        print(f"error: {command[0]}: {error.strerror}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
