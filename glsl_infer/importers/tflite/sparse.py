"""Conversion of sparse weights to dense arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from glsl_infer.errors import ModelError
from glsl_infer.importers.tflite.model import Level, Sparsity, Tensor


def dense(tensor: Tensor, sparsity: Sparsity, values: NDArray[Any]) -> NDArray[Any]:
    """Return a sparse tensor as a dense array, as DENSIFY does.

    The file lists the nonzero indices level by level. So the number of positions grows with each level, and finally
    equals the number of values.

    Args:
        tensor: the sparse tensor.
        sparsity: the positions of its values.
        values: the values, in the order of the levels.

    Raises:
        ModelError: positions and values do not match the tensor's shape.
    """
    rank, blocks = len(tensor.shape), len(sparsity.block_axes)
    problem = ModelError(f"'{tensor.name}': sparse weights that do not fit a shape of {tensor.shape}")
    if not rank or sorted(sparsity.order) != list(range(rank + blocks)) or len(sparsity.levels) != rank + blocks:
        raise problem
    if any(not 0 <= axis < rank for axis in sparsity.block_axes):
        raise problem
    outer, inner = list(tensor.shape), [0] * blocks
    for axis, level in zip(sparsity.order, sparsity.levels):
        if axis >= rank:
            inner[axis - rank] = level.size
    for block, axis in zip(inner, sparsity.block_axes):
        if block < 1 or outer[axis] % block:
            raise problem
        outer[axis] //= block
    sizes = [*outer, *inner]
    places: list[NDArray[np.int64]] = []
    count = 1
    for axis, level in zip(sparsity.order, sparsity.levels):
        parents, own = _children(level, sizes[axis], count, values.size, problem)
        places = [place[parents] for place in places] + [own]
        count = len(own)
    if count > values.size:
        raise problem
    where = dict(zip(sparsity.order, places))
    blocked = dict(zip(sparsity.block_axes, range(blocks)))
    index = tuple(
        where[axis] * inner[blocked[axis]] + where[rank + blocked[axis]] if axis in blocked else where[axis]
        for axis in range(rank)
    )
    filled = np.zeros(tensor.shape, values.dtype)
    filled[index] = values[:count]
    return filled


def _children(
    level: Level, size: int, parents: int, most: int, problem: ModelError
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return, for every entry of a level, its parent entry and its own index. There are at most ``most`` entries."""
    if level.segments is None or level.indices is None:
        if level.size != size or parents * size > most:
            raise problem
        return np.repeat(np.arange(parents), size), np.tile(np.arange(size), parents)
    counts = np.diff(level.segments)
    fits = len(counts) == parents and (counts >= 0).all() and counts.sum() == len(level.indices) <= most
    if not fits or (len(level.indices) and not 0 <= level.indices.min() <= level.indices.max() < size):
        raise problem
    return np.repeat(np.arange(parents), counts), level.indices
