"""Pictures given on the command line: files, and folders of them."""

from __future__ import annotations

import stat
from collections.abc import Sequence
from pathlib import Path

from glsl_infer.errors import ImageError

SUFFIXES = {".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif", ".tif", ".tiff", ".ppm"}


def find(paths: Sequence[Path], *, also: Sequence[str] = ()) -> list[Path]:
    """Return the files among ``paths``, and the pictures in (and below) the folders, sorted.

    ``also`` are endings of other files in folders that count.

    Raises:
        ImageError: a path does not exist or cannot be read, or a folder holds no pictures.
    """
    pictures: list[Path] = []
    for path in paths:
        try:
            folder = stat.S_ISDIR(path.stat().st_mode)
            if folder:
                next(path.iterdir(), None)  # whether it may be read: rglob passes over what may not
        except FileNotFoundError:
            raise ImageError(f"{path}: no such file") from None
        except OSError as error:  # a name too long, a folder that may not be entered ...
            raise ImageError(f"{path}: cannot be read ({error.strerror})") from None
        if not folder:
            pictures.append(path)
            continue
        inside = sorted(
            file for file in path.rglob("*") if file.suffix.lower() in {*SUFFIXES, *also} and file.is_file()
        )
        if not inside:
            raise ImageError(f"{path}: a folder without pictures ({', '.join(sorted(SUFFIXES))})")
        pictures += inside
    return pictures
