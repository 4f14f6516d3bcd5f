"""Files that say that something has passed a check, so that later starts need not repeat it.

They are next to the compiled programs (``program_cache``). A hash of all that the verdict depends on is the file's name
and in the file. A verdict counts only if the file and its folder belong to this user, and others cannot write them.
"""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path

from glsl_infer.errors import InputError
from glsl_infer.support.files import is_own, is_own_folder, reading, writing

MAX_FILES = 256
"""Most files of a kind in a folder: the oldest go."""


class Verdict:
    """The verdict that a file stands for.

    Args:
        folder: where it lies; it is made when the verdict is kept.
        key: a hash of what the verdict depends on.
        suffix: of the file's name, by the kind of verdict.
        format: what the file says; other files are not believed.
    """

    def __init__(self, folder: Path, key: str, suffix: str, format: str) -> None:
        self._path, self._suffix = folder / f"{key}{suffix}", suffix
        self._text = json.dumps({"format": format, "key": key, "passed": True}).encode("ascii")

    def passed(self) -> bool:
        """Return whether the file is there, and says so."""
        try:
            if not is_own_folder(self._path.parent):
                return False
            with reading(self._path) as file:
                return is_own(os.fstat(file.fileno())) and file.read(len(self._text) + 1) == self._text
        except (OSError, InputError):
            return False

    def keep(self) -> None:
        """Write the file; where that fails, the next start checks again."""
        with contextlib.suppress(OSError, ValueError, InputError):
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with writing(self._path, private=True) as file:
                file.write(self._text)
            files = sorted(self._path.parent.glob(f"*{self._suffix}"), key=lambda file: file.stat().st_mtime)
            for old in files[: max(0, len(files) - MAX_FILES)]:
                old.unlink()
