"""Child process of ``isolation``: compiles and draws a bundle, and prints ``finished`` if it finishes.

It prints ``passed`` instead if the self-check has passed. The parent records the pass, because the child writes no file
for later starts. An error that the engine raises on purpose counts as finished: the parent will raise it as well.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import resource
import signal
import sys
from pathlib import Path
from typing import Any

from glsl_infer.bundle import probe, read
from glsl_infer.errors import GlslInferError, InputError
from glsl_infer.gl import CHOICES
from glsl_infer.gl import constants as GL
from glsl_infer.gl.context import Context
from glsl_infer.gl.limits import is_software
from glsl_infer.runtime import sandbox, selfcheck
from glsl_infer.runtime.isolation import LAYER, MOST_SECONDS
from glsl_infer.runtime.session import Session

FILE_BYTES = 512 << 20
"""Limit of a file's bytes."""
FILES = 256
"""Limit of open files."""
_PR_SET_PDEATHSIG, _PR_SET_NO_NEW_PRIVS = 1, 38  # options of prctl


def enclose(seconds: float = MOST_SECONDS) -> None:
    """Drop the rights that drawing an untrusted bundle does not need; ``seconds`` as for ``limit``."""
    limit(seconds)
    sandbox.restrict()


def limit(seconds: float) -> None:
    """Drop unneeded rights and resources.

    The process ends with its parent on Linux, or after ``seconds`` + 60 seconds of CPU time.
    """
    _set(resource.RLIMIT_CORE, 0)
    _set(resource.RLIMIT_FSIZE, FILE_BYTES)
    _set(resource.RLIMIT_NOFILE, FILES)
    _set(resource.RLIMIT_CPU, int(seconds) + 60)
    if sys.platform == "linux":
        libc = ctypes.CDLL(None)
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)


def _set(limited: int, value: int) -> None:
    """Set the limit of a resource, a constant of ``resource``, if the system allows it."""
    with contextlib.suppress(ValueError, OSError):
        _, hard = resource.getrlimit(limited)
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(limited, (value, value))


def _report_progress() -> None:
    """Report another drawn layer."""
    print(LAYER, end="", flush=True)


def _limit_memory(context: Context, memory: int) -> None:
    """Limit the address space for a driver that computes on the CPU. Other drivers also map device memory."""
    if is_software(context.gl.text(GL.GL_RENDERER)):
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[0])
        _set(resource.RLIMIT_AS, pages * resource.getpagesize() + 2 * memory)


def work(job: dict[str, Any]) -> str:
    """Compile and draw the bundle of a job; return ``finished``, ``passed``, or "" if the file has changed.

    Args:
        job: ``path``; ``digest`` of its manifest, or None; ``context``, the parent's kind of context; ``memory`` in
            bytes; ``seconds`` of CPU time allowed in total.
    """
    limit(job["seconds"])
    bundle = read(job["path"])
    if job["digest"] not in (None, bundle.digest):
        return ""  # the file has changed since the parent read it
    # The description contains the choice, as in "hidden glfw window ...".
    choice = next((name for name in CHOICES if name in job["context"]), "auto")
    if choice != "glfw":  # glfw starts a process that looks for a screen
        sandbox.restrict()
    with Context(choice) as context:
        if choice == "glfw":
            sandbox.restrict()
        with contextlib.suppress(OSError):
            _limit_memory(context, job["memory"])
        custom = dict.fromkeys(bundle.custom_operators, _refuse)
        with Session(bundle, context=context, cache=False, operators=custom) as session:
            passed = selfcheck.check(session, _report_progress).wrong is None
            if bundle.cpu_operators and not custom:  # CPU parts can take hours and fill memory, too
                session.run(probe.inputs(bundle.manifest.inputs))
                _report_progress()
    return "passed" if passed and not bundle.cpu_operators else "finished"


def _refuse(*_: Any, **__: Any) -> Any:
    raise InputError("the sandbox does not run custom operators")


def main() -> int:
    """Run the job in the only argument; return the exit status."""
    try:
        verdict = work(json.loads(sys.argv[1]))
    except GlslInferError as error:
        if isinstance(error.__cause__, MemoryError):  # this process has less memory than its parent
            return 4
        verdict = "finished"
    if not verdict:
        return 3
    print(f"\n{verdict}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
