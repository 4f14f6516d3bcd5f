"""Cache of compiled programs from earlier starts, in files, so that a driver does not compile them again.

A file holds the programs of one bundle on one driver. Its name is the key: a hash of the driver's strings and of every
byte passed to the compiler. A file is used only if it belongs to the user, is complete (a hash of all bytes) and was
written for this key; even then the driver can refuse it. Any other file is ignored and written again.
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
"""Environment variable with the path of another folder, or ``off`` to disable the cache."""

MAX_BYTES = 256 << 20
"""Maximum size in bytes of a file that is read or written."""

MAX_FILES = 32
"""Maximum number of files in the folder; the least recently used are deleted."""

_DIGEST = hashlib.sha256().digest_size


def default_folder() -> Path | None:
    """Return the folder of compiled programs: from environment variables, or ``~/.cache/glsl-infer/programs``.

    Returns None with ``GLSL_INFER_CACHE=off``, and for a symbolic link: another user could choose its target.
    """
    setting = os.environ.get(VARIABLE, "")
    if setting == "off":
        return None
    try:
        folder = Path(setting) if setting else user_caches() / "glsl-infer/programs"
    except RuntimeError:  # the user does not have a home
        return None
    return None if is_led_elsewhere(folder) else folder


def key_of(driver: Sequence[str], attributes: Sequence[str], sources: Mapping[str, tuple[bytes, bytes]]) -> str:
    """Return the key of a set of programs: 64 hexadecimal digits.

    Args:
        driver: all GL strings of the driver.
        attributes: the vertex attributes, by location.
        sources: the vertex and fragment shader of each program, by its name.
    """
    hashed = {name: [hashlib.sha256(text).hexdigest() for text in pair] for name, pair in sources.items()}
    text = json.dumps([FORMAT, list(driver), list(attributes), sorted(hashed.items())])
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


class ProgramCache:
    """The file of one key in a folder. The folder is created at the first write.

    Attributes:
        path: the file.
    """

    def __init__(self, folder: Path, key: str) -> None:
        self.path = folder / f"{key}{SUFFIX}"
        self._key = key

    def read(self) -> dict[str, Binary]:
        """Return the programs by name; empty if the file is missing, damaged, stale or another user's."""
        try:
            head, _, blobs = read_own(self.path).partition(b"\n")
            programs = self._unpack(json.loads(head.decode("utf-8")), blobs)
        except (ValueError, TypeError, LookupError, RecursionError):
            return {}
        with contextlib.suppress(OSError):
            os.utime(self.path)  # the time of last use, for deletion
        return programs

    def _unpack(self, head: Any, blobs: bytes) -> dict[str, Binary]:
        if head["format"] != FORMAT or head["key"] != self._key:
            return {}
        programs, offset = {}, 0
        for name, format_, length in head["programs"]:
            programs[str(name)] = Binary(int(format_), blobs[offset : offset + length])
            offset += length
        return programs if offset == len(blobs) else {}

    def write(self, programs: Mapping[str, Binary]) -> bool:
        """Replace the file; return whether that succeeded. A full disk or missing rights cost only time."""
        head = {
            "format": FORMAT,
            "key": self._key,
            "programs": [[name, program.format, len(program.data)] for name, program in programs.items()],
        }
        body = json.dumps(head).encode("utf-8") + b"\n" + b"".join(program.data for program in programs.values())
        return replace_own(self.path, body)


def read_own(path: Path) -> bytes:
    """Return the content of a file of ``replace_own``; empty if it is missing, damaged, too large or another user's."""
    try:
        with reading(path) as file:
            data = file.read(MAX_BYTES + 1) if is_own(os.fstat(file.fileno())) else b""
    except (OSError, InputError, ValueError):
        return b""
    is_complete = len(data) <= MAX_BYTES and hashlib.sha256(data[_DIGEST:]).digest() == data[:_DIGEST]
    return data[_DIGEST:] if is_complete else b""


def replace_own(path: Path, content: bytes) -> bool:
    """Replace a file and return whether that succeeded; delete the least recently used files beyond ``MAX_FILES``."""
    if len(content) + _DIGEST > MAX_BYTES:
        return False
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with writing(path, private=True) as file:
            file.write(hashlib.sha256(content).digest() + content)
        _prune(path)
    except (OSError, ValueError, InputError):
        return False
    return True


def _prune(new: Path) -> None:
    """Delete the least recently used files with the suffixes of a new file if there are more than ``MAX_FILES``."""
    files = []
    for path in new.parent.glob(f"*{''.join(new.suffixes)}"):
        with contextlib.suppress(OSError):  # another process can delete it meanwhile
            files.append((path.stat().st_mtime, path))
    for _, path in sorted(files)[: max(0, len(files) - MAX_FILES)]:
        if path != new:
            with contextlib.suppress(OSError):
                path.unlink()
