"""What the commands of ``training`` have in common: arguments, how they end, what they say on standard error."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

from glsl_infer.errors import GlslInferError


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line, without abbreviations, and with --debug."""

    def __init__(self, **options: Any) -> None:
        super().__init__(allow_abbrev=False, **options)
        self.add_argument("--debug", action="store_true", help="show the traceback of an error")

    def error(self, message: str) -> NoReturn:
        """Print one line and exit with 2."""
        self.exit(2, f"error: {message} (see {self.prog} --help)\n")


def run(work: Callable[[argparse.Namespace], None], args: argparse.Namespace, *, interrupted: str) -> int:
    """Do ``work(args)`` and return the exit code; what goes wrong is one message on standard error.

    Args:
        work: what the command does.
        args: its arguments; with ``args.debug`` an error keeps its traceback.
        interrupted: what to tell a person who stopped it.

    Returns:
        0 it worked, 1 it failed, 2 what was given cannot be used, 130 it was interrupted.
    """
    try:
        work(args)
    except KeyboardInterrupt:
        print(f"interrupted; {interrupted}", file=sys.stderr)
        return 130
    except GlslInferError as error:
        if args.debug:
            raise
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    except OSError as error:  # a full disk, a folder that may not be written
        if args.debug:
            raise
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def warn(message: str, names: Iterable[str] = ()) -> None:
    """Print a warning on standard error, and ``names`` below it, one a line."""
    print("\n  ".join([f"warning: {message}", *names]), file=sys.stderr, flush=True)


def verbosity() -> int:
    """Return Keras' ``verbose``: its progress bar on a terminal, nothing in a log file."""
    return 1 if sys.stdout.isatty() else 0


def positive(text: str) -> int:
    """Return a whole number of at least 1; the ``type`` of an argument."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is no whole number of at least 1")
    return int(text)


def rate(text: str) -> float:
    """Return a number above 0 to 1; the ``type`` of an argument."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0.0 < number <= 1.0:
        raise argparse.ArgumentTypeError(f"{text} is no number above 0 to 1")
    return number
