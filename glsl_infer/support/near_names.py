"""Suggestions for misspelt names."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from pathlib import Path

from glsl_infer.support.plain_text import first_of

_SIMILAR = 0.6
"""Least similarity of a suggestion, from 0 to 1, as ``difflib`` measures it."""

_SIMILAR_FILE = 0.8
"""Least similarity of a suggested file name with another suffix."""

_MOST_CHOICES = 10

_MOST_FILES = 1000
"""Largest number of files to compare in a folder."""


def nearest(word: str, names: Iterable[str], least: float = _SIMILAR) -> str | None:
    """Return the name most similar to a word, ignoring case; None if all are less similar than ``least``."""
    import difflib  # loaded only after an error, for a fast start

    by_lower = {name.lower(): name for name in names}
    matches = difflib.get_close_matches(word.lower(), list(by_lower), 1, least)
    return by_lower[matches[0]] if matches else None


def did_you_mean(word: str, names: Iterable[str]) -> str:
    """Return ``" (did you mean NAME?)"``, or an empty string if all names differ too much."""
    name = nearest(word, names)
    return "" if name is None else f" (did you mean {name}?)"


def choices(names: Iterable[str]) -> str:
    """Return names as a list for a message, and only the first of many, because a network can have hundreds."""
    return first_of(list(names), _MOST_CHOICES)


def nearest_file(path: Path) -> Path | None:
    """Return the file with the most similar name in the folder of a missing file; None if all differ too much.

    For a name without suffix, folders count as well.
    """
    try:
        entries = itertools.islice(path.parent.iterdir(), _MOST_FILES)
        files = [candidate for candidate in entries if candidate.is_file() or (not path.suffix and candidate.is_dir())]
    except (OSError, ValueError):
        return None
    files.sort()
    stems = {candidate.stem: candidate for candidate in files if candidate.suffix.lower() == path.suffix.lower()}
    stem = nearest(path.stem, stems)
    if stem is not None:
        return path.with_name(stems[stem].name)
    name = nearest(path.name, [candidate.name for candidate in files], _SIMILAR_FILE)
    return None if name is None else path.with_name(name)
