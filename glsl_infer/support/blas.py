"""Limit the number of threads of NumPy's matrix products.

OpenBLAS divides each product among all cores. The products of a network are so small that the threads wait for each
other longer than they compute. One thread takes a fifth of the time on a busy machine, and makes the results
independent of the number of cores.
"""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path

_MAPS = Path("/proc/self/maps")
_AFFIXES = [(first, last) for first in ("scipy_", "") for last in ("64_", "")]
"""Prefixes and suffixes of OpenBLAS' function names: in NumPy's wheels (``scipy_``, ``64_``) and in distributions."""


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Limit matrix products to one thread each in a ``with`` block; no effect without OpenBLAS or outside Linux."""
    controls = _functions()
    before = [count() for count, _ in controls]
    for _, set_count in controls:
        set_count(1)
    try:
        yield
    finally:
        for (_, set_count), threads in zip(controls, before):
            set_count(threads)


@lru_cache(maxsize=1)
def _functions() -> list[tuple[Callable[[], int], Callable[[int], None]]]:
    """Return (get, set) functions of the number of threads, for each OpenBLAS in this process."""
    try:
        lines = _MAPS.read_text("utf-8", errors="replace").splitlines()
    except OSError:
        return []
    paths = {line.split(maxsplit=5)[5] for line in lines if "openblas" in line}
    controls = []
    for path in sorted(paths):
        with contextlib.suppress(OSError):
            library = ctypes.CDLL(path)
            for first, last in _AFFIXES:
                names = [f"{first}openblas_{verb}_num_threads{last}" for verb in ("get", "set")]
                if all(hasattr(library, name) for name in names):
                    controls.append((getattr(library, names[0]), getattr(library, names[1])))
                    break
    return controls
