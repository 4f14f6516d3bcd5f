"""Combinations that replace full products: every value of each axis occurs."""

from __future__ import annotations

import itertools

import pytest
from pairwise import each, each_of, pairs_of, pairwise

AXES = [[1, 2, 3, 4, 5], ["a", "b", "c", "d"], [(1, 1), (2, 1), (2, 3)]]


def test_every_pair_occurs() -> None:
    rows = pairwise(*AXES)
    for a, b in itertools.combinations(range(3), 2):
        assert {(row[a], row[b]) for row in rows} == set(itertools.product(AXES[a], AXES[b]))
    assert 20 <= len(rows) <= 24
    assert len(pairwise([1, 2, 3], "ab")) == 6


@pytest.mark.parametrize("axes", [AXES, [[1, 2, 3, 4], "ab", "xy"], [[1], "ab"]])
def test_every_value_occurs(axes: list[list[object]]) -> None:
    rows = each(*axes)
    assert len(rows) == max(map(len, axes))
    assert all({row[index] for row in rows} == set(axis) for index, axis in enumerate(axes))


@pairs_of(("case", {"one": [1], "two": [2]}), ("first, second", [(1, 1), (2, 4)]), ("other", "ab"))
def test_marks_give_each_name_its_value(case: list[int], first: int, second: int, other: str) -> None:
    assert case in ([1], [2]) and second == first**2 and other in "ab"


def test_names_of_rows() -> None:
    (mark,) = (each_of(("case", {"one": [1], "two": [2]}), ("first, second", [(1, 1), (2, 4)])).mark,)
    assert [(row.id, row.values) for row in mark.args[1]] == [("one-1-1", ([1], 1, 1)), ("two-2-4", ([2], 2, 4))]
