"""Large arrays a few rows at a time.

What is computed entry by entry, in several steps, leaves a new array after each. Of a few rows these stay in a
processor's cache, and need no memory of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

AT_A_TIME = 1 << 16
"""Entries."""


def rows(shape: Sequence[int]) -> Iterator[slice]:
    """Yield slices of the first axis that together are all of it, of about ``AT_A_TIME`` entries each."""
    entries = 1
    for size in shape[1:]:
        entries *= size
    step = max(1, AT_A_TIME // max(entries, 1))
    for first in range(0, shape[0], step):
        yield slice(first, first + step)
