"""Apply elementwise functions to large arrays, a few rows at a time.

A function of several steps allocates an array after each. The arrays of a few rows stay in the processor's cache, and
need little memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from glsl_infer.support.ndarray import NDArray

BLOCK_ELEMENTS = 1 << 16
"""Approximate number of elements in a block of rows."""


def rows(shape: Sequence[int]) -> Iterator[slice]:
    """Divide an array of this shape: yield slices of its first axis, each of about ``BLOCK_ELEMENTS`` elements."""
    entries = 1
    for size in shape[1:]:
        entries *= size
    step = max(1, BLOCK_ELEMENTS // max(entries, 1))
    for first in range(0, shape[0], step):
        yield slice(first, first + step)


def entrywise(
    function: Callable[[NDArray[Any]], NDArray[Any]],
    array: NDArray[Any],
    dtype: Any,
    into: NDArray[Any] | None = None,
) -> NDArray[Any]:
    """Return the result of an elementwise function. A large feature map is processed in blocks of rows.

    Args:
        function: takes an array and returns one of the same shape. It may depend on the size of the last axis. If it
            returns its argument itself, ``entrywise`` returns ``array``.
        array: of any shape. Only arrays with three axes and more than ``BLOCK_ELEMENTS`` elements are divided.
        dtype: type of the result.
        into: array for the result of a large map, by default a new one. It may be ``array`` itself.
    """
    if array.ndim != 3 or array.size <= BLOCK_ELEMENTS:
        return np.asarray(function(array), dtype)
    for block in rows(array.shape):
        values = array[block]
        result = function(values)
        if result is values and array.dtype == dtype:
            return array
        if into is None:
            into = np.empty(array.shape, dtype)
        into[block] = result
    return np.asarray(array if into is None else into)
