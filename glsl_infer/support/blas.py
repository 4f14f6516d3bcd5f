"""How many threads NumPy's matrix products take.

OpenBLAS shares every product between all cores. The products of a network are small, and its threads wait for each
other longer than they compute. With one thread they take a fifth of the time where cores are busy, and the numbers do
not depend on how many cores a machine has.
"""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path

_MAPS = Path("/proc/self/maps")
_AFFIXES = [(first, last) for first in ("scipy_", "") for last in ("64_", "")]
"""Of the names of OpenBLAS' functions, in the library that comes with NumPy and in those of distributions."""


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Give matrix products one thread each; without OpenBLAS, or without Linux, nothing changes."""
    known = _functions()
    before = [count() for count, _ in known]
    for _, set_count in known:
        set_count(1)
    try:
        yield
    finally:
        for (_, set_count), threads in zip(known, before):
            set_count(threads)


@lru_cache(maxsize=1)
def _functions() -> list[tuple[Callable[[], int], Callable[[int], None]]]:
    """Return the functions that tell and set the number of threads, of each OpenBLAS in this process."""
    try:
        lines = _MAPS.read_text("utf-8", errors="replace").splitlines()
    except OSError:
        return []
    paths = {line.split(maxsplit=5)[5] for line in lines if "openblas" in line}
    known = []
    for path in sorted(paths):
        with contextlib.suppress(OSError):
            library = ctypes.CDLL(path)
            for first, last in _AFFIXES:
                names = [f"{first}openblas_{verb}_num_threads{last}" for verb in ("get", "set")]
                if all(hasattr(library, name) for name in names):
                    known.append((getattr(library, names[0]), getattr(library, names[1])))
                    break
    return known
