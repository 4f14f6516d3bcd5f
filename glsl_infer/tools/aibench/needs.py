"""What a bundle takes at least, by arithmetic: so that a small board is not driven into the out-of-memory killer."""

from __future__ import annotations

from pathlib import Path

from glsl_infer.bundle import MANIFEST, zip_directory
from glsl_infer.bundle.container import MOST, parse
from glsl_infer.errors import BundleError, RunError
from glsl_infer.support.memory import available

PYTHON = 60_000_000
"""What Python, NumPy and this package take; a run has them already."""


def needed(path: Path) -> int:
    """Return bytes: the unpacked members of a bundle and its textures; 0 for what is none: reading it says why.

    A texture of weights takes the place of its member (``bundle.streamed``).
    """
    try:
        with path.open("rb") as file:
            entries = {entry.name: entry for entry in zip_directory.read(file)}
            if entries[MANIFEST].size > MOST[MANIFEST]:
                return 0
            textures = parse(zip_directory.unpack(file, entries[MANIFEST]), MANIFEST)["textures"]
        members = sum(entry.size for entry in entries.values())
        drawn = [texture for texture in textures if texture.get("member") is None]
        return members + sum(4 * int(texture["width"]) * int(texture["height"]) for texture in drawn)
    except (BundleError, OSError, ValueError, LookupError, TypeError):
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
