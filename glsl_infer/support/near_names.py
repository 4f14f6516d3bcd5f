"""Suggestions for misspelt names."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from pathlib import Path

_SIMILAR = 0.6
"""Least similarity of a suggestion, from 0 to 1."""


_MOST_FILES = 1000
"""Files of a folder that are looked at for a suggestion."""


def nearest(word: str, names: Iterable[str]) -> str | None:
    """Return the name that is most similar to a word, without regard to case; None if none is similar."""
    import difflib  # a start without an error does without it

    by_lower = {name.lower(): name for name in names}
    matches = difflib.get_close_matches(word.lower(), list(by_lower), 1, _SIMILAR)
    return by_lower[matches[0]] if matches else None


def did_you_mean(word: str, names: Iterable[str]) -> str:
    """Return ``" (did you mean NAME?)"``, or an empty string if no name is similar."""
    name = nearest(word, names)
    return "" if name is None else f" (did you mean {name}?)"


def nearest_file(path: Path) -> Path | None:
    """Return the file next to a missing one whose name is most similar; None if none is similar."""
    try:
        files = [entry for entry in itertools.islice(path.parent.iterdir(), _MOST_FILES) if entry.is_file()]
    except (OSError, ValueError):
        return None
    stems = {entry.stem: entry for entry in sorted(files) if entry.suffix.lower() == path.suffix.lower()}
    name = nearest(path.stem, stems)
    return None if name is None else path.with_name(stems[name].name)
