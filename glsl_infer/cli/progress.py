"""Progress bars: tqdm's where it is installed and standard error is a terminal, else nothing."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import TypeVar

Item = TypeVar("Item")


def bar(items: Sequence[Item], what: str) -> Iterable[Item]:
    """Return ``items``, showing how many are done while they are used."""
    if len(items) < 2 or not sys.stderr.isatty():
        return items
    try:
        from tqdm import tqdm
    except ImportError:
        return items
    shown: Iterable[Item] = tqdm(items, desc=what, leave=False, file=sys.stderr)
    return shown
