"""What a path leads to: only regular files are opened, since reading a pipe or a terminal may wait for ever."""

from __future__ import annotations

import stat
from pathlib import Path

_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}


def not_a_file(path: str | Path) -> str | None:
    """Return what ``path`` is instead of a regular file ('a folder', 'a pipe' ...), or None where it is one.

    Raises:
        OSError, ValueError: nothing is there, or it may not be looked at.
    """
    return _KINDS.get(stat.S_IFMT(Path(path).stat().st_mode))
