"""Sandboxing: a child process draws a bundle first, in case the driver crashes, hangs or fills the memory.

Compilers of drivers are large C programs that run in the calling process, and a bundle can come from anywhere. The
child compiles and draws the bundle as a self-check does (``isolated_run``). If it succeeds, the same driver will do the
same in this process. A pass is recorded as in ``verdicts``.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from glsl_infer.bundle import SUFFIX, Bundle, write
from glsl_infer.errors import RunError
from glsl_infer.gl import constants as GL
from glsl_infer.gl.context import Context
from glsl_infer.runtime import verdicts
from glsl_infer.runtime.sandbox_mode import SandboxMode
from glsl_infer.support.child_process import module_command, public_environment
from glsl_infer.support.progress import check_display

CHILD = "glsl_infer.runtime.isolated_run"
PASSED = "passed"
"""Last word of a child with a passed self-check."""
LAYER = "layer\n"
"""Output of a child after each layer."""
VARIABLE = "GLSL_INFER_ISOLATION"
"""Environment variable that disables ``first`` with the value ``off``."""

SECONDS = 180.0
"""Limit of a child's CPU time for a layer. It is generous, because other processes can keep the machine busy."""
SECONDS_A_MEGABYTE = 5.0
"""Additional seconds for the first layer per megabyte of shaders, because many drivers compile all shaders first."""
SECONDS_A_PROGRAM = 2.0
"""Additional seconds for all layers together per program."""
OPERATIONS = 1e8
"""Fragment operations per additional second for all layers. softpipe, an interpreter, did 1.5e9 a second (x22-257)."""
MOST_SECONDS = 3600.0
"""Maximum of the time limit for all layers."""
IDLE = 0.05
"""Share of CPU time below which a child is waiting indefinitely."""
MEMORY = 1 << 30
"""Memory limit of a child in bytes, for a bundle without textures and shaders."""
TEXTURES = 8
"""Additional bytes of memory per byte of the bundle's textures."""
SHADERS = 32
"""Additional bytes of memory per byte of the bundle's shaders.

llvmpipe took 115 bytes for each byte of shaders in a network with all weights in the source (SqueezeNet).
"""
MOST_OUTPUT = 1 << 20
"""Limit of a child's output in bytes; it prints a word for each layer."""
_CHECK_INTERVAL = 0.05
"""Seconds between two checks of a child's memory."""


def run_sandboxed(bundle: Bundle, context: Context, mode: SandboxMode) -> None:
    """Let a child compile and draw a bundle before this process does.

    Args:
        bundle: the bundle to draw.
        context: the current context. The child creates one of the same kind.
        mode: the argument ``isolated`` of ``Session``.

    Raises:
        RunError: the child crashed, hung, or took too much memory.
    """
    if mode == "first":
        if os.environ.get(VARIABLE) == "off" or verdicts.has_passed_self_check(context, bundle):
            return
    elif not mode:
        return
    driver = context.gl.text(GL.GL_RENDERER)
    with contextlib.ExitStack() as stack:
        path = bundle.path
        if path is None or bundle.digest is None:
            path = Path(stack.enter_context(tempfile.TemporaryDirectory())) / f"bundle{SUFFIX}"
            write(bundle, path)
        memory_limit = _memory(bundle)
        compile_seconds = SECONDS_A_MEGABYTE * _shader_bytes(bundle) / 1e6
        total_seconds = _seconds_of_all_layers(bundle)
        job = {"path": str(path.absolute()), "digest": bundle.digest, "context": context.how, "memory": memory_limit}
        with check_display.get()(sum(len(part.manifest.layers) for part in bundle.gpu_parts)) as show:
            job_text = json.dumps({**job, "seconds": total_seconds})
            result = _watched(job_text, memory_limit, compile_seconds, total_seconds, show)
    if result == PASSED:
        context.make_current()
        verdicts.keep_self_check(context, bundle)
    elif result:
        name = bundle.path or bundle.manifest.name
        raise RunError(
            f"{name}: the driver '{driver}' {result} when it drew this model in a separate process; "
            "do not use this model here, unless you trust who made it and update the driver "
            f"({VARIABLE}=off draws it without that process)"
        )


def _memory(bundle: Bundle) -> int:
    """Return the memory limit of a bundle's child in bytes, at most 4/5 of the machine's memory."""
    from glsl_infer.bundle.parts import cpu_numbers  # imported here because later starts do not need it

    texture_bytes = sum(
        4 * texture.width * texture.height for part in bundle.gpu_parts for texture in part.manifest.textures
    )
    limit = MEMORY + TEXTURES * texture_bytes + SHADERS * _shader_bytes(bundle) + 4 * cpu_numbers(bundle)
    with contextlib.suppress(ValueError, OSError, AttributeError):
        limit = min(limit, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * 4 // 5)
    return limit


def _seconds_of_all_layers(bundle: Bundle) -> float:
    """Return the time limit in seconds for all layers of a bundle together."""
    from glsl_infer.bundle.shader_check import parse

    seconds = SECONDS + SECONDS_A_MEGABYTE * _shader_bytes(bundle) / 1e6
    seconds += SECONDS * sum(not isinstance(part, Bundle) for part in bundle.parts)
    for part in bundle.gpu_parts:
        manifest = part.manifest
        shaders = {program.name: part.members[program.fragment] for program in manifest.programs}
        costs = {name: parse(name, text.decode("ascii")).executed for name, text in shaders.items()}
        operations = sum(costs[draw.program] * draw.pixels for draw in manifest.passes)
        seconds += SECONDS_A_PROGRAM * len(shaders) + operations / OPERATIONS
    return min(seconds, MOST_SECONDS)


def _shader_bytes(bundle: Bundle) -> int:
    """Return the bytes of all fragment shaders."""
    return sum(len(part.members[program.fragment]) for part in bundle.gpu_parts for program in part.manifest.programs)


def _watched(
    job: str,
    memory_limit: int,
    compile_seconds: float,
    total_seconds: float,
    show: Callable[[int], object] = lambda _: None,
) -> str:
    """Run a child to its end; return a description of its failure, ``PASSED``, or an empty string.

    Args:
        job: the job for the child, JSON.
        memory_limit: in bytes.
        compile_seconds: seconds allowed for the first layer in addition to ``SECONDS``.
        total_seconds: seconds allowed for all layers.
        show: called with the number of layers drawn.
    """
    with subprocess.Popen(
        module_command(CHILD, job),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=_environment(),
        start_new_session=True,  # no access to this terminal, and a process group that can be killed
    ) as child:
        clock = _LayerClock(SECONDS + compile_seconds, total_seconds)
        try:
            while True:
                try:
                    printed, _ = child.communicate(timeout=_CHECK_INTERVAL)
                    break
                except subprocess.TimeoutExpired as running:
                    output = running.output or b""
                    if len(output) > MOST_OUTPUT:
                        return f"printed more than {MOST_OUTPUT >> 20} MiB"
                    excess = clock.update(output.count(LAYER.encode()), _cpu_seconds(child.pid), show)
                    if excess:
                        return excess
                    if _resident(child.pid) > memory_limit:
                        return f"took more than {memory_limit >> 20} MiB of memory"
        finally:
            _end(child)
    if child.returncode < 0:
        return f"crashed (signal {-child.returncode})"
    show(printed.count(LAYER.encode()))
    last_lines = printed.decode("ascii", "replace").split("\n")[-2:]
    if last_lines not in (["finished", ""], [PASSED, ""]):
        return f"failed (exit code {child.returncode})"
    return PASSED if last_lines[0] == PASSED else ""


class _LayerClock:
    """Time that a child takes for its current layer and in total, compared with the limits.

    Args:
        first_seconds: seconds allowed for the first layer; ``SECONDS`` for each of the others.
        total_seconds: seconds allowed for all layers.
    """

    def __init__(self, first_seconds: float, total_seconds: float) -> None:
        self._layer_limit, self._total_limit = first_seconds, total_seconds
        self._layers = 0
        self._start = self._layer_start = time.monotonic()
        self._cpu_before = 0.0  # CPU time of the layers before

    def update(self, layers: int, cpu: float | None, show: Callable[[int], object]) -> str:
        """Return a description of an exceeded limit, else an empty string.

        Args:
            layers: number of layers drawn so far.
            cpu: seconds of CPU time so far; None if unknown.
            show: called with the number of layers if a layer has been drawn since the last update.
        """
        layer_wall = time.monotonic() - self._layer_start
        if layers > self._layers:
            self._layers, self._layer_limit = layers, SECONDS
            show(layers)
            self._layer_start, self._cpu_before = time.monotonic(), cpu or 0.0
        elif _hangs(layer_wall, None if cpu is None else cpu - self._cpu_before, self._layer_limit):
            return f"took more than {self._layer_limit:.0f} s for a layer"
        if _hangs(time.monotonic() - self._start, cpu, self._total_limit):
            return f"took more than {self._total_limit:.0f} s for all layers"
        return ""


def _environment() -> dict[str, str]:
    """Return the environment variables for Python, a display and a driver; the driver's caches on disk are disabled."""
    return {**public_environment(), "MESA_SHADER_CACHE_DISABLE": "true", "__GL_SHADER_DISK_CACHE": "0"}


def _end(child: subprocess.Popen[bytes]) -> None:
    """Kill a child and its own child processes."""
    child.kill()
    with contextlib.suppress(OSError, AttributeError):  # Windows has no process groups
        os.killpg(child.pid, signal.SIGKILL)


def _hangs(wall: float, cpu: float | None, limit: float) -> bool:
    """Return whether a child has exceeded its CPU time, or its wall time while nearly idle.

    Args:
        wall: seconds since the start of a layer.
        cpu: seconds of CPU time since then; None if unknown.
        limit: seconds allowed.
    """
    if cpu is None:
        return wall > limit
    return cpu > limit or (wall > limit and cpu < IDLE * wall)


def _cpu_seconds(pid: int) -> float | None:
    """Return the CPU time of a process in seconds, or None if the system does not provide it."""
    try:
        after_name = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
        return (int(after_name[11]) + int(after_name[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return None


def _resident(pid: int) -> int:
    """Return the resident memory of a process in bytes, or 0 if the system does not provide it."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text("ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0
