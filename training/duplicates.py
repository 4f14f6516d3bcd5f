"""Duplicate images, byte for byte: in two splits they distort a score, and with two labels one is wrong."""

from __future__ import annotations

import hashlib
import stat
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

_CHUNK = 1 << 18


def find(splits: Mapping[str, Iterable[tuple[Path, int]]]) -> list[list[Path]]:
    """Return groups of files with equal bytes in different splits or with different labels.

    Only files with equal sizes are read. Empty and unreadable files are skipped, because reading the images reports
    them.

    Args:
        splits: for each split, files with their label indices.
    """
    by_size: dict[int, list[tuple[Path, str, int]]] = defaultdict(list)
    for name, files in splits.items():
        for path, label in files:
            by_size[_size(path)].append((path, name, label))
    groups = []
    for size, same_size in by_size.items():
        if size and _differ(same_size):
            by_sum: dict[str, list[tuple[Path, str, int]]] = defaultdict(list)
            for image in same_size:
                by_sum[_sha256(image[0])].append(image)
            groups += [duplicates for digest, duplicates in by_sum.items() if digest and _differ(duplicates)]
    return sorted([path for path, _, _ in duplicates] for duplicates in groups)


def _differ(entries: list[tuple[Path, str, int]]) -> bool:
    return len({entry[1:] for entry in entries}) > 1


def _size(path: Path) -> int:
    try:
        status = path.stat()
    except OSError:
        return 0
    return status.st_size if stat.S_ISREG(status.st_mode) else 0


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
    except OSError:
        return ""
    return digest.hexdigest()
