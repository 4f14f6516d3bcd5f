"""Samples of the combinations of several independent axes, for tests where all combinations take too long.

    @pairs_of(("weights", MODES), ("bits", [8, 16]), ("kernel, stride", [(1, 1), (3, 2)]))    # every pair of values
    @each_of(("case", CASES), ("layout", LAYOUTS))                                            # every value

Both replace stacked ``pytest.mark.parametrize``. The values of an axis can be a dictionary of values by name.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from typing import Any

import pytest

Row = tuple[Any, ...]
Axis = tuple[str, Iterable[Any]]
"""Parameter names, separated by commas, and their values, which are tuples if there are several names."""


def pairwise(*axes: Iterable[Any]) -> list[Row]:
    """Return rows in which every two values of two axes occur together; for two axes this is the full product."""
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
    """Return rows in which every value of every axis occurs, as many as the longest axis has.

    The shorter axes repeat, each time shifted by one value, so that axes of lengths with a common factor are combined
    too.
    """
    values = [list(axis) for axis in axes]
    longest = max(map(len, values))
    return [
        tuple(axis[(index + (index // len(axis) if len(axis) < longest else 0)) % len(axis)] for axis in values)
        for index in range(longest)
    ]


def pairs_of(*axes: Axis) -> pytest.MarkDecorator:
    """Parametrise a test with the rows of ``pairwise``."""
    return _parametrized(axes, pairwise(*(range(len(list(values))) for _, values in axes)))


def each_of(*axes: Axis) -> pytest.MarkDecorator:
    """Parametrise a test with the rows of ``each``."""
    return _parametrized(axes, each(*(range(len(list(values))) for _, values in axes)))


def _parametrized(axes: Iterable[Axis], rows: Iterable[Row]) -> pytest.MarkDecorator:
    axes = list(axes)
    named = [_named(names, values) for names, values in axes]
    parameters = []
    for row in rows:
        chosen = [values[index] for values, index in zip(named, row)]
        arguments = [
            argument
            for (names, _), (_, value) in zip(axes, chosen)
            for argument in (value if "," in names else [value])
        ]
        parameters.append(pytest.param(*arguments, id="-".join(label for label, _ in chosen)))
    return pytest.mark.parametrize(", ".join(names for names, _ in axes), parameters)


def _named(names: str, values: Iterable[Any]) -> list[tuple[str, Any]]:
    if isinstance(values, Mapping):
        return list(values.items())
    return [(_label(names, index, value), value) for index, value in enumerate(values)]


def _label(names: str, index: int, value: Any) -> str:
    if isinstance(value, tuple) and "," in names:
        return "-".join(_label(name.strip(), index, argument) for name, argument in zip(names.split(","), value))
    if value is None or isinstance(value, (str, int, float, bool)):
        return str(value)
    return getattr(value, "__name__", f"{names}{index}")


def _pairs(row: tuple[int, ...]) -> set[Any]:
    return set(itertools.combinations(enumerate(row), 2))


def _new(row: tuple[int, ...], missing: set[Any]) -> int:
    return len(_pairs(row) & missing)
