"""Last actions before a signal ends the process.

SIGTERM and SIGHUP end a Python process at once. This module runs an action in a thread first. The thread does not
depend on the main thread, which may be blocked in a driver: ``timeout 60 classify ...`` must end such a process, too.
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
    """Within the block, call ``last`` on SIGTERM or SIGHUP, then end the process with 128 + the signal.

    A signal that is ignored (``nohup``) or has a handler is left unchanged. Outside the main thread, where Python does
    not allow handlers, nothing is changed.

    Args:
        last: the action. It runs in another thread, and returns a message for the user, or "".
    """
    mine = [number for number in _SIGNALS if signal.getsignal(number) is signal.SIG_DFL]
    if not mine or sys.platform == "win32" or threading.current_thread() is not threading.main_thread():
        yield
        return
    reading, writing = os.pipe()
    os.set_blocking(writing, False)

    def wait() -> None:
        while True:
            (number,) = os.read(reading, 1)  # the number of any signal with a Python handler, including SIGINT
            if number in mine:
                _end(number, last)
            if number == _LEAVE[0]:
                return

    thread = threading.Thread(target=wait, name="signals", daemon=True)
    thread.start()
    before = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    for number in mine:
        signal.signal(number, lambda *_: None)  # Python writes the number of a handled signal to the descriptor
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
        with contextlib.suppress(OSError):  # the terminal may be closed
            os.write(2, f"{clear}{line}\n".encode(errors="backslashreplace"))
    finally:
        os._exit(128 + number)
