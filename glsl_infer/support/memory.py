"""How much memory is free, so that a file that would take more is refused instead of having the process killed."""

from __future__ import annotations

import re
from pathlib import Path

_MEMINFO = Path("/proc/meminfo")
_GROUP = Path("/sys/fs/cgroup")


def available() -> int | None:
    """Return the bytes that this process may still take without swapping; None where the system does not say."""
    found = [number for number in (_of_machine(), _of_group()) if number is not None]
    return min(found, default=None)


def meminfo(path: Path = _MEMINFO) -> dict[str, int]:
    """Return the fields of /proc/meminfo in bytes; none if it cannot be read."""
    try:
        lines = re.findall(r"^(\S+): *([0-9]+) kB$", path.read_text("ascii"), re.MULTILINE)
    except (OSError, ValueError):
        return {}
    return {name: int(kilobytes) << 10 for name, kilobytes in lines}


def _of_machine() -> int | None:
    return meminfo(_MEMINFO).get("MemAvailable")


def _of_group() -> int | None:
    """Return what a container, or a service of systemd, has left of its own limit."""
    try:
        most, taken = (int((_GROUP / f"memory.{name}").read_text("ascii")) for name in ("max", "current"))
    except (OSError, ValueError):  # no limit ("max"), or no such group
        return None
    return max(0, most - taken)
