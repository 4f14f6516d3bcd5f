"""Callbacks for the progress of long functions."""

from __future__ import annotations

from collections.abc import Callable

ProgressCallback = Callable[[str], object]
"""Called with the name of each step."""

CountCallback = Callable[[int], object]
"""Called with the number of units done since the last call."""


def no_progress(_: str) -> None:
    """Ignore the progress."""
