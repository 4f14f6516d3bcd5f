"""Combinations that replace full products: nothing of the axes is left out."""

from __future__ import annotations

import itertools

import pytest
from pairwise import each, pairwise

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
