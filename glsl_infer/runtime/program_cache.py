"""Compiled programs of earlier starts, in files: a driver need not compile again what it has compiled before.

A file holds the programs of one bundle on one driver. Its name is the key: a hash of the driver's names and of every
byte that its compiler was given. What is read is believed only if it is the user's own file, is complete (a hash of
the whole) and was made for this very key; the driver then may still refuse it. Everything else is as if there were
no file, and it is written anew.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from glsl_infer.errors import InputError
from glsl_infer.gl.program_binaries import Binary
from glsl_infer.support.files import is_led_elsewhere, is_own, reading, user_caches, writing

FORMAT = "glsl-infer programs 1"
SUFFIX = ".programs"
VARIABLE = "GLSL_INFER_CACHE"
"""The environment variable that names another folder, or with ``off`` none at all."""

MAX_BYTES = 256 << 20
"""Most bytes of a file that is read or written."""

MAX_FILES = 32
"""Most files in the folder: those that were not used for longest go."""

_DIGEST = hashlib.sha256().digest_size


def default_folder() -> Path | None:
    """Return where compiled programs are kept, as environment variables say: ``~/.cache/glsl-infer/programs``.

    There is none where a symbolic link is in its place: nobody's files are written where somebody else points to.
    """
    given = os.environ.get(VARIABLE, "")
    if given == "off":
        return None
    try:
        folder = Path(given) if given else user_caches() / "glsl-infer/programs"
    except RuntimeError:  # a user without a home
        return None
    return None if is_led_elsewhere(folder) else folder


def key_of(driver: Sequence[str], attributes: Sequence[str], sources: Mapping[str, tuple[bytes, bytes]]) -> str:
    """Return the key of some programs: hexadecimal, 64 digits.

    Args:
        driver: everything that the driver says of itself.
        attributes: the vertex attributes, by location.
        sources: the vertex and fragment shader of each program, by its name.
    """
    hashed = {name: [hashlib.sha256(text).hexdigest() for text in pair] for name, pair in sources.items()}
    text = json.dumps([FORMAT, list(driver), list(attributes), sorted(hashed.items())])
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


class ProgramCache:
    """The file of one key in a folder, which is made when something is written.

    Attributes:
        path: the file.
    """

    def __init__(self, folder: Path, key: str) -> None:
        self.path = folder / f"{key}{SUFFIX}"
        self._key = key

    def read(self) -> dict[str, Binary]:
        """Return the programs by name; none where the file is missing, damaged, stale or another user's."""
        try:
            with reading(self.path) as file:
                if not is_own(os.fstat(file.fileno())):
                    return {}
                data = file.read(MAX_BYTES + 1)
            if len(data) > MAX_BYTES or hashlib.sha256(data[_DIGEST:]).digest() != data[:_DIGEST]:
                return {}
            head, _, blobs = data[_DIGEST:].partition(b"\n")
            programs = self._unpack(json.loads(head.decode("utf-8")), blobs)
        except (OSError, InputError, ValueError, TypeError, LookupError, RecursionError):
            return {}
        with contextlib.suppress(OSError):
            os.utime(self.path)  # it was used now
        return programs

    def _unpack(self, head: Any, blobs: bytes) -> dict[str, Binary]:
        if head["format"] != FORMAT or head["key"] != self._key:
            return {}
        programs, place = {}, 0
        for name, format_, length in head["programs"]:
            programs[str(name)] = Binary(int(format_), blobs[place : place + length])
            place += length
        return programs if place == len(blobs) else {}

    def write(self, programs: Mapping[str, Binary]) -> bool:
        """Replace the file; return whether that worked. A full disk or a folder without rights costs only time."""
        head = {
            "format": FORMAT,
            "key": self._key,
            "programs": [[name, program.format, len(program.data)] for name, program in programs.items()],
        }
        body = json.dumps(head).encode("utf-8") + b"\n" + b"".join(program.data for program in programs.values())
        if len(body) + _DIGEST > MAX_BYTES:
            return False
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with writing(self.path, private=True) as file:
                file.write(hashlib.sha256(body).digest() + body)
            self._prune()
        except (OSError, ValueError, InputError):
            return False
        return True

    def _prune(self) -> None:
        """Delete the files that were not used for longest, where there are more than ``MAX_FILES``."""
        files = []
        for path in self.path.parent.glob(f"*{SUFFIX}"):
            with contextlib.suppress(OSError):  # another process may delete it meanwhile
                files.append((path.stat().st_mtime, path))
        for _, path in sorted(files)[: max(0, len(files) - MAX_FILES)]:
            if path != self.path:
                with contextlib.suppress(OSError):
                    path.unlink()
