"""Measures a bundle: starts ``harness`` in a process that sees the vc4 driver, and reads its transcript."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from glsl_infer import bundle as bundles
from glsl_infer.bundle import Bundle
from glsl_infer.errors import ContextError, InputError, RunError
from glsl_infer.vc4.driver import LIBRARIES_HINT, Driver
from glsl_infer.vc4.transcript import Measured, parse


def measure(path: str | Path, driver: Driver, *, disassembly: bool = False) -> tuple[Bundle, Measured]:
    """Return a bundle and what it makes the driver do. A layer that fails is no error here: see ``Measured.failures``.

    Args:
        path: a ``.glslnn`` file.
        driver: see ``driver.find``.
        disassembly: with the listing of every fragment shader.

    Raises:
        BundleError: the file is none.
        ContextError: the driver does not work on this machine.
        RunError: the driver refuses a shader, or breaks down.
    """
    made = bundles.read(path)
    command = [sys.executable, "-m", "glsl_infer.vc4.harness", str(path)]
    done = subprocess.run(
        command,
        env=driver.environment(disassembly=disassembly),
        capture_output=True,
        text=True,
        errors="backslashreplace",
        check=False,
    )
    if done.returncode < 0:
        raise RunError(f"{path}: the vc4 driver in {driver.prefix} broke down (signal {-done.returncode})")
    if done.returncode:
        raise _failure(path, driver, done)
    return made, parse(done.stdout.splitlines(), made.manifest.passes)


def _failure(path: str | Path, driver: Driver, done: subprocess.CompletedProcess[str]) -> InputError | RunError:
    """Return the error that the process beside this one ended with."""
    before, mark, message = f"\n{done.stderr}".partition("\nerror: ")  # the message may quote the driver's own errors
    if not mark:
        return RunError(f"{path}: the process on the vc4 driver failed:\n{done.stderr.strip()}")
    if "cannot be preloaded" in before:  # the loader says so and goes on with the machine's own driver
        return ContextError(f"the vc4 driver in {driver.prefix} cannot be loaded on this machine", LIBRARIES_HINT)
    kind = InputError if done.returncode == InputError.exit_code else RunError
    return kind(f"{path}: {message.strip()}")
