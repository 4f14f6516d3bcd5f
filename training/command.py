"""Warnings and argument types of the training commands."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable


def warn(message: str, names: Iterable[str] = ()) -> None:
    """Print a warning on standard error, followed by ``names``, one on each line."""
    print("\n  ".join([f"warning: {message}", *names]), file=sys.stderr, flush=True)


def verbosity() -> int:
    """Return Keras' ``verbose``: a progress bar on a terminal, nothing in a log file."""
    return 1 if sys.stdout.isatty() else 0


def positive(text: str) -> int:
    """Parse an integer of at least 1; the ``type`` of an argument."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is no whole number of at least 1")
    return int(text)


def rate(text: str) -> float:
    """Parse a number above 0 and up to 1; the ``type`` of an argument."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.0 < value <= 1.0:
        raise argparse.ArgumentTypeError(f"{text} is no number above 0 to 1")
    return value
