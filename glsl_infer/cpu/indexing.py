"""CPU operators for reads and writes at integer indices, and for cumulative sums.

``KERNELS`` describes each operator. A function ``_NAME_shape`` returns the shape of its result, or raises ValueError.
``_NAME`` computes the result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from glsl_infer.cpu.kernel import Attrs, Kernel, Weights, axis_of, first_shape, operand_arrays, operands
from glsl_infer.graph.node import Array, Shape
from glsl_infer.support.ndarray import NDArray

Indices = NDArray[np.int64]


def to_indices(numbers: Array, length: Any) -> tuple[Indices, NDArray[np.bool_]]:
    """Return values as indices of an axis, and a mask of the valid ones; invalid indices are 0.

    Args:
        numbers: values of any shape, rounded to integers; negative ones count from the end.
        length: length of the axis, or of several axes along the last one of ``numbers``.
    """
    with np.errstate(invalid="ignore"):
        positions = np.nan_to_num(np.rint(numbers)).clip(-(2.0**40), 2.0**40).astype(np.int64)
    positions = np.where(positions < 0, positions + length, positions)
    inside: NDArray[np.bool_] = (positions >= 0) & (positions < length)
    return np.where(inside, positions, 0), inside


_GATHER_INPUTS = ("table", "indices")


def _gather_points_shape(attrs: Attrs, weights: Mapping[str, Shape], shapes: Sequence[Shape]) -> Shape:
    table, indices = operands(_GATHER_INPUTS, weights, shapes)
    batch = attrs["batch"]
    if not 0 <= batch < len(indices) or table[:batch] != indices[:batch] or len(table) < batch + indices[-1]:
        raise ValueError(f"indices of shape {indices} of a tensor of shape {table} with {batch} batch axes")
    return (*indices[:-1], *table[batch + indices[-1] :])


def _gather_points(attrs: Attrs, weights: Weights, inputs: Sequence[Array]) -> Array:
    """Return the values at points. The first ``batch`` axes of table and indices correspond."""
    table, indices = operand_arrays(_GATHER_INPUTS, weights, inputs)
    batch, depth = attrs["batch"], indices.shape[-1]
    positions, inside = to_indices(indices, np.asarray(table.shape[batch : batch + depth]))
    batch_grid = np.ix_(*map(np.arange, indices.shape[:batch])) if batch else ()
    # indices of the batch axes, with axes of length 1 for the other axes of the points
    batch_indices = [row.reshape(row.shape + (1,) * (indices.ndim - 1 - batch)) for row in batch_grid]
    gathered: Array = table[(*batch_indices, *np.moveaxis(positions, -1, 0))]
    valid = inside.all(axis=-1)
    return np.where(valid.reshape(valid.shape + (1,) * (gathered.ndim - valid.ndim)), gathered, gathered.dtype.type(0))


def _gather_elements_shape(attrs: Attrs, weights: Mapping[str, Shape], shapes: Sequence[Shape]) -> Shape:
    table, indices = operands(_GATHER_INPUTS, weights, shapes)
    axis = axis_of(attrs["axis"], len(table))
    if len(table) != len(indices) or any(
        size > limit for other, (size, limit) in enumerate(zip(indices, table)) if other != axis
    ):
        raise ValueError(f"indices of shape {indices} along axis {axis} of a tensor of shape {table}")
    return tuple(indices)


def _gather_elements(attrs: Attrs, weights: Weights, inputs: Sequence[Array]) -> Array:
    """Return the value at each index of an axis. The position on the other axes is the index's own."""
    table, indices = operand_arrays(_GATHER_INPUTS, weights, inputs)
    axis = axis_of(attrs["axis"], table.ndim)
    positions, inside = to_indices(indices, table.shape[axis])
    region = table[tuple(slice(None) if other == axis else slice(size) for other, size in enumerate(indices.shape))]
    return np.where(inside, np.take_along_axis(region, positions, axis), table.dtype.type(0))


_SCATTER_INPUTS = ("table", "indices", "updates")


def _scatter_shape(attrs: Attrs, weights: Mapping[str, Shape], shapes: Sequence[Shape]) -> Shape:
    table, indices, updates = operands(_SCATTER_INPUTS, weights, shapes)
    if attrs["reduction"] not in ("none", "add"):
        raise ValueError(f"reduction '{attrs['reduction']}'; there are: none, add")
    if not indices or len(table) < indices[-1] or updates != (*indices[:-1], *table[indices[-1] :]):
        raise ValueError(f"updates of shape {updates} at indices of shape {indices} of a tensor of shape {table}")
    return tuple(table)


def _scatter(attrs: Attrs, weights: Weights, inputs: Sequence[Array]) -> Array:
    """Return a copy of a table with values written, or added, at the positions that exist."""
    table, indices, updates = operand_arrays(_SCATTER_INPUTS, weights, inputs)
    depth = indices.shape[-1]
    positions, inside = to_indices(indices.reshape(-1, depth), np.asarray(table.shape[:depth]))
    valid = inside.all(axis=-1)
    index = tuple(positions[valid].T)
    values = updates.reshape(-1, *table.shape[depth:])[valid]
    result: Array = table.copy()
    if attrs["reduction"] == "add":
        np.add.at(result, index, values)
    else:
        result[index] = values
    return result


def _cumulative_sum_shape(attrs: Attrs, weights: Mapping[str, Shape], shapes: Sequence[Shape]) -> Shape:
    axis_of(attrs["axis"], len(shapes[0]))
    return first_shape(attrs, weights, shapes)


def _cumulative_sum(attrs: Attrs, weights: Weights, inputs: Sequence[Array]) -> Array:
    x, axis = inputs[0], axis_of(attrs["axis"], inputs[0].ndim)
    x = np.flip(x, axis) if attrs["reverse"] else x
    sums: Array = np.cumsum(x, axis=axis)
    sums = sums - x if attrs["exclusive"] else sums
    result: Array = np.flip(sums, axis) if attrs["reverse"] else sums
    return result


KERNELS: Mapping[str, Kernel] = {
    "gather_points": Kernel(
        "The values at points, whose indices are the last axis of the second input; 0 outside.",
        (1, 2),
        _gather_points_shape,
        _gather_points,
        {"batch": 0},
        _GATHER_INPUTS,
        range="kept",
    ),
    "gather_elements": Kernel(
        "For each index the value along an axis, with the index's own position on all others; 0 outside.",
        (1, 2),
        _gather_elements_shape,
        _gather_elements,
        {"axis": 0},
        _GATHER_INPUTS,
        range="kept",
    ),
    "scatter": Kernel(
        "A tensor with updates at indices of its first axes, which replace its values or are added to them.",
        (1, 3),
        _scatter_shape,
        _scatter,
        {"reduction": "none"},
        _SCATTER_INPUTS,
    ),
    "cumulative_sum": Kernel(
        "Cumulative sums along an axis.",
        (1, 1),
        _cumulative_sum_shape,
        _cumulative_sum,
        {"axis": 0, "exclusive": False, "reverse": False},
    ),
}
"""The kernels by operator name."""
