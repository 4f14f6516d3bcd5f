"""Weights rounded to integers together, so that what typical pictures make of them moves least.

The weights of a filter are rounded one after another; what each is off by is made up for by those that are left, as
far as they meet similar texels (E. Frantar et al., GPTQ, 2022; B. Hassibi and D. Stork, Optimal Brain Surgeon, 1993).
Then single weights move by a step where that takes error away.

What filters meet counts by its mean square, not around its mean: pictures may be brighter than those that were seen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from glsl_infer.lowering import findings, weight_bytes
from glsl_infer.lowering.conv_columns import Columns
from glsl_infer.lowering.findings import Arrays
from glsl_infer.lowering.weight_bytes import WeightBytes
from glsl_infer.lowering.weight_texture import Constants

Numbers = NDArray[np.float64]
Met = Callable[[Sequence[int]], NDArray[np.float32]]
"""Slices that are read -> what each column meets, (columns, positions, 1), or 4 in a depthwise layer."""

DAMPING = 0.01
"""What a weight counts for itself, whatever pictures show: this share of the mean of all."""

POSITIONS = 2048
"""Pixels of typical pictures that are looked at."""

SWEEPS = 2
"""How often all weights are looked at again."""

AT_A_TIME = 1024
"""Filters of a depthwise layer that are rounded side by side."""


Known = Callable[[str, Callable[[], Arrays], Callable[[Arrays], bool]], Arrays]
"""``Typical.known`` of a layer."""


def pack(constants: Constants, columns: Columns, met: Callable[[], Met], known: Known) -> WeightBytes:
    """Return the texture of 8 bits whose weights are rounded together, with biases that make up for the rest.

    Args:
        constants: the numbers.
        columns: how the kernel's columns follow one another.
        met: returns what they meet.
        known: keeps how far each weight is from the nearest integer, and what all of that moves outputs by.
    """
    chosen: list[NDArray[np.int64]] = []

    def rounding(numbers: Numbers, most: int) -> NDArray[np.int64]:
        nearest = np.clip(np.rint(numbers), -most, most).astype(np.int64)

        def find() -> Arrays:
            whole = rounded(numbers, most, columns=columns, met=met())
            return findings.small(whole - nearest), findings.mark(nearest)

        off, _ = known("rounded", find, lambda found: _fits(found, nearest.shape, nearest))
        chosen.append(nearest + off)
        return chosen[0]

    def moving(added: Numbers) -> Numbers:
        def find() -> Arrays:
            return moved(added, columns=columns, met=met()).astype(np.float32), findings.mark(chosen[0])

        found = known("moved", find, lambda found: _fits(found, (len(added), 4), chosen[0]))[0]
        return found.astype(np.float64)

    return weight_bytes.pack(constants, rounding, moving)


def _fits(found: Arrays, shape: Sequence[int], numbers: NDArray[np.int64]) -> bool:
    """Return whether what was found before has a shape, and was found for these integers."""
    return found[0].shape == tuple(shape) and found[1].tolist() == findings.mark(numbers).tolist()


def rounded(numbers: Numbers, most: int, *, columns: Columns, met: Met) -> NDArray[np.int64]:
    """Return weights in steps, (slices, columns, 4), as integers from -``most`` to ``most``; those of no use are 0.

    Args:
        numbers: the weights, in steps of each filter.
        most: the largest integer.
        columns: how the kernel's columns follow one another.
        met: what they meet.
    """
    found = np.zeros(numbers.shape, np.int64)
    lanes: list[Numbers] = []
    places: list[tuple[int, int]] = []
    for reads in dict.fromkeys(map(columns.read_by, range(columns.slices))):
        slices = [index for index in range(columns.slices) if columns.read_by(index) == reads]
        factors = met(reads).astype(np.float64)
        if columns.depthwise:
            lanes += [factors[:, :, lane] @ factors[:, :, lane].T for lane in range(4)]
            places += [(slices[0], lane) for lane in range(4)]
            continue
        squares = factors[:, :, 0] @ factors[:, :, 0].T
        used = columns.used[slices].transpose(1, 0, 2).reshape(columns.count, -1)
        given = numbers[slices].transpose(1, 0, 2).reshape(columns.count, -1)
        made = np.zeros(given.shape, np.int64)
        alike: dict[bytes, list[int]] = {}
        for index, mark in enumerate(np.ascontiguousarray(used.T)):
            alike.setdefault(mark.tobytes(), []).append(index)
        for filters in map(np.array, alike.values()):
            rows = np.flatnonzero(used[:, filters[0]])
            if len(rows):
                made[np.ix_(rows, filters)] = _together(squares[np.ix_(rows, rows)], given[np.ix_(rows, filters)], most)
        found[slices] = made.reshape(columns.count, len(slices), 4).transpose(1, 0, 2)
    for first in range(0, len(lanes), AT_A_TIME):
        squares = np.stack(lanes[first : first + AT_A_TIME])
        at = np.array(places[first : first + AT_A_TIME])
        found[at[:, 0], :, at[:, 1]] = _each(squares, numbers[at[:, 0], :, at[:, 1]], most)
    return found


def moved(added: Numbers, *, columns: Columns, met: Met) -> Numbers:
    """Return what weights add to outputs in the mean, (slices, 4); arguments as above."""
    means = {
        reads: met(reads).mean(axis=1, dtype=np.float64) for reads in {*map(columns.read_by, range(columns.slices))}
    }
    found: Numbers = np.stack(
        [(means[columns.read_by(index)] * added[index]).sum(axis=0) for index in range(columns.slices)]
    )
    return found


def _together(squares: Numbers, numbers: Numbers, most: int) -> NDArray[np.int64]:
    """Return (columns, filters) as integers.

    Args:
        squares: of what columns meet, each with each, summed, (columns, columns).
        numbers: (columns, filters).
        most: the largest integer.
    """
    count = len(squares)
    diagonal = np.diag(squares)
    if not diagonal.any():
        return np.clip(np.rint(numbers), -most, most).astype(np.int64)
    order = np.argsort(-diagonal, kind="stable")
    squares = squares[np.ix_(order, order)] + DAMPING * float(diagonal.mean()) * np.eye(count)
    wanted = numbers[order]
    upper = np.linalg.cholesky(np.linalg.inv(squares)).T
    left, whole = wanted.copy(), np.empty(wanted.shape)
    for row in range(count):
        whole[row] = np.clip(np.rint(left[row]), -most, most)
        off = (left[row] - whole[row]) / upper[row, row]
        left[row + 1 :] -= upper[row, row + 1 :, None] * off
    pull = squares @ (whole - wanted)
    for _ in range(SWEEPS):
        for row in range(count):
            better = np.clip(whole[row] - np.rint(pull[row] / squares[row, row]), -most, most)
            moving = np.flatnonzero(better != whole[row])  # hardly any
            pull[:, moving] += squares[:, row, None] * (better - whole[row])[moving]
            whole[row] = better
    found = np.empty(wanted.shape, np.int64)
    found[order] = whole.astype(np.int64)
    return found


def _each(squares: Numbers, numbers: Numbers, most: int) -> NDArray[np.int64]:
    """Return filters of which each meets something else, (filters, columns), as integers: ``_together`` of each.

    Args:
        squares: of what columns meet, (filters, columns, columns).
        numbers: (filters, columns).
        most: the largest integer.
    """
    count = numbers.shape[1]
    diagonals = np.ascontiguousarray(np.diagonal(squares, axis1=1, axis2=2))
    met = np.flatnonzero(diagonals.any(axis=1))
    found: NDArray[np.int64] = np.clip(np.rint(numbers), -most, most).astype(np.int64)
    order = np.argsort(-diagonals[met], axis=1, kind="stable")
    damping = DAMPING * diagonals[met].mean(axis=1)
    squares = squares[met[:, None, None], order[:, :, None], order[:, None]] + damping[:, None, None] * np.eye(count)
    wanted = numbers[met[:, None], order]
    upper = np.linalg.cholesky(np.linalg.inv(squares)).transpose(0, 2, 1)
    left, whole = wanted.copy(), np.empty(wanted.shape)
    for row in range(count):
        whole[:, row] = np.clip(np.rint(left[:, row]), -most, most)
        off = (left[:, row] - whole[:, row]) / upper[:, row, row]
        left[:, row + 1 :] -= upper[:, row, row + 1 :] * off[:, None]
    pull = (squares @ (whole - wanted)[:, :, None])[:, :, 0]
    for _ in range(SWEEPS):
        for row in range(count):
            better = np.clip(whole[:, row] - np.rint(pull[:, row] / squares[:, row, row]), -most, most)
            pull += squares[:, :, row] * (better - whole[:, row])[:, None]
            whole[:, row] = better
    found[met[:, None], order] = whole.astype(np.int64)
    return found
