"""A CSV file that is written row by row and takes its name when it is complete.

Thousands of rows never lie in memory. Where the work is interrupted or fails, the rows so far are kept beside it as
``NAME.partial``, and a file that was there before is as it was.
"""

from __future__ import annotations

import contextlib
import csv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from glsl_infer.errors import InputError, RunError
from glsl_infer.support.files import replacing

PARTIAL = ".partial"


class TableFile:
    """The rows of a CSV file that is being written.

    Attributes:
        rows: how many were written, the head not counted.
    """

    def __init__(self, path: Path, writer: Any, flush: Any) -> None:
        self._path, self._writer, self._flush = path, writer, flush
        self.rows = 0

    def write(self, row: Sequence[object]) -> None:
        """Write a row.

        Raises:
            RunError: the disk is full, say.
        """
        try:
            self._writer.writerow(row)
            self._flush()  # so that a full disk is noticed at this row
        except OSError as error:
            raise RunError(f"{self._path}: cannot be written ({error.strerror or error})") from None
        self.rows += 1


@contextlib.contextmanager
def open_table(path: Path, head: Sequence[str]) -> Iterator[TableFile]:
    """Yield a table with a head; UTF-8, a comma between cells, as spreadsheets and ``csv`` read it.

    Raises:
        InputError: it cannot be written there.
        RunError: it cannot be written any more.
    """
    if path.is_dir():
        raise InputError(f"{path}: is a folder; name a file")
    with replacing(path) as temporary:
        try:
            # Names of files may be no UTF-8; they are shown as Python shows them.
            file = temporary.open("w", encoding="utf-8", errors="backslashreplace", newline="")
        except (OSError, ValueError) as error:
            raise InputError(f"{path}: cannot be written ({getattr(error, 'strerror', None) or error})") from None
        table = TableFile(path, csv.writer(file), file.flush)
        try:
            with file:
                csv.writer(file).writerow(head)
                yield table
        except BaseException:
            if table.rows:
                with contextlib.suppress(OSError):
                    temporary.replace(path.with_name(path.name + PARTIAL))
            raise
