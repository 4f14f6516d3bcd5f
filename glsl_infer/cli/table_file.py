"""A CSV file that is written row by row and gets its name when it is complete.

No cell has a control character or is a formula (``plain_text.cell``). Rows are not kept in memory. If the work is
interrupted (SIGINT, SIGTERM, SIGHUP) or fails, the rows so far are kept in the same folder as ``NAME.partial``, and an
existing file stays unchanged.
"""

from __future__ import annotations

import contextlib
import csv
import io
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from glsl_infer.errors import RunError
from glsl_infer.support.files import Replacement, cannot_be_written, check_output, output_file
from glsl_infer.support.plain_text import cell

if TYPE_CHECKING:
    from glsl_infer.runtime.classifier import Prediction

PARTIAL = ".partial"

_PATIENCE = 5.0
"""Seconds to wait at the end of the process for the current row, for example on a network disk."""


class TableFile:
    """The rows of a CSV file during writing.

    Attributes:
        rows: the number of rows written, without the head.
    """

    def __init__(self, path: Path, replacement: Replacement, head: Sequence[str]) -> None:
        self._path, self._replacement = path, replacement
        # File names may not be valid UTF-8. They are escaped as in Python.
        self._text = io.TextIOWrapper(replacement.file, encoding="utf-8", errors="backslashreplace", newline="")
        self._writer = csv.writer(self._text)
        self._lock = threading.Lock()
        self._ended: str | None = None  # set once the file has its name: the message about it
        self.rows, self._columns = 0, len(head)
        self._writer.writerow([cell(name) for name in head])

    def write(self, row: Sequence[object]) -> None:
        """Write a row. Cells that are missing at its end are empty.

        Raises:
            RunError: the row cannot be written, for example because the disk is full.
        """
        with self._lock:
            try:
                self._writer.writerow([cell(value) for value in (*row, *[""] * (self._columns - len(row)))])
                self._text.flush()  # reports a full disk at this row
            except OSError as error:
                raise RunError(f"{self._path}: cannot be written ({error.strerror or error})") from None
            self.rows += 1

    def complete(self) -> None:
        """Give the file its final name.

        Raises:
            RunError: the file cannot be written, for example because the disk is full.
        """
        with self._lock:
            try:
                self._text.flush()
                self._replacement.commit()
                self._ended = f"{self._path} is complete"
            except OSError as error:
                raise RunError(f"{self._path}: cannot be written ({error.strerror or error})") from None

    def keep(self) -> None:
        """Keep the rows so far, if there are any, as ``NAME.partial``."""
        with self._lock:
            self._keep()

    def keep_for_good(self) -> str:
        """Keep the rows before the process ends; return a message with their location, or "".

        It runs in another thread than ``write``. The lock is not released, so the writing thread cannot continue. If a
        write does not end within ``_PATIENCE``, the rows are kept without the lock.
        """
        self._lock.acquire(timeout=_PATIENCE)
        return self._keep()

    def _keep(self) -> str:
        if self._ended is not None:
            return self._ended
        self._ended = ""
        if self.rows:
            rescued = self._replacement.rescue(_partial(self._replacement.target))
            self._ended = f"the rows so far are in {rescued}"
        else:
            self._replacement.discard()
        return self._ended


@contextlib.contextmanager
def open_table(path: Path, head: Sequence[str]) -> Iterator[TableFile]:
    """Yield a table with a head, in UTF-8 with commas between cells, as spreadsheets and ``csv`` expect.

    Raises:
        InputError: the file cannot be created.
        RunError: a row cannot be written.
    """
    check_table(path)
    try:
        replacement = Replacement(path)
    except (OSError, ValueError) as error:
        raise cannot_be_written(path, error) from None
    try:
        table = TableFile(path, replacement, head)
        with before_a_signal_ends_it(table.keep_for_good):
            try:
                yield table
                table.complete()
            except BaseException:
                table.keep()
                raise
    finally:
        replacement.discard()


def label_columns(count: int) -> list[str]:
    """Return the names of the columns for a number of predictions."""
    return [f"{name}_{rank + 1}" for rank in range(count) for name in ("label", "probability")]


def label_cells(predictions: Sequence[Prediction]) -> list[str]:
    """Return the cells of ``label_columns``."""
    return [cell for prediction in predictions for cell in (prediction.label, f"{prediction.probability:.6f}")]


def check_table(path: Path) -> None:
    """Refuse a file name if it or its ``NAME.partial`` cannot be written, before any computation.

    Raises:
        InputError: as ``check_output``.
    """
    check_output(path, option="--csv")
    output_file(_partial(output_file(path)))


def _partial(target: Path) -> Path:
    return target.with_name(target.name + PARTIAL)


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
    mine = [signal_number for signal_number in _SIGNALS if signal.getsignal(signal_number) is signal.SIG_DFL]
    if not mine or sys.platform == "win32" or threading.current_thread() is not threading.main_thread():
        yield
        return
    reading, writing = os.pipe()
    os.set_blocking(writing, False)

    def wait() -> None:
        while True:
            (signal_number,) = os.read(reading, 1)  # the number of any signal with a Python handler, including SIGINT
            if signal_number in mine:
                _end(signal_number, last)
            if signal_number == _LEAVE[0]:
                return

    thread = threading.Thread(target=wait, name="signals", daemon=True)
    thread.start()
    before = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    for signal_number in mine:
        signal.signal(signal_number, lambda *_: None)  # Python writes the number of a handled signal to the descriptor
    try:
        yield
    finally:
        for signal_number in mine:
            signal.signal(signal_number, signal.SIG_DFL)
        signal.set_wakeup_fd(before)
        os.write(writing, _LEAVE)
        thread.join()
        os.close(reading)
        os.close(writing)


def _end(signal_number: int, last: Callable[[], str]) -> None:
    try:
        message = last()
        line = f"interrupted by {signal.Signals(signal_number).name}" + (f"; {message}" if message else "")
        clear = "\r\x1b[K" if os.isatty(2) else ""  # a progress bar
        with contextlib.suppress(OSError):  # the terminal may be closed
            os.write(2, f"{clear}{line}\n".encode(errors="backslashreplace"))
    finally:
        os._exit(128 + signal_number)
