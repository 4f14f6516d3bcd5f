"""What the commands of ``training`` have in common beside ``glsl_infer.cli.execution``: arguments and warnings."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable


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
