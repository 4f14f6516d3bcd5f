"""What the command line prints shows control characters instead of sending them to the terminal (``plain_text``).

While a command runs, standard output and standard error are replaced by streams that see to it: whatever prints goes
through them, argparse, warnings and tracebacks included.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
import textwrap
import traceback
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, TextIO, cast

from glsl_infer.support.plain_text import one_line, visible

_LEAST_WIDTH = 40
"""Characters of the narrowest line that text is made to fit."""


class VisibleStream:
    """A text stream that writes control characters out; all else is the stream's behind it.

    Attributes:
        behind: where the text goes.
    """

    def __init__(self, behind: TextIO) -> None:
        self.behind = behind

    def write(self, text: str) -> int:
        """Write text, visibly."""
        return self.behind.write(visible(text))

    def writelines(self, lines: Iterable[str]) -> None:
        """Write several texts, visibly."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.behind, name)


class Messages(VisibleStream):
    """Standard error. What it does not take, on a full disk say, is lost, and changes nothing of how a command ends."""

    def write(self, text: str) -> int:
        """Write text, visibly, if it can be written."""
        try:
            super().write(text)
        except OSError:
            lose(self.behind)
        return len(text)

    def flush(self) -> None:
        """Flush, if that can be done."""
        lose(self.behind)


def lose(stream: TextIO) -> None:
    """Flush a stream, and forget what it does not take: Python tries again at exit, and would report that as well."""
    try:
        stream.flush()
    except OSError:
        with Path(os.devnull).open("w") as nowhere:
            os.dup2(nowhere.fileno(), stream.fileno())


class Closed(io.StringIO):
    """Standard output that was closed before the process began (``>&-``): it takes nothing."""

    def write(self, text: str) -> int:
        """Refuse.

        Raises:
            OSError: always.
        """
        raise OSError("standard output is closed; give it a file, or /dev/null")


def raw(stream: TextIO) -> TextIO:
    """Return the stream that obeys control characters, for progress bars: give it no text of a stranger."""
    return stream.behind if isinstance(stream, VisibleStream) else stream


def say_error(message: str) -> None:
    """Print why a command ends; see ``say``."""
    say("error", message, "31")


def say_warning(message: str) -> None:
    """Print what a command goes on in spite of; see ``say``."""
    say("warning", message, "33")


def say(kind: str, message: str, colour: str = "") -> None:
    """Print a message to standard error, after a word that says its kind.

    On a terminal its lines end between words, and the first word is coloured, unless NO_COLOR is set (no-color.org).
    Elsewhere a line stays one line, for those who search in logs.

    Args:
        kind: the word.
        message: the text.
        colour: number of an SGR sequence.
    """
    text = wrapped(visible(f"{kind}: {message}"), width(sys.stderr))
    coloured = colour and sys.stderr.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    if coloured:
        raw(sys.stderr).write(f"\x1b[{colour}m{kind}:\x1b[0m")
        text = text[len(kind) + 1 :]
    print(text, file=sys.stderr, flush=True)


def width(stream: TextIO) -> int | None:
    """Return how many characters a line of a terminal has; None where there is no terminal, or it does not say."""
    try:
        columns = os.get_terminal_size(stream.fileno()).columns if stream.isatty() else 0
    except (OSError, ValueError):
        columns = 0
    return columns or None


def wrapped(text: str, columns: int | None) -> str:
    """Return a text whose lines end between words before they are longer than a terminal's; None: as it is.

    A word that is longer, a path for one, stays whole, so that it can be copied.
    """
    if columns is None:
        return text
    lines = []
    for line in text.split("\n"):
        indent = " " * (len(line) - len(line.lstrip(" ")) + 2)
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
    """Print each as one line: no name in it can begin another."""
    for line in lines:
        print(one_line(line))


@contextlib.contextmanager
def guarded() -> Iterator[None]:
    """Let all that is printed in the block be visible, and so the traceback of an error that leaves it."""
    kept = sys.stdout, sys.stderr
    _fill_closed_descriptors()
    if kept[0] is None:
        sys.stdout = Closed()
    if kept[1] is None:
        sys.stderr = io.StringIO()
    sys.stdout, sys.stderr = cast(TextIO, VisibleStream(sys.stdout)), cast(TextIO, Messages(sys.stderr))
    try:
        yield
    except Exception:
        sys.excepthook = _show
        raise
    finally:
        sys.stdout, sys.stderr = kept


def _fill_closed_descriptors() -> None:
    """Open the null device for standard streams that are closed: the next file would take their numbers."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            if os.open(os.devnull, os.O_RDWR) != number:  # somebody else opened a file meanwhile
                return


def _show(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    sys.stderr.write(visible("".join(traceback.format_exception(kind, error, trace))))
