"""SIGTERM and SIGINT as the end of a loop instead of a death in the middle."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class _Stop(BaseException):
    """Raised by the first signal, wherever the main thread is: also where it waits for a reader that does not read."""


@contextlib.contextmanager
def until_signalled() -> Iterator[None]:
    """Leave the block at the first SIGTERM or SIGINT, with everything in it closed; further ones change nothing.

    In another thread than the main one, where Python allows no handlers, it does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    stopped = False

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal stopped
        if not stopped:
            stopped = True
            raise _Stop

    before = {number: signal.signal(number, stop) for number in _SIGNALS}
    try:
        try:
            yield
        except _Stop:
            _drop_what_nobody_reads()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _drop_what_nobody_reads() -> None:
    """Let standard output go nowhere where its reader takes nothing: else its last line would be waited for at exit."""
    with contextlib.suppress(OSError, ValueError):  # no file at all, as in tests
        descriptor = sys.stdout.fileno()
        if not select.select([], [descriptor], [], 0.0)[1]:
            with Path(os.devnull).open("w") as nowhere:
                os.dup2(nowhere.fileno(), descriptor)
