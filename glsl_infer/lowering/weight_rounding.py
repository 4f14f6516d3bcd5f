"""Round weights jointly to minimise the output error for calibration images.

The weights of a filter are rounded one after another. The remaining weights compensate each rounding error, as far as
they multiply similar texels (E. Frantar et al., GPTQ, 2022; B. Hassibi and D. Stork, Optimal Brain Surgeon, 1993). Then
single weights change by a step if that reduces the error.

The error is weighted by the mean square of the texels, not by their variance, because images in use can be brighter
than the calibration images.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from glsl_infer.lowering import calibration_maps, weight_bytes
from glsl_infer.lowering.calibration_maps import Arrays
from glsl_infer.lowering.conv_columns import Columns
from glsl_infer.lowering.weight_bytes import WeightBytes
from glsl_infer.lowering.weight_texture import Constants

Doubles = NDArray[np.float64]
ColumnFactors = Callable[[Sequence[int]], NDArray[np.float32]]
"""From input slices to the texels that each column multiplies, (columns, positions, 1), or 4 for a depthwise layer."""

DAMPING = 0.01
"""Weight of an error independent of the images, as a share of the mean weight."""

POSITIONS = 2048
"""Number of pixels of calibration images to use."""

SWEEPS = 2
"""Number of passes over all weights after the first rounding."""

ROWS_AT_A_TIME = 64
"""Columns whose errors are compensated in the columns after them by one matrix product."""

AT_A_TIME = 1024
"""Filters of a depthwise layer that are rounded at the same time."""


ResultCache = Callable[[str, Callable[[], Arrays], Callable[[Arrays], bool]], Arrays]
"""``CalibrationMaps.cached`` of a layer."""


def pack(
    constants: Constants, columns: Columns, column_factors: Callable[[], ColumnFactors], cached: ResultCache
) -> WeightBytes:
    """Return a texture of 8-bit weights that are rounded jointly, with biases that compensate the remaining error.

    Args:
        constants: the constants to encode.
        columns: layout of the kernel's columns.
        column_factors: returns the texels that the columns multiply.
        cached: cache for the differences of weights from the nearest integers, and for their effect on outputs.
    """
    rounded_weights: list[NDArray[np.int64]] = []

    def rounding(weights: Doubles, largest: int) -> NDArray[np.int64]:
        nearest = np.clip(np.rint(weights), -largest, largest).astype(np.int64)

        def find() -> Arrays:
            integers = rounded(weights, largest, columns=columns, column_factors=column_factors())
            return calibration_maps.small(integers - nearest), calibration_maps.mark(nearest)

        correction, _ = cached("rounded", find, lambda arrays: _fits(arrays, nearest.shape, nearest))
        rounded_weights.append(nearest + correction)
        return rounded_weights[0]

    def shift_of_rounding(added: Doubles) -> Doubles:
        def find() -> Arrays:
            shift = output_shift(added, columns=columns, column_factors=column_factors())
            return shift.astype(np.float32), calibration_maps.mark(rounded_weights[0])

        arrays = cached("moved", find, lambda arrays: _fits(arrays, (len(added), 4), rounded_weights[0]))[0]
        return arrays.astype(np.float64)

    return weight_bytes.pack(constants, rounding, shift_of_rounding)


def _fits(arrays: Arrays, shape: Sequence[int], integers: NDArray[np.int64]) -> bool:
    """Return whether stored arrays have this shape and belong to these integers."""
    return arrays[0].shape == tuple(shape) and arrays[1].tolist() == calibration_maps.mark(integers).tolist()


def rounded(weights: Doubles, largest: int, *, columns: Columns, column_factors: ColumnFactors) -> NDArray[np.int64]:
    """Round weights, (slices, columns, 4), to integers from -``largest`` to ``largest``; unused weights become 0.

    Args:
        weights: weights in steps of each filter.
        largest: largest integer.
        columns: layout of the kernel's columns.
        column_factors: texels that the columns multiply.
    """
    if columns.depthwise:
        return _rounded_depthwise(weights, largest, columns, column_factors)
    result = np.zeros(weights.shape, np.int64)
    all_used = columns.used
    for reads, slices in _slices_by_reads(columns).items():
        factors = column_factors(reads).astype(np.float64)[:, :, 0]
        result[slices] = _rounded_group(weights[slices], largest, all_used[slices], factors @ factors.T)
    return result


def _slices_by_reads(columns: Columns) -> dict[tuple[int, ...], list[int]]:
    """Return the output slices with the same input slices, by these."""
    slices: dict[tuple[int, ...], list[int]] = {}
    for index in range(columns.slices):
        slices.setdefault(columns.read_by(index), []).append(index)
    return slices


def _rounded_group(weights: Doubles, largest: int, used: NDArray[np.bool_], squares: Doubles) -> NDArray[np.int64]:
    """Round the weights of slices with the same input slices, (slices, columns, 4).

    Args:
        weights: weights in steps of each filter.
        largest: largest integer.
        used: mask of the weights that belong to the kernel, same shape.
        squares: sums of products of the columns' texels, (columns, columns).
    """
    slices, columns, _ = weights.shape
    filter_weights = weights.transpose(1, 0, 2).reshape(columns, -1)
    masks = used.transpose(1, 0, 2).reshape(columns, -1)
    filters_by_mask: dict[bytes, list[int]] = {}
    for index, mask in enumerate(np.ascontiguousarray(masks.T)):
        filters_by_mask.setdefault(mask.tobytes(), []).append(index)
    result = np.zeros(filter_weights.shape, np.int64)
    for filters in map(np.array, filters_by_mask.values()):
        rows = np.flatnonzero(masks[:, filters[0]])
        if len(rows):
            cells = np.ix_(rows, filters)
            result[cells] = _round_filters(squares[np.ix_(rows, rows)], filter_weights[cells], largest)
    return result.reshape(columns, slices, 4).transpose(1, 0, 2)


def _rounded_depthwise(
    weights: Doubles, largest: int, columns: Columns, column_factors: ColumnFactors
) -> NDArray[np.int64]:
    """Round the weights of a depthwise layer; arguments as for ``rounded``."""
    result = np.zeros(weights.shape, np.int64)
    squares: list[Doubles] = []
    positions: list[tuple[int, int]] = []  # slice and lane of each filter
    for reads, slices in _slices_by_reads(columns).items():
        factors = column_factors(reads).astype(np.float64)
        squares += [factors[:, :, lane] @ factors[:, :, lane].T for lane in range(4)]
        positions += [(slices[0], lane) for lane in range(4)]
    for first in range(0, len(squares), AT_A_TIME):
        slices_of, lanes = np.array(positions[first : first + AT_A_TIME]).T
        filters = slices_of, slice(None), lanes
        result[filters] = _round_depthwise(np.stack(squares[first : first + AT_A_TIME]), weights[filters], largest)
    return result


def output_shift(weight_changes: Doubles, *, columns: Columns, column_factors: ColumnFactors) -> Doubles:
    """Return the mean change of outputs, (slices, 4), for changes of weights; other arguments as for ``rounded``."""
    means = {
        reads: column_factors(reads).mean(axis=1, dtype=np.float64)
        for reads in {*map(columns.read_by, range(columns.slices))}
    }
    shift: Doubles = np.stack(
        [(means[columns.read_by(index)] * weight_changes[index]).sum(axis=0) for index in range(columns.slices)]
    )
    return shift


def _round_filters(squares: Doubles, weights: Doubles, largest: int) -> NDArray[np.int64]:
    """Round (columns, filters) to integers.

    Args:
        squares: sums of products of the columns' texels, (columns, columns).
        weights: (columns, filters).
        largest: largest integer.
    """
    count = len(squares)
    diagonal = np.diag(squares)
    if not diagonal.any():
        return np.clip(np.rint(weights), -largest, largest).astype(np.int64)
    order = np.argsort(-diagonal, kind="stable")
    squares = squares[np.ix_(order, order)] + DAMPING * float(diagonal.mean()) * np.eye(count)
    exact = weights[order]
    upper = np.linalg.cholesky(np.linalg.inv(squares)).T
    compensated, integers, errors = exact.copy(), np.empty(exact.shape), np.empty(exact.shape)
    for first in range(0, count, ROWS_AT_A_TIME):
        end = min(first + ROWS_AT_A_TIME, count)
        for row in range(first, end):
            integers[row] = np.clip(np.rint(compensated[row]), -largest, largest)
            errors[row] = (compensated[row] - integers[row]) / upper[row, row]
            compensated[row + 1 : end] -= upper[row, row + 1 : end, None] * errors[row]
        compensated[end:] -= upper[first:end, end:].T @ errors[first:end]
    gradient = squares @ (integers - exact)
    for _ in range(SWEEPS):
        for row in range(count):
            candidate = np.clip(integers[row] - np.rint(gradient[row] / squares[row, row]), -largest, largest)
            changed = np.flatnonzero(candidate != integers[row])  # usually very few
            gradient[:, changed] += squares[:, row, None] * (candidate - integers[row])[changed]
            integers[row] = candidate
    result = np.empty(exact.shape, np.int64)
    result[order] = integers.astype(np.int64)
    return result


def _round_depthwise(squares: Doubles, weights: Doubles, largest: int) -> NDArray[np.int64]:
    """Round filters with different input channels, (filters, columns), as ``_round_filters`` does for each.

    Args:
        squares: sums of products of the columns' texels, (filters, columns, columns).
        weights: (filters, columns).
        largest: largest integer.
    """
    count = weights.shape[1]
    diagonals = np.ascontiguousarray(np.diagonal(squares, axis1=1, axis2=2))
    active = np.flatnonzero(diagonals.any(axis=1))
    result: NDArray[np.int64] = np.clip(np.rint(weights), -largest, largest).astype(np.int64)
    order = np.argsort(-diagonals[active], axis=1, kind="stable")
    damping = DAMPING * diagonals[active].mean(axis=1)
    squares = squares[active[:, None, None], order[:, :, None], order[:, None]] + damping[:, None, None] * np.eye(count)
    exact = weights[active[:, None], order]
    upper = np.linalg.cholesky(np.linalg.inv(squares)).transpose(0, 2, 1)
    compensated, integers = exact.copy(), np.empty(exact.shape)
    for row in range(count):
        integers[:, row] = np.clip(np.rint(compensated[:, row]), -largest, largest)
        error = (compensated[:, row] - integers[:, row]) / upper[:, row, row]
        compensated[:, row + 1 :] -= upper[:, row, row + 1 :] * error[:, None]
    gradient = (squares @ (integers - exact)[:, :, None])[:, :, 0]
    for _ in range(SWEEPS):
        for row in range(count):
            candidate = np.clip(integers[:, row] - np.rint(gradient[:, row] / squares[:, row, row]), -largest, largest)
            gradient += squares[:, :, row] * (candidate - integers[:, row])[:, None]
            integers[:, row] = candidate
    result[active[:, None], order] = integers.astype(np.int64)
    return result
