"""Images on the command line: files, and folders of them. All commands use these rules."""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from glsl_infer.errors import ImageError

SUFFIXES = {
    *(".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".webp", ".avif", ".heic", ".heif", ".bmp", ".gif", ".tif", ".tiff"),
    ".ppm",
}
"""Suffixes of images in folders. Pillow needs a plugin for some of them (``formats``)."""

_COPIES = ("__MACOSX", "@eaDir")
"""Folders in which macOS and network disks keep data about images in files with the images' names."""


def is_image(path: Path) -> bool:
    """Return whether a file in a folder is an image by its name. Hidden files, such as macOS' ``._x.jpg``, are not."""
    return path.suffix.lower() in SUFFIXES and not path.name.startswith(".")


def is_hidden(folder: str) -> bool:
    """Return whether searches for images skip folders with this name."""
    return folder.startswith(".") or folder in _COPIES


def in_folder(folder: Path, *, also: Sequence[str] = (), warn: Callable[[str], object] | None = None) -> list[Path]:
    """Return the images in a folder and below it, sorted.

    Args:
        folder: can itself be a hidden folder.
        also: suffixes of other files to return.
        warn: as in ``find``.
    """
    files = []
    for directory, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not is_hidden(name)]
        paths = [Path(directory, name) for name in names]
        files += [
            path
            for path in paths
            if (is_image(path) or (path.suffix.lower() in also and not path.name.startswith("."))) and path.is_file()
        ]
    return sorted(files) if warn is None else _decodable(sorted(files), folder, warn)


def find(paths: Sequence[Path], *, also: Sequence[str] = (), warn: Callable[[str], object] | None = None) -> list[Path]:
    """Return the files among ``paths``, and the images in and below the folders, sorted.

    Args:
        paths: files and folders. A file is returned under any name.
        also: suffixes of other files in folders to return.
        warn: if given, files in folders that Pillow cannot decode are left out, and this is called with a sentence
            about them.

    Raises:
        ImageError: a path does not exist or cannot be read, or a folder has no images.
    """
    images: list[Path] = []
    for path in paths:
        try:
            folder = stat.S_ISDIR(path.stat().st_mode)
            if folder:
                next(path.iterdir(), None)  # raises if it is unreadable: os.walk silently skips such folders
        except FileNotFoundError:
            raise ImageError(f"{path}: no such file{'' if path.suffix else ' or folder'}") from None
        except OSError as error:  # a name too long, a folder without the right to enter ...
            raise ImageError(f"{path}: cannot be read ({error.strerror})") from None
        if not folder:
            images.append(path)
            continue
        inside = in_folder(path, also=also, warn=warn)
        if not inside:
            raise ImageError(f"{path}: no images in this folder ({', '.join(sorted(SUFFIXES))})")
        images += inside
    return images


def _decodable(files: Iterable[Path], folder: Path, warn: Callable[[str], object]) -> list[Path]:
    """Return the files that Pillow can decode, judged by their suffixes."""
    from glsl_infer.runtime.pictures.decoding import missing_decoder

    decodable, problems = [], Counter[str]()
    for path in files:
        problem = missing_decoder(path)
        if problem is None:
            decodable.append(path)
        else:
            problems[problem] += 1
    for problem, count in problems.items():
        warn(f"{folder}: {count} {'file is' if count == 1 else 'files are'} left out; {problem}")
    return decodable


def spread(files: Sequence[Path], most: int) -> list[Path]:
    """Return at most ``most`` of the files, evenly spaced: the beginning of a list can have only one class."""
    count = min(most, len(files))
    return [files[index * len(files) // count] for index in range(count)]
