"""Records of passed checks in files, so that later starts need not repeat them.

They are next to the compiled programs (``program_cache``). The file's name and its text have a hash of everything the
verdict depends on. A verdict counts only if the file and its folder belong to this user and others cannot write them.
"""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path

from glsl_infer.errors import InputError
from glsl_infer.support.files import is_own, is_own_folder, reading, writing

MAX_FILES = 256
"""Maximum number of files with one suffix in a folder; the oldest are deleted."""


class Verdict:
    """A verdict recorded in a file.

    Args:
        folder: the folder of the file; created when the verdict is kept.
        key: a hash of everything the verdict depends on.
        suffix: of the file's name, by the kind of verdict.
        format: written into the file. A file with another format does not count.
    """

    def __init__(self, folder: Path, key: str, suffix: str, format: str) -> None:
        self._path, self._suffix = folder / f"{key}{suffix}", suffix
        self._text = json.dumps({"format": format, "key": key, "passed": True}).encode("ascii")

    def passed(self) -> bool:
        """Return whether the file exists, is trustworthy, and records a pass."""
        try:
            if not is_own_folder(self._path.parent):
                return False
            with reading(self._path) as file:
                return is_own(os.fstat(file.fileno())) and file.read(len(self._text) + 1) == self._text
        except (OSError, InputError):
            return False

    def keep(self) -> None:
        """Write the file. If that fails, the next start checks again."""
        with contextlib.suppress(OSError, ValueError, InputError):
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with writing(self._path, private=True) as file:
                file.write(self._text)
            files = sorted(self._path.parent.glob(f"*{self._suffix}"), key=lambda file: file.stat().st_mtime)
            for old in files[: max(0, len(files) - MAX_FILES)]:
                old.unlink()
