"""Ctrl-C during the start of a command: Python imports modules for a while, and an exception would show a traceback.

This module does not import slow modules.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator

CODE = 130
"""Exit code of an interrupted command."""


@contextlib.contextmanager
def ending_at_once() -> Iterator[None]:
    """Within the block SIGINT ends the process with one line, until ``as_exceptions`` is called.

    An existing handler of other code is kept. Outside the main thread nothing is changed.
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
    """Make SIGINT raise ``KeyboardInterrupt`` from here on, so that commands can clean up."""
    if signal.getsignal(signal.SIGINT) is _end:
        with contextlib.suppress(ValueError):
            signal.signal(signal.SIGINT, signal.default_int_handler)


def _end(*_: object) -> None:
    with contextlib.suppress(OSError):
        os.write(2, b"interrupted\n")
    os._exit(CODE)
