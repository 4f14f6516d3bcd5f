"""A CSV file that is written row by row and takes its name when it is complete.

No cell holds a control character, and none is a formula (``plain_text.cell``). Thousands of rows never lie in memory.
Where the work is interrupted (SIGINT, SIGTERM, SIGHUP) or fails, the rows so far are kept beside it as
``NAME.partial``, and a file that was there before is as it was.
"""

from __future__ import annotations

import contextlib
import csv
import io
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

from glsl_infer.cli.ending import before_a_signal_ends_it
from glsl_infer.errors import RunError
from glsl_infer.support.files import Replacement, cannot_be_written, output_file
from glsl_infer.support.plain_text import cell

PARTIAL = ".partial"

_PATIENCE = 5.0
"""Seconds that the end of the process waits for a row that is being written, to a network's disk, say."""


class TableFile:
    """The rows of a CSV file that is being written.

    Attributes:
        rows: how many were written, the head not counted.
    """

    def __init__(self, path: Path, replacement: Replacement, head: Sequence[str]) -> None:
        self._path, self._replacement = path, replacement
        # Names of files may be no UTF-8; they are shown as Python shows them.
        self._text = io.TextIOWrapper(replacement.file, encoding="utf-8", errors="backslashreplace", newline="")
        self._writer = csv.writer(self._text)
        self._lock = threading.Lock()
        self._ended: str | None = None  # once the file has its name: what is to say about it
        self.rows = 0
        self._writer.writerow([cell(name) for name in head])

    def write(self, row: Sequence[object]) -> None:
        """Write a row.

        Raises:
            RunError: the disk is full, say.
        """
        with self._lock:
            try:
                self._writer.writerow([cell(value) for value in row])
                self._text.flush()  # so that a full disk is noticed at this row
            except OSError as error:
                raise RunError(f"{self._path}: cannot be written ({error.strerror or error})") from None
            self.rows += 1

    def complete(self) -> None:
        """Give the file its name.

        Raises:
            RunError: the disk is full, say.
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
        """Do as ``keep``, in another thread than the one that writes, which never goes on; return where they are."""
        self._lock.acquire(timeout=_PATIENCE)
        return self._keep()

    def _keep(self) -> str:
        if self._ended is not None:
            return self._ended
        self._ended = ""
        if self.rows:
            place = self._replacement.rescue(_partial(self._replacement.target))
            self._ended = f"the rows so far are in {place}"
        else:
            self._replacement.discard()
        return self._ended


@contextlib.contextmanager
def open_table(path: Path, head: Sequence[str]) -> Iterator[TableFile]:
    """Yield a table with a head; UTF-8, a comma between cells, as spreadsheets and ``csv`` read it.

    Raises:
        InputError: it cannot be written there.
        RunError: it cannot be written any more.
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


def check_table(path: Path) -> None:
    """Refuse, before anything is computed, a name that cannot be written, or whose ``NAME.partial`` cannot.

    Raises:
        InputError: something else than a regular file is there.
    """
    output_file(_partial(output_file(path)))


def _partial(target: Path) -> Path:
    return target.with_name(target.name + PARTIAL)
