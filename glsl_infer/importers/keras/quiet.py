"""Keeps TensorFlow's start-up messages off the terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def stderr_silenced() -> Iterator[None]:
    """Send the process's standard error nowhere meanwhile.

    TensorFlow's C++ libraries write there before any of their log levels applies: several lines about oneDNN and
    missing CUDA drivers, which a person takes for errors. What goes wrong comes as an exception all the same.
    """
    try:
        number = sys.stderr.fileno()
    except (AttributeError, OSError, ValueError):  # no real file behind it: nothing to silence
        yield
        return
    sys.stderr.flush()
    saved = os.dup(number)
    try:
        with Path(os.devnull).open("w") as nowhere:
            os.dup2(nowhere.fileno(), number)
        yield
    finally:
        sys.stderr.flush()
        os.dup2(saved, number)
        os.close(saved)
