"""Suppression of TensorFlow's start-up messages on the terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def stderr_silenced() -> Iterator[None]:
    """Discard the process's standard error inside the context.

    TensorFlow's C++ libraries write there before their log levels apply: several lines about oneDNN and missing CUDA
    drivers, which look like errors. Actual errors still raise exceptions.
    """
    try:
        number = sys.stderr.fileno()
    except (AttributeError, OSError, ValueError):  # standard error is not a real file: nothing to silence
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
