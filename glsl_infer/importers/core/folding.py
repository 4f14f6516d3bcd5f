"""Shape arithmetic and constant folding in NumPy, for the importers of all formats.

Each format maps its operators to functions of a ``Folder``, the operator's inputs and its options. The folder checks
the size of a result before the result is computed.
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

MAX_AXES = 32
"""Largest number of axes of a constant: the limit of NumPy 1."""


MAX_INTEGERS = 2**14
"""Largest number of sizes, axes or lengths in an operand: the largest number of outputs of an operator."""


def integer_list(x: Numbers) -> list[int]:
    """Return a constant as Python's integers, which take more memory than the array.

    Raises:
        ValueError: there are more than ``MAX_INTEGERS``.
    """
    if x.size > MAX_INTEGERS:
        raise ValueError(f"{x.size} sizes or axes, which is too large")
    return [int(number) for number in x.reshape(-1)]


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
        if len(shape) > MAX_AXES:
            raise ValueError(f"a shape of {len(shape)} axes; the largest number is {MAX_AXES}")
        sizes = tuple(int(size) for size in shape)
        if any(size < 0 for size in sizes):
            raise ValueError(f"a shape of {sizes}, with a negative size")
        if math.prod(sizes) * itemsize > self.most:
            raise ValueError(f"a shape of {sizes}, which is too large: more than {self.most} bytes")
        return sizes

    def elementwise(self, compute: Callable[..., Any], *arrays: Numbers) -> Numbers:
        """Apply an elementwise function, with NumPy's broadcasting."""
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
        """Return an array repeated along each axis. The shorter of its shape and ``counts`` begins with ones."""
        rank = max(x.ndim, len(counts))
        sizes = (*(1,) * (rank - x.ndim), *x.shape)
        repeats = (*(1,) * (rank - len(counts)), *counts)
        shape = self.shape([size * count for size, count in zip(sizes, repeats)], x.itemsize)
        if 0 in shape:  # np.tile would repeat the axes before the one that becomes empty
            return np.zeros(shape, x.dtype)
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

    def gather_points(self, x: Numbers, indices: Numbers) -> Numbers:
        """Return the parts of an array at the indices in the last axis of ``indices``, as GatherND does."""
        self.shape(points_shape(x.shape, indices.shape), x.itemsize)
        result: Numbers = x[tuple(np.moveaxis(indices.astype(np.int64), -1, 0))]
        return result

    def matmul(self, a: Numbers, b: Numbers) -> Numbers:
        """Return the matrix product of two arrays. The axes before the last two are broadcast."""
        batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
        columns = b.shape[-1:] if b.ndim > 1 else ()
        self.shape((*batch, *a.shape[-2:-1], *columns), max(a.itemsize, b.itemsize))
        return np.asarray(np.matmul(a, b))


def points_shape(shape: Sequence[int], indices: Sequence[int]) -> Shape:
    """Return the shape of the parts of a tensor that GatherND reads and ScatterND writes.

    Args:
        shape: of the tensor.
        indices: the shape of the indices; each row along the last axis is an index of the tensor's first axes.
    """
    return (*indices[:-1], *shape[indices[-1] :])


def reshaped(shape: Sequence[int], sizes: Sequence[int], *, zero_keeps: bool = True) -> Shape:
    """Return the shape of a reshape's result: 0 keeps a size, -1 is computed from the others.

    Raises:
        ValueError: the number of elements differs, or there are too many axes.
    """
    if len(sizes) > MAX_AXES:
        raise ValueError(f"a shape of {len(sizes)} axes; the largest number is {MAX_AXES}")
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
    if rank > MAX_AXES or len(set(new)) != len(new) or any(not 0 <= axis < rank for axis in new):
        raise ValueError(f"axes {list(axes[:MAX_AXES])} of {rank} axes, {tuple(shape)} and these")
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
