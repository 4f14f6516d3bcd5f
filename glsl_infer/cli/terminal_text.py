"""What the command line prints shows control characters instead of sending them to the terminal (``plain_text``).

While a command runs, standard output and standard error are replaced by streams that see to it: whatever prints goes
through them, argparse, warnings and tracebacks included.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
import traceback
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Any, TextIO, cast

from glsl_infer.support.plain_text import one_line, visible


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
    """Print why a command ends; on a terminal its first word is red, unless NO_COLOR is set (no-color.org)."""
    coloured = sys.stderr.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    if coloured:
        raw(sys.stderr).write("\x1b[31merror:\x1b[0m ")
        print(message, file=sys.stderr)
    else:
        print(f"error: {message}", file=sys.stderr)


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
    sys.stdout, sys.stderr = (cast(TextIO, VisibleStream(stream)) for stream in (sys.stdout, sys.stderr))
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
