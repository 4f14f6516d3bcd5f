"""SIGTERM and SIGINT as a clean end of a loop."""

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
    """Raised in the main thread by the first signal, even while it waits for a blocked reader."""


@contextlib.contextmanager
def until_signalled() -> Iterator[None]:
    """Leave the block at the first SIGTERM or SIGINT, with everything in it closed; ignore further ones.

    Outside the main thread, where Python allows no signal handlers, it does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    stopped = False

    def stop(signal_number: int, frame: FrameType | None) -> None:
        nonlocal stopped
        if not stopped:
            stopped = True
            raise _Stop

    before = {signal_number: signal.signal(signal_number, stop) for signal_number in _SIGNALS}
    try:
        try:
            yield
        except _Stop:
            _discard_blocked_output()
    finally:
        for signal_number, handler in before.items():
            signal.signal(signal_number, handler)


def _discard_blocked_output() -> None:
    """Redirect standard output to the null device if its reader is blocked, so the process can exit."""
    with contextlib.suppress(OSError, ValueError):  # not a file, as in tests
        descriptor = sys.stdout.fileno()
        if not select.select([], [descriptor], [], 0.0)[1]:
            with Path(os.devnull).open("w") as nowhere:
                os.dup2(nowhere.fileno(), descriptor)
