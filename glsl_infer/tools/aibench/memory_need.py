"""Lower bound of a bundle's memory, computed without loading it, so a small board does not run out of memory."""

from __future__ import annotations

from pathlib import Path

from glsl_infer.bundle import MANIFEST, zip_directory
from glsl_infer.bundle.container import MAX_MEMBER_BYTES, parse
from glsl_infer.errors import BundleError, RunError
from glsl_infer.support.memory import available

PYTHON = 60_000_000
"""Memory of Python, NumPy and this package, which a run has allocated already."""


def needed(path: Path) -> int:
    """Return the bytes of the unpacked members and textures of a bundle; 0 if it is damaged: reading it reports why.

    A texture of weights replaces its member in memory (``bundle.streamed``).
    """
    try:
        with path.open("rb") as file:
            entries = {member.name: member for member in zip_directory.read(file)}
            if entries[MANIFEST].size > MAX_MEMBER_BYTES[MANIFEST]:
                return 0
            textures = parse(zip_directory.unpack(file, entries[MANIFEST]), MANIFEST)["textures"]
        members = sum(member.size for member in entries.values())
        drawn = [texture for texture in textures if texture.get("member") is None]
        return members + sum(4 * int(texture["width"]) * int(texture["height"]) for texture in drawn)
    except (BundleError, OSError, ValueError, LookupError, TypeError):
        return 0


def check(path: Path) -> None:
    """Check that a bundle fits into free memory.

    Raises:
        RunError: it needs more memory than is free.
    """
    bytes_, free = needed(path), available()
    if free is not None and bytes_ > free:
        raise RunError(
            f"it takes at least {bytes_ / 1e6:.0f} MB (the unpacked bundle, textures); {free / 1e6:.0f} are free"
        )
