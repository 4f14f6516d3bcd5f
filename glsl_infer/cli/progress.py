"""Progress, where standard error is a terminal, else nothing: tqdm's bars if it is installed, and a status line."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

from glsl_infer.cli.terminal_text import raw
from glsl_infer.support.plain_text import one_line

if TYPE_CHECKING:
    from glsl_infer.runtime.session import Session

Item = TypeVar("Item")


def bar(items: Sequence[Item], what: str) -> Iterable[Item]:
    """Return ``items``, showing how many are done while they are used."""
    if len(items) < 2 or not sys.stderr.isatty():
        return items
    try:
        from tqdm import tqdm
    except ImportError:
        return items
    shown: Iterable[Item] = tqdm(items, desc=what, leave=False, file=raw(sys.stderr))
    return shown


@contextlib.contextmanager
def counter(total: int, what: str) -> Iterator[Callable[[int], object]]:
    """Yield a function that is told how many more of ``total`` are done."""
    with contextlib.ExitStack() as stack:
        tell: Callable[[int], object] = lambda count: None  # noqa: E731
        if sys.stderr.isatty():
            with contextlib.suppress(ImportError):
                from tqdm import tqdm

                tell = stack.enter_context(tqdm(total=total, desc=what, leave=False, file=raw(sys.stderr))).update
        yield tell


@contextlib.contextmanager
def status(name: str) -> Iterator[Callable[[str], None]]:
    """Yield a function that shows a few words after ``name``, in place of those before; in the end they are gone."""
    terminal = sys.stderr.isatty()

    def write(text: str) -> None:
        if terminal:
            print(f"\r\x1b[K{one_line(text)}", end="", file=raw(sys.stderr), flush=True)

    try:
        yield lambda words: write(f"{name}: {words}")
    finally:
        write("")


def first_use(session: Session) -> None:
    """Check the driver where this model is used on it for the first time, saying so meanwhile.

    Raises:
        SelfCheckError: a layer comes out wrong.
    """
    from glsl_infer.runtime import first_use as verdicts

    with status("first use of this model on this driver") as tell:
        tell("checking every layer, once")
        verdicts.check(session)
