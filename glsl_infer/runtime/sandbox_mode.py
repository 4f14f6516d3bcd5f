"""Default of the argument ``isolated`` of ``Session``: whether a child process draws a bundle before this process does.

The command line sets it once for all commands, so that none of them draws a file that has not passed before.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Literal, Union

SandboxMode = Union[bool, Literal["first"]]
"""Never, always, or until the bundle has passed on this driver."""

_modes: list[SandboxMode] = [False]
"""The modes of the ``with`` blocks around the current code, innermost last."""


def default() -> SandboxMode:
    """Return the mode of sessions that are opened without ``isolated``."""
    return _modes[-1]


@contextlib.contextmanager
def sandboxing(mode: SandboxMode) -> Iterator[None]:
    """Set the default of this process for the time of a ``with`` block."""
    _modes.append(mode)
    try:
        yield
    finally:
        _modes.pop()
