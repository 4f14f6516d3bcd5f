"""Pictures that are there twice, byte for byte: in two splits they flatter a score, under two labels one is wrong."""

from __future__ import annotations

import hashlib
import stat
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

_CHUNK = 1 << 18


def find(splits: Mapping[str, Iterable[tuple[Path, int]]]) -> list[list[Path]]:
    """Return groups of files with the same bytes that lie in different splits or have different labels.

    Only files of the same size are read. Empty ones, and those that cannot be read, are not looked at: reading the
    pictures reports them.

    Args:
        splits: of each split, files with the index of their label.
    """
    by_size: dict[int, list[tuple[Path, str, int]]] = defaultdict(list)
    for name, files in splits.items():
        for path, label in files:
            by_size[_size(path)].append((path, name, label))
    groups = []
    for size, alike in by_size.items():
        if size and _differ(alike):
            by_sum: dict[str, list[tuple[Path, str, int]]] = defaultdict(list)
            for entry in alike:
                by_sum[_sha256(entry[0])].append(entry)
            groups += [same for digest, same in by_sum.items() if digest and _differ(same)]
    return sorted([path for path, _, _ in same] for same in groups)


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
