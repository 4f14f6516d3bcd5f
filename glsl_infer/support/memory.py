"""Free memory, to refuse input that would get the process killed."""

from __future__ import annotations

import re
from pathlib import Path

_MEMINFO = Path("/proc/meminfo")
_GROUP = Path("/sys/fs/cgroup")


def available() -> int | None:
    """Return how many bytes this process can still allocate without swapping; None if the system does not report it."""
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
