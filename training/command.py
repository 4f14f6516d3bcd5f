"""Warnings and argument types of the training commands."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable

STRICT = "Stop at an image that cannot be read, instead of leaving it out."
"""Help of the option ``--strict``."""


def warn(message: str, names: Iterable[str] = ()) -> None:
    """Print a warning on standard error, followed by ``names``, one on each line."""
    print("\n  ".join([f"warning: {message}", *names]), file=sys.stderr, flush=True)


def verbosity() -> int:
    """Return Keras' ``verbose``: a progress bar on a terminal, nothing in a log file."""
    return 1 if sys.stdout.isatty() else 0


def positive(text: str) -> int:
    """Parse an integer of at least 1; the ``type`` of an argument."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a whole number of at least 1")
    return int(text)


def rate(text: str) -> float:
    """Parse a number above 0 and up to 1; the ``type`` of an argument."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.0 < value <= 1.0:
        raise argparse.ArgumentTypeError(f"{text}; give a number above 0, at most 1")
    return value


def value_range(text: str) -> tuple[float, float]:
    """Parse LOW,HIGH; the ``type`` of an argument."""
    try:
        low, high = (float(bound) for bound in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text}; give LOW,HIGH, such as -1,1") from None
    return low, high
