"""What is left to do when a signal ends the process.

SIGTERM and SIGHUP end a Python process at once. Here a thread does something first. It needs no help of the main
thread, which may be in a driver that does not come back: ``timeout 60 classify ...`` must end that as well.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator

_SIGNALS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
_LEAVE = b"\0"  # no signal has the number 0


@contextlib.contextmanager
def before_a_signal_ends_it(last: Callable[[], str]) -> Iterator[None]:
    """Within the block, call ``last`` when SIGTERM or SIGHUP comes, then end the process with 128 + the signal.

    A signal that is ignored (``nohup``) or has a handler stays as it is. In another thread than the main one, where
    Python allows no handlers, nothing is changed.

    Args:
        last: what to do. It runs in another thread, and returns what to tell the person, or nothing.
    """
    mine = [number for number in _SIGNALS if signal.getsignal(number) is signal.SIG_DFL]
    if not mine or sys.platform == "win32" or threading.current_thread() is not threading.main_thread():
        yield
        return
    reading, writing = os.pipe()
    os.set_blocking(writing, False)

    def wait() -> None:
        while True:
            (number,) = os.read(reading, 1)  # the number of any signal that Python handles, SIGINT's too
            if number in mine:
                _end(number, last)
            if number == _LEAVE[0]:
                return

    thread = threading.Thread(target=wait, name="signals", daemon=True)
    thread.start()
    before = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    for number in mine:
        signal.signal(number, lambda *_: None)  # what Python handles is told to the descriptor
    try:
        yield
    finally:
        for number in mine:
            signal.signal(number, signal.SIG_DFL)
        signal.set_wakeup_fd(before)
        os.write(writing, _LEAVE)
        thread.join()
        os.close(reading)
        os.close(writing)


def _end(number: int, last: Callable[[], str]) -> None:
    try:
        said = last()
        line = f"interrupted by {signal.Signals(number).name}" + (f"; {said}" if said else "")
        clear = "\r\x1b[K" if os.isatty(2) else ""  # a progress bar
        with contextlib.suppress(OSError):  # the terminal may be gone
            os.write(2, f"{clear}{line}\n".encode(errors="backslashreplace"))
    finally:
        os._exit(128 + number)
