"""Pictures given on the command line: files, and folders of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from glsl_infer.errors import ImageError

SUFFIXES = {".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif", ".tif", ".tiff", ".ppm"}


def find(paths: Sequence[Path]) -> list[Path]:
    """Return the files among ``paths``, and the pictures in (and below) the folders, sorted.

    Raises:
        ImageError: a path does not exist, or a folder holds no pictures.
    """
    found: list[Path] = []
    for path in paths:
        if not path.is_dir():
            if not path.exists():
                raise ImageError(f"{path}: no such file")
            found.append(path)
            continue
        inside = sorted(one for one in path.rglob("*") if one.suffix.lower() in SUFFIXES and one.is_file())
        if not inside:
            raise ImageError(f"{path}: a folder without pictures ({', '.join(sorted(SUFFIXES))})")
        found += inside
    return found
