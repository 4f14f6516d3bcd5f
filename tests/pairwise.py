"""Few combinations of the values of several axes, where all of them would take too long and the axes are independent."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

Row = tuple[Any, ...]


def pairwise(*axes: Iterable[Any]) -> list[Row]:
    """Return rows in which every two values of two axes occur together; of two axes that is the full product."""
    values = [list(axis) for axis in axes]
    missing = {
        pair
        for (a, first), (b, second) in itertools.combinations(enumerate(values), 2)
        for pair in itertools.product(((a, index) for index in range(len(first))), ((b, i) for i in range(len(second))))
    }
    rows = []
    while missing:
        rows.append(best := max(itertools.product(*map(range, map(len, values))), key=lambda row: _new(row, missing)))
        missing -= _pairs(best)
    return [tuple(values[axis][index] for axis, index in enumerate(row)) for row in rows]


def each(*axes: Iterable[Any]) -> list[Row]:
    """Return rows in which every value of every axis occurs: as many as the longest axis has.

    The shorter axes begin again, each time one value later, so that axes of lengths with a common factor meet as well.
    """
    values = [list(axis) for axis in axes]
    longest = max(map(len, values))
    return [
        tuple(axis[(index + (index // len(axis) if len(axis) < longest else 0)) % len(axis)] for axis in values)
        for index in range(longest)
    ]


def _pairs(row: tuple[int, ...]) -> set[Any]:
    return set(itertools.combinations(enumerate(row), 2))


def _new(row: tuple[int, ...], missing: set[Any]) -> int:
    return len(_pairs(row) & missing)
