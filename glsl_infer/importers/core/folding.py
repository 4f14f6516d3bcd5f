"""Shape arithmetic and constant folding in NumPy, for the importers of all formats.

A format has a table from its operators to functions of a ``Folder``, the operator's inputs and its options. The folder
checks the size of a result before the result is computed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glsl_infer.graph import Shape

Numbers = NDArray[Any]

MISFITS = (
    *(ArithmeticError, AssertionError, AttributeError, IndexError, KeyError, TypeError, ValueError),
    *(MemoryError, RuntimeError),
)
"""Exceptions from operators of damaged files, whose inputs or options do not match."""


class Folder:
    """NumPy operations whose results can be larger than their inputs, with a limit of the results' size.

    All methods raise ValueError if the result is too large.

    Args:
        most: largest number of bytes of a result.
    """

    def __init__(self, most: int) -> None:
        self.most = most

    def shape(self, shape: Sequence[int], itemsize: int) -> Shape:
        """Return a shape after a check of its size."""
        sizes = tuple(int(size) for size in shape)
        if any(size < 0 for size in sizes) or math.prod(sizes) * itemsize > self.most or len(sizes) > 32:
            raise ValueError(f"a shape of {sizes[:16]}, which is too large")
        return sizes

    def elementwise(self, compute: Callable[..., Any], *arrays: Numbers) -> Numbers:
        """Return a function of arrays with NumPy's broadcasting."""
        self.shape(np.broadcast_shapes(*(array.shape for array in arrays)), max(array.itemsize for array in arrays))
        return np.asarray(compute(*arrays))

    def concat(self, arrays: Sequence[Numbers], axis: int) -> Numbers:
        """Return arrays concatenated along an axis."""
        self.shape([sum(array.size for array in arrays)], arrays[0].itemsize)
        return np.concatenate(arrays, axis=axis)

    def stack(self, arrays: Sequence[Numbers], axis: int) -> Numbers:
        """Return arrays along a new axis."""
        return self.concat([np.expand_dims(array, axis) for array in arrays], axis)

    def take(self, x: Numbers, indices: Numbers, axis: int) -> Numbers:
        """Return elements along an axis. Negative indices count from the end."""
        self.shape([x.size // max(x.shape[axis], 1), indices.size], x.itemsize)
        return np.take(x, indices.astype(np.int64), axis=axis)

    def tile(self, x: Numbers, counts: Sequence[int]) -> Numbers:
        """Return an array repeated along each axis."""
        self.shape([size * count for size, count in zip(x.shape, counts)], x.itemsize)
        return np.tile(x, counts)

    def expand(self, x: Numbers, shape: Sequence[int]) -> Numbers:
        """Return an array broadcast to the common shape of its own and ``shape``, as NumPy broadcasts two arrays."""
        return np.broadcast_to(x, self.shape(np.broadcast_shapes(x.shape, tuple(shape)), x.itemsize))

    def full(self, shape: Sequence[int], value: Numbers) -> Numbers:
        """Return an array with one value, the first of ``value``, in its type."""
        return np.full(self.shape(shape, value.itemsize), value.reshape(-1)[0], value.dtype)

    def arange(self, start: Numbers, limit: Numbers, step: Numbers) -> Numbers:
        """Return evenly spaced values."""
        first, last, increment = (value.reshape(-1)[0] for value in (start, limit, step))
        count = max(math.ceil((float(last) - float(first)) / float(increment)), 0)
        self.shape([count], start.itemsize)
        result: Numbers = (first + np.arange(count) * increment).astype(start.dtype)
        return result

    def pad(self, x: Numbers, widths: Sequence[tuple[int, int]], value: Any) -> Numbers:
        """Return an array with ``value`` before and after each axis."""
        shape = self.shape([size + sum(pair) for size, pair in zip(x.shape, widths)], x.itemsize)
        if min(min(pair) for pair in widths) < 0:
            raise ValueError(f"padding by {widths}")
        result: Numbers = np.full(shape, value, x.dtype)
        result[tuple(slice(before, before + size) for size, (before, _) in zip(x.shape, widths))] = x
        return result

    def matmul(self, a: Numbers, b: Numbers) -> Numbers:
        """Return the matrix product of two arrays."""
        self.shape([a.size // max(a.shape[-1], 1), b.shape[-1]], a.itemsize)
        return np.asarray(np.matmul(a, b))


def reshaped(shape: Sequence[int], sizes: Sequence[int], *, zero_keeps: bool = True) -> Shape:
    """Return the shape of a reshape's result: 0 keeps a size, -1 is computed from the others.

    Raises:
        ValueError: the number of elements differs.
    """
    target = [shape[axis] if size == 0 and zero_keeps else int(size) for axis, size in enumerate(sizes)]
    if target.count(-1) == 1:
        others = math.prod(size for size in target if size != -1)
        target[target.index(-1)] = math.prod(shape) // others if others else 0
    if math.prod(target) != math.prod(shape) or any(size < 0 for size in target):
        raise ValueError(f"a shape of {tuple(sizes)} for {tuple(shape)}")
    return tuple(target)


def squeezed(shape: Sequence[int], axes: Sequence[int] | None) -> Shape:
    """Return a shape without the given axes of length 1; without all of them if ``axes`` is None."""
    removed = [axis for axis, size in enumerate(shape) if size == 1] if axes is None else [a % len(shape) for a in axes]
    if any(shape[axis] != 1 for axis in removed):
        raise ValueError(f"axes {axes} of {tuple(shape)} are longer than 1")
    return tuple(size for axis, size in enumerate(shape) if axis not in removed)


def unsqueezed(shape: Sequence[int], axes: Sequence[int]) -> Shape:
    """Return a shape with more axes of length 1."""
    rank = len(shape) + len(axes)
    new = [axis + rank if axis < 0 else axis for axis in axes]
    if len(set(new)) != len(new) or any(not 0 <= axis < rank for axis in new):
        raise ValueError(f"axes {axes} of {rank} axes, {tuple(shape)} and these")
    sizes = iter(shape)
    return tuple(1 if axis in new else next(sizes) for axis in range(rank))


def space_to_depth(x: Numbers, block: int) -> Numbers:
    """Return (batch, height, width, channels) with the pixels of each block as channels, phase by phase."""
    batch, height, width, channels = x.shape
    parts = x.reshape(batch, height // block, block, width // block, block, channels).transpose(0, 1, 3, 2, 4, 5)
    return parts.reshape(batch, height // block, width // block, channels * block * block)


def depth_to_space(x: Numbers, block: int) -> Numbers:
    """Return (batch, height, width, channels) with blocks of pixels from the channels: the inverse."""
    batch, height, width, channels = x.shape
    parts = x.reshape(batch, height, width, block, block, channels // block**2).transpose(0, 1, 3, 2, 4, 5)
    return parts.reshape(batch, height * block, width * block, channels // block**2)
