"""Large arrays a few rows at a time.

What is computed entry by entry, in several steps, leaves a new array after each. Of a few rows these stay in a
processor's cache, and need no memory of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from glsl_infer.support.ndarray import NDArray

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


def entrywise(
    function: Callable[[NDArray[Any]], NDArray[Any]],
    array: NDArray[Any],
    dtype: Any,
    into: NDArray[Any] | None = None,
) -> NDArray[Any]:
    """Return what a function makes of every entry of an array by itself, a few rows at a time of a large map.

    Args:
        function: of an array; it may know the last axis, and returns an array of the same shape. Where it returns what
            it was given, so does this.
        array: of any shape.
        dtype: of the result.
        into: where the result of a large map goes, by default new memory; it may be the array itself.
    """
    if array.ndim != 3 or array.size <= AT_A_TIME:
        return np.asarray(function(array), dtype)
    for part in rows(array.shape):
        given = array[part]
        found = function(given)
        if found is given and array.dtype == dtype:
            return array
        if into is None:
            into = np.empty(array.shape, dtype)
        into[part] = found
    return np.asarray(array if into is None else into)
