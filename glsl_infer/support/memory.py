"""Free memory of this process, and settings of glibc's allocator."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import re
from collections.abc import Iterator
from pathlib import Path

_MEMINFO = Path("/proc/meminfo")
_GROUP = Path("/sys/fs/cgroup")

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
"""glibc's M_TRIM_THRESHOLD, M_MMAP_THRESHOLD and M_ARENA_MAX (malloc.h)."""

_NEVER = 1 << 30

_OBJECTS = 10_000
"""New objects after which garbage is collected during an export. Python's default is 700 to 2,000.

An export creates millions, of which few are garbage.
"""


def available() -> int | None:
    """Return how many bytes this process can still allocate without swapping; None if the system does not report it.

    Callers refuse input that would get the process killed.
    """
    limits = [limit for limit in (_of_machine(), _of_group()) if limit is not None]
    return min(limits, default=None)


def meminfo(path: Path = _MEMINFO) -> dict[str, int]:
    """Return the fields of /proc/meminfo in bytes, or an empty dict if it cannot be read."""
    try:
        lines = re.findall(r"^(\S+): *([0-9]+) kB$", path.read_text("ascii"), re.MULTILINE)
    except (OSError, ValueError):
        return {}
    return {name: int(kilobytes) << 10 for name, kilobytes in lines}


def _of_machine() -> int | None:
    return meminfo(_MEMINFO).get("MemAvailable")


def _of_group() -> int | None:
    """Return the bytes left of the memory limit of a container or systemd service; None without a limit."""
    try:
        limit, used = (int((_GROUP / f"memory.{name}").read_text("ascii")) for name in ("max", "current"))
    except (OSError, ValueError):  # no limit ("max"), or no such group
        return None
    return max(0, limit - used)


def trim_heap() -> None:
    """Return freed memory to the system, for the textures of a GPU driver; no effect without glibc."""
    with contextlib.suppress(OSError, TypeError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def keep_freed_memory() -> None:
    """Keep freed memory in this process, for commands with thousands of large arrays; no effect without glibc.

    By default glibc maps each large array anew, and the kernel fills it with zeros: 16 % of the time of an export of
    SRGAN. With a single heap for all threads, a new array can reuse the memory of an old one.
    """
    with contextlib.suppress(OSError, TypeError, AttributeError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_ARENA_MAX, 1)
        mallopt(_MMAP_THRESHOLD, _NEVER)
        mallopt(_TRIM_THRESHOLD, _NEVER)


@contextlib.contextmanager
def no_collection() -> Iterator[None]:
    """Create the objects inside the context without garbage collection, for imports and for reading a model."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@contextlib.contextmanager
def permanent_objects() -> Iterator[None]:
    """Exclude the objects that exist from garbage collection inside the context, and collect others less often.

    The modules of Keras and TensorFlow are 600,000 objects, which each full collection would visit: with
    ``no_collection``, an export of MobileNet takes a fifth less CPU time. Objects that a caller froze stay frozen.
    """
    thresholds, frozen = gc.get_threshold(), gc.get_freeze_count() > 0
    if thresholds[0]:  # 0 if the caller has turned collections off
        gc.set_threshold(max(thresholds[0], _OBJECTS), *thresholds[1:])
    if not frozen:
        gc.freeze()
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
        if not frozen:
            gc.unfreeze()
