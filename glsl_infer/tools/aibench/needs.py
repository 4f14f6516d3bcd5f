"""What a bundle takes at least, by arithmetic: so that a small board is not driven into the out-of-memory killer."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

from glsl_infer.errors import RunError
from glsl_infer.support.memory import available

PYTHON = 60_000_000
"""What Python, NumPy and this package take; a run has them already."""


def needed(path: Path) -> int:
    """Return bytes: the unpacked members of a bundle and its textures; 0 for what is none: reading it says why."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = sum(entry.file_size for entry in archive.infolist())
            textures = json.loads(archive.read("manifest.json"))["textures"]
        return members + sum(4 * int(texture["width"]) * int(texture["height"]) for texture in textures)
    except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile, NotImplementedError, RuntimeError):
        return 0


def check(path: Path) -> None:
    """Refuse a bundle that cannot fit.

    Raises:
        RunError: it takes more memory than is free.
    """
    bytes_, free = needed(path), available()
    if free is not None and bytes_ > free:
        raise RunError(
            f"it takes at least {bytes_ / 1e6:.0f} MB (the unpacked bundle, textures); {free / 1e6:.0f} are free"
        )
