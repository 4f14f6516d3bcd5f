"""Callbacks for the progress of long functions."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from contextvars import ContextVar

ProgressCallback = Callable[[str], object]
"""Called with the name of each step."""

CountCallback = Callable[[int], object]
"""Called with the number of units done since the last call."""


def no_progress(_: str) -> None:
    """Ignore the progress."""


CheckDisplay = Callable[[int], AbstractContextManager[Callable[[int], object]]]
"""Returns a display for the check of a model with this number of layers. Its function is called with the number of
layers checked so far.
"""


def _no_display(_: int) -> AbstractContextManager[Callable[[int], object]]:
    return contextlib.nullcontext(lambda _: None)


check_display: ContextVar[CheckDisplay] = ContextVar("check_display", default=_no_display)
"""The display for child processes that check a model at its first use. Commands set it."""
