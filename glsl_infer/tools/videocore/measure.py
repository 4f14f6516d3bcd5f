"""Measurement of a bundle: start ``harness`` in a process on the vc4 driver, and parse its transcript."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from glsl_infer import bundle as bundles
from glsl_infer.bundle import Bundle
from glsl_infer.errors import ContextError, InputError, RunError
from glsl_infer.support.child_process import module_command
from glsl_infer.tools.videocore.driver import LIBRARIES_HINT, Driver
from glsl_infer.tools.videocore.transcript import FRAGMENT_COMPILED, Measured, loops_of, parse

Watch = Callable[[Sequence[int], str], Iterable[int]]
"""Progress of shaders: returns the items unchanged and shows the number consumed; the text is the label."""


def unwatched(items: Sequence[int], _: str) -> Iterable[int]:
    """Return the items without showing progress."""
    return items


def measure(
    path: str | Path, driver: Driver, *, disassembly: bool = False, watch: Watch = unwatched
) -> tuple[Bundle, Measured]:
    """Return a bundle and the driver's statistics. Layers that fail are in ``Measured.failures``, not raised.

    Args:
        path: a ``.glslnn`` file.
        driver: see ``driver.find``.
        disassembly: whether to include the listing of every fragment shader.
        watch: progress of compiled shaders; each is compiled twice, when linked and when first drawn with.

    Raises:
        BundleError: the file is not a bundle.
        ContextError: the driver does not work on this machine.
        RunError: the driver refuses a shader, or crashes.
    """
    bundle = bundles.read(path)
    shaders = range(2 * len({draw.program for draw in bundle.manifest.passes}))
    loops = loops_of(bundle)
    command = module_command("glsl_infer.tools.videocore.harness", path)
    with tempfile.TemporaryFile() as messages:
        with subprocess.Popen(
            command,
            env=driver.environment(disassembly=disassembly or bool(loops)),
            stdout=subprocess.PIPE,
            stderr=messages,
            text=True,
            errors="backslashreplace",
        ) as process:
            assert process.stdout is not None
            lines = list(_counted(process.stdout, watch(shaders, f"shaders of {Path(path).name}")))
        messages.seek(0)
        output = messages.read().decode("utf-8", "backslashreplace")
    if process.returncode < 0:
        raise RunError(f"{path}: the vc4 driver in {driver.prefix} broke down (signal {-process.returncode})")
    if process.returncode:
        raise _failure(path, driver, process.returncode, output)
    measured = parse(lines, bundle.manifest.passes, loops)
    return bundle, measured if disassembly else replace(measured, listings={})


def _counted(lines: Iterable[str], steps: Iterable[int]) -> Iterator[str]:
    """Yield the lines, consuming a step for each compiled fragment shader, and the remaining steps at the end."""
    remaining = iter(steps)
    for line in lines:
        if line.startswith(FRAGMENT_COMPILED):
            next(remaining, None)
        yield line
    for _ in remaining:
        pass


def _failure(path: str | Path, driver: Driver, code: int, output: str) -> InputError | RunError:
    """Return the error for a failed harness process."""
    before, mark, message = f"\n{output}".partition("\nerror: ")  # the message can quote the driver's own errors
    if not mark:
        return RunError(f"{path}: the process on the vc4 driver failed:\n{output.strip()}")
    if "cannot be preloaded" in before:  # the loader reports it and continues with the machine's own driver
        return ContextError(f"the vc4 driver in {driver.prefix} cannot be loaded on this machine", LIBRARIES_HINT)
    return (InputError if code == InputError.exit_code else RunError)(f"{path}: {message.strip()}")
