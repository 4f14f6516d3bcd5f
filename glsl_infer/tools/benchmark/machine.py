"""Description of the machine of a measurement, and its load."""

from __future__ import annotations

import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from glsl_infer.gl import constants as GL
from glsl_infer.gl.context import Context
from glsl_infer.tools.doctor import Machine

BUSY = 0.5
"""Share of the CPU cores used by other processes above which a measurement is unreliable."""


def describe(context: Context) -> dict[str, Any]:
    """Return the machine as plain data: driver, CPU, system, versions."""
    context.make_current()
    gl = context.gl
    return {
        "renderer": gl.text(GL.GL_RENDERER),
        "vendor": gl.text(GL.GL_VENDOR),
        "version": gl.text(GL.GL_VERSION),
        "context": context.how,
        "cpu": Machine().cpu_model(),
        "cores": cores(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "python": platform.python_version(),
        "numpy": _version("numpy"),
        "pyopengl": _version("PyOpenGL"),
    }


def cores() -> int:
    """Return the number of CPU cores available to this process."""
    return len(os.sched_getaffinity(0)) if sys.platform.startswith("linux") else os.cpu_count() or 1


def load() -> float | None:
    """Return the mean number of running or waiting processes in the last minute; None if the system lacks it."""
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None


def peak_rss() -> int | None:
    """Return the peak resident memory of this process in bytes; None if the system lacks it."""
    for line in _text("/proc/self/status").splitlines():
        if line.startswith("VmHWM:"):  # unlike getrusage's value, not inherited from the parent process
            return 1024 * int(line.split()[1])
    try:
        import resource
    except ImportError:  # Windows
        return None
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _text(path: str) -> str:
    try:
        return Path(path).read_text("utf-8", "replace")
    except OSError:
        return ""


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:  # a package of the system without metadata
        return "not known"
