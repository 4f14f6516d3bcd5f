"""Reading and writing files with care.

Only regular files are opened: reading a pipe or a terminal may wait for ever. What is written appears under its name
when it is complete.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
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


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a path beside ``path`` to write to, which takes its name in the end; after an error nothing has changed.

    It has the suffix of ``path``, for writers that choose the format by it.
    """
    temporary = path.parent / f".tmp-{os.getpid()}-{path.name}"
    try:
        yield temporary
        temporary.replace(path)
    finally:
        with contextlib.suppress(OSError, ValueError):
            temporary.unlink()


def is_own(status: os.stat_result) -> bool:
    """Return whether a file is a regular one that only this user can have written."""
    if not stat.S_ISREG(status.st_mode):
        return False
    if not hasattr(os, "geteuid"):  # Windows, where other users' rights are not in the mode
        return True
    return status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
