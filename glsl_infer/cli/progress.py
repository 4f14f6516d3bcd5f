"""Progress: tqdm's bars on a terminal if it is installed, else a status line; without a terminal a line per minute.

Work of less than ``SILENT`` seconds does not add lines to a log.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from glsl_infer.cli.terminal_text import raw, width
from glsl_infer.support.plain_text import one_line

if TYPE_CHECKING:
    from glsl_infer.runtime.session import Session

Item = TypeVar("Item")


SILENT, EVERY = 20.0, 60.0
"""Seconds before the first line without a terminal, and between two lines."""

_shown: list[str] = []
"""Names of the status lines of this terminal, the innermost last."""


def bar(items: Sequence[Item], unit: str, name: str) -> Iterable[Item]:
    """Return ``items``, and show the number of items processed during the iteration. ``counter`` has the arguments."""
    return items if len(items) < 2 else _counted(items, unit, name)


def _counted(items: Sequence[Item], unit: str, name: str) -> Iterator[Item]:
    with counter(len(items), unit, name) as done:
        for item in items:
            yield item
            done(1)


@contextlib.contextmanager
def counter(total: int, unit: str, name: str) -> Iterator[Callable[[int], object]]:
    """Yield a function to call with the number of items done since its last call.

    Args:
        total: the number of items.
        unit: a word for the items, in the plural.
        name: the command, so that a log of several commands is readable.
    """
    tqdm = _tqdm() if sys.stderr.isatty() else None
    if tqdm is not None:
        with tqdm(total=total, desc=name, unit=f" {unit}", leave=False, file=raw(sys.stderr)) as bar:
            yield bar.update
        return
    with status(name) as show:
        done = 0

        def say(count: int) -> None:
            nonlocal done
            done += count
            show(f"{done} of {total} {unit}")

        yield say


def _tqdm() -> Any:
    """Return the class of tqdm's bars; None if it is not installed."""
    try:
        from tqdm import tqdm
    except ImportError:
        return None
    return tqdm


@contextlib.contextmanager
def status(name: str) -> Iterator[Callable[[str], None]]:
    """Yield a function that shows a short text after ``name``. Each text replaces the previous one; the last is erased.

    An empty text erases the line, so that a warning can be printed. Without a terminal, a text is printed from time
    to time.
    """
    if not sys.stderr.isatty():
        with _now_and_then(name) as say:
            yield say
        return
    _shown.append(name)

    def write(text: str) -> None:
        print(f"\r\x1b[K{one_line(text)[: width(sys.stderr)]}", end="", file=raw(sys.stderr), flush=True)

    try:
        yield lambda words: write(words and f"{name}: {words}")
    finally:
        _shown.pop()
        write("")


@contextlib.contextmanager
def _now_and_then(name: str) -> Iterator[Callable[[str], None]]:
    """Yield a function for the current step. A thread prints it, because a step can take minutes."""
    began, over = time.monotonic(), threading.Event()
    last, stream = "", sys.stderr

    def say(words: str) -> None:
        nonlocal last
        last = words

    def lines() -> None:
        wait = SILENT
        while not over.wait(wait):
            wait = EVERY
            minutes, seconds = divmod(int(time.monotonic() - began), 60)
            suffix = f": {last}" if last else ""
            with contextlib.suppress(OSError, ValueError):  # the log is full or closed
                print(one_line(f"{name}{suffix} ({minutes}:{seconds:02} so far)"), file=stream, flush=True)

    thread = threading.Thread(target=lines, name="progress", daemon=True)
    thread.start()
    try:
        yield say
    finally:
        over.set()
        thread.join()


def first_use(session: Session) -> None:
    """Run the driver's self-check at the first use of this model on it. A terminal shows the check and its time.

    Raises:
        SelfCheckError: a layer is wrong.
    """
    from glsl_infer.runtime import verdicts

    done = 0
    with checking(sum(len(part.manifest.layers) for part in session.bundle.gpu_parts)) as show:

        def say() -> None:
            nonlocal done
            done += 1
            show(done)

        verdicts.check_once(session, progress=say)


@contextlib.contextmanager
def checking(total: int) -> Iterator[Callable[[int], object]]:
    """Show the check of a model's layers; yield a function to call with the number of checked layers.

    After the last layer, a terminal keeps a line with the time, unless this is a step of a longer command.
    """
    checked, began = 0, time.monotonic()
    with status("first use of this model on this GPU") as show:

        def say(count: int) -> None:
            nonlocal checked
            checked = min(count, total)
            show(f"checked {checked} of {total} layers, once")

        yield say
    if total and checked == total and sys.stderr.isatty() and not _shown:
        seconds = time.monotonic() - began
        print(
            f"First use of this model: checked all {total} layers on this GPU, once: {seconds:.0f} s", file=sys.stderr
        )
