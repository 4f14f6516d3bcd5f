"""Suggestions for misspelt names."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_SIMILAR = 0.6
"""Least similarity of a suggestion, from 0 to 1."""


def nearest(word: str, names: Iterable[str]) -> str | None:
    """Return the name that is most similar to a word, without regard to case; None if none is similar."""
    by_lower = {name.lower(): name for name in names}
    matches = difflib.get_close_matches(word.lower(), list(by_lower), 1, _SIMILAR)
    return by_lower[matches[0]] if matches else None


def did_you_mean(word: str, names: Iterable[str]) -> str:
    """Return ``"; did you mean NAME?"``, or an empty string if no name is similar."""
    name = nearest(word, names)
    return "" if name is None else f"; did you mean {name}?"
