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


_READ = ("table", "indices")


def _points_shape(attrs: Attrs, weights: Mapping[str, Shape], shapes: Sequence[Shape]) -> Shape:
    table, indices = operands(_READ, weights, shapes)
    batch = attrs["batch"]
    if not 0 <= batch < len(indices) or table[:batch] != indices[:batch] or len(table) < batch + indices[-1]:
        raise ValueError(f"indices of shape {indices} of a tensor of shape {table} with {batch} axes of both")
    return (*indices[:-1], *table[batch + indices[-1] :])


def _points(attrs: Attrs, weights: Weights, inputs: Sequence[Array]) -> Array:
    table, indices = operand_arrays(_READ, weights, inputs)
    batch, depth = attrs["batch"], indices.shape[-1]
    positions, inside = to_indices(indices, np.asarray(table.shape[batch : batch + depth]))
    rows = np.ix_(*map(np.arange, indices.shape[:batch])) if batch else ()
    spread = [row.reshape(row.shape + (1,) * (indices.ndim - 1 - batch)) for row in rows]
    at = (*spread, *np.moveaxis(positions, -1, 0))
    gathered: Array = table[at]
    valid = inside.all(axis=-1)
    return np.where(valid.reshape(valid.shape + (1,) * (gathered.ndim - valid.ndim)), gathered, gathered.dtype.type(0))


def _elements_shape(attrs: Attrs, weights: Mapping[str, Shape], shapes: Sequence[Shape]) -> Shape:
    table, indices = operands(_READ, weights, shapes)
    axis = axis_of(attrs["axis"], len(table))
    if len(table) != len(indices) or any(n > m for k, (n, m) in enumerate(zip(indices, table)) if k != axis):
        raise ValueError(f"indices of shape {indices} along axis {axis} of a tensor of shape {table}")
    return tuple(indices)


def _elements(attrs: Attrs, weights: Weights, inputs: Sequence[Array]) -> Array:
    table, indices = operand_arrays(_READ, weights, inputs)
    axis = axis_of(attrs["axis"], table.ndim)
    positions, inside = to_indices(indices, table.shape[axis])
    region = table[tuple(slice(None) if k == axis else slice(size) for k, size in enumerate(indices.shape))]
    return np.where(inside, np.take_along_axis(region, positions, axis), table.dtype.type(0))


_WRITTEN = ("table", "indices", "updates")


def _scatter_shape(attrs: Attrs, weights: Mapping[str, Shape], shapes: Sequence[Shape]) -> Shape:
    table, indices, updates = operands(_WRITTEN, weights, shapes)
    if attrs["reduction"] not in ("none", "add"):
        raise ValueError(f"reduction '{attrs['reduction']}'; there are: none, add")
    if not indices or len(table) < indices[-1] or updates != (*indices[:-1], *table[indices[-1] :]):
        raise ValueError(f"numbers of shape {updates} at indices of shape {indices} of a tensor of shape {table}")
    return tuple(table)


def _scatter(attrs: Attrs, weights: Weights, inputs: Sequence[Array]) -> Array:
    """Return a copy of a table with values written, or added, at the positions that exist."""
    table, indices, updates = operand_arrays(_WRITTEN, weights, inputs)
    depth = indices.shape[-1]
    positions, inside = to_indices(indices.reshape(-1, depth), np.asarray(table.shape[:depth]))
    valid = inside.all(axis=-1)
    at = tuple(positions[valid].T)
    values = updates.reshape(-1, *table.shape[depth:])[valid]
    result: Array = table.copy()
    if attrs["reduction"] == "add":
        np.add.at(result, at, values)
    else:
        result[at] = values
    return result


def _sum_shape(attrs: Attrs, weights: Mapping[str, Shape], shapes: Sequence[Shape]) -> Shape:
    axis_of(attrs["axis"], len(shapes[0]))
    return first_shape(attrs, weights, shapes)


def _sum(attrs: Attrs, weights: Weights, inputs: Sequence[Array]) -> Array:
    x, axis = inputs[0], axis_of(attrs["axis"], inputs[0].ndim)
    x = np.flip(x, axis) if attrs["reverse"] else x
    sums: Array = np.cumsum(x, axis=axis)
    sums = sums - x if attrs["exclusive"] else sums
    turned: Array = np.flip(sums, axis) if attrs["reverse"] else sums
    return turned


KERNELS: Mapping[str, Kernel] = {
    "gather_points": Kernel(
        "The values at points, whose indices are the last axis of the second input; 0 outside.",
        (1, 2),
        _points_shape,
        _points,
        {"batch": 0},
        _READ,
        range="kept",
    ),
    "gather_elements": Kernel(
        "For each index the value along an axis, with the index's own position on all others; 0 outside.",
        (1, 2),
        _elements_shape,
        _elements,
        {"axis": 0},
        _READ,
        range="kept",
    ),
    "scatter": Kernel(
        "A tensor with updates at indices of its first axes, which replace its values or are added to them.",
        (1, 3),
        _scatter_shape,
        _scatter,
        {"reduction": "none"},
        _WRITTEN,
    ),
    "cumulative_sum": Kernel(
        "Cumulative sums along an axis.",
        (1, 1),
        _sum_shape,
        _sum,
        {"axis": 0, "exclusive": False, "reverse": False},
    ),
}
"""The kernels by operator name."""
