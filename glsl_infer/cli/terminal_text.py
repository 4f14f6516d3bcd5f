"""Escaping of control characters in all output of the command line (``plain_text``).

While a command runs, standard output and standard error are replaced by escaping streams. All output passes through
them, including that of argparse, warnings and tracebacks.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import sys
import traceback
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, TextIO, cast

from glsl_infer.support.plain_text import one_line, visible

_LEAST_WIDTH = 40
"""Smallest line width, in characters, for wrapped text."""


class VisibleStream:
    """A text stream that escapes control characters, and passes everything else to another stream.

    Attributes:
        wrapped: the other stream.
    """

    def __init__(self, wrapped: TextIO) -> None:
        self.wrapped = wrapped

    def write(self, text: str) -> int:
        """Write escaped text."""
        return self.wrapped.write(visible(text))

    def writelines(self, lines: Iterable[str]) -> None:
        """Write several escaped texts."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.wrapped, name)


class Messages(VisibleStream):
    """Standard error. Text that cannot be written, for example on a full disk, is discarded without an error."""

    def write(self, text: str) -> int:
        """Write escaped text, if possible."""
        try:
            super().write(text)
        except OSError:
            lose(self.wrapped)
        return len(text)

    def flush(self) -> None:
        """Flush, if possible."""
        lose(self.wrapped)


def lose(stream: TextIO) -> None:
    """Flush a stream, and discard text that fails: otherwise Python would retry at exit and report an error."""
    try:
        stream.flush()
    except OSError:
        with Path(os.devnull).open("w") as nowhere:
            os.dup2(nowhere.fileno(), stream.fileno())


class Closed(io.StringIO):
    """Standard output that was closed before the process began (``>&-``): every write fails."""

    def write(self, text: str) -> int:
        """Refuse to write.

        Raises:
            OSError: always.
        """
        raise OSError("standard output is closed; give it a file, or /dev/null")


def raw(stream: TextIO) -> TextIO:
    """Return the unescaped stream, for progress bars. It must not receive untrusted text."""
    return stream.wrapped if isinstance(stream, VisibleStream) else stream


def say_error(message: str) -> None:
    """Print the error that ends a command, as one line on standard error."""
    say("error", message, "31")


def say_warning(message: str) -> None:
    """Print a problem that does not end the command, as one line on standard error."""
    say("warning", message, "33")


def say(prefix: str, message: str, colour: str = "") -> None:
    """Print a message to standard error, after a word for its kind.

    On a terminal, lines are wrapped between words and the first word is coloured, unless NO_COLOR is set
    (no-color.org). Elsewhere each line stays one line, for searches in logs.

    Args:
        prefix: the word, such as ``error``.
        message: the text.
        colour: number of an SGR sequence; "" for none.
    """
    text = wrapped(visible(f"{prefix}: {message}"), width(sys.stderr))
    coloured = colour and sys.stderr.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    if coloured:
        raw(sys.stderr).write(f"\x1b[{colour}m{prefix}:\x1b[0m")
        text = text[len(prefix) + 1 :]
    print(text, file=sys.stderr, flush=True)


def width(stream: TextIO) -> int | None:
    """Return the width of a terminal in characters; None without a terminal or with an unknown width."""
    try:
        columns = os.get_terminal_size(stream.fileno()).columns if stream.isatty() else 0
    except (OSError, ValueError):
        columns = 0
    return columns or None


def wrapped(text: str, columns: int | None) -> str:
    """Return a text wrapped between words to a number of columns; unchanged for None.

    A word longer than a line, such as a path, is not split, so that it can be copied.
    """
    if columns is None:
        return text
    lines = []
    for line in text.split("\n"):
        indent = " " * (len(line) - len(line.lstrip(" ")) + 2)
        import textwrap

        fitted = textwrap.wrap(
            line,
            max(columns, _LEAST_WIDTH),
            subsequent_indent=indent,
            break_long_words=False,
            break_on_hyphens=False,
            drop_whitespace=True,
        )
        lines += fitted or [""]
    return "\n".join(lines)


def print_lines(lines: Iterable[object]) -> None:
    """Print each entry as one line. Line breaks inside an entry are escaped."""
    for line in lines:
        print(one_line(line))


def print_result(args: argparse.Namespace, data: object, lines: Iterable[object]) -> None:
    """Print the result of a command: ``data`` as JSON with ``--json``, else ``lines`` as in ``print_lines``."""
    if args.json:
        print(json.dumps(data, indent=1))
    else:
        print_lines(lines)


@contextlib.contextmanager
def guarded() -> Iterator[None]:
    """Escape all output printed in the block, including the traceback of an error that leaves it."""
    streams = sys.stdout, sys.stderr
    _fill_closed_descriptors()
    if streams[0] is None:
        sys.stdout = Closed()
    if streams[1] is None:
        sys.stderr = io.StringIO()
    sys.stdout, sys.stderr = cast(TextIO, VisibleStream(sys.stdout)), cast(TextIO, Messages(sys.stderr))
    try:
        yield
    except Exception:
        sys.excepthook = _show
        raise
    finally:
        sys.stdout, sys.stderr = streams


def _fill_closed_descriptors() -> None:
    """Open the null device for closed standard streams, because the next opened file would get their numbers."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            if os.open(os.devnull, os.O_RDWR) != descriptor:  # another thread opened a file in the meantime
                return


def _show(error_class: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    sys.stderr.write(visible("".join(traceback.format_exception(error_class, error, trace))))
