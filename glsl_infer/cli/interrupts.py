"""Ctrl-C while a command starts: Python imports for a while then, and an exception there would show a traceback.

This module imports nothing that takes time.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator

CODE = 130
"""The exit code of what was interrupted."""


@contextlib.contextmanager
def ending_at_once() -> Iterator[None]:
    """Within the block SIGINT ends the process with one line, until ``as_exceptions`` is called.

    Nothing is changed where somebody else has a handler, or in another thread than the main one.
    """
    mine = False
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        with contextlib.suppress(ValueError):  # another thread
            signal.signal(signal.SIGINT, _end)
            mine = True
    try:
        yield
    finally:
        if mine:
            as_exceptions()


def as_exceptions() -> None:
    """From here on SIGINT is a ``KeyboardInterrupt``: there may be something to tidy up."""
    if signal.getsignal(signal.SIGINT) is _end:
        with contextlib.suppress(ValueError):
            signal.signal(signal.SIGINT, signal.default_int_handler)


def _end(*_: object) -> None:
    with contextlib.suppress(OSError):
        os.write(2, b"interrupted\n")
    os._exit(CODE)
