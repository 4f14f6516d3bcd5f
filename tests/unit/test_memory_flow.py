"""The minimum-cost flow of a paper's memory planner: its cost is the minimum over all assignments."""

from __future__ import annotations

from collections.abc import Iterator

import minimum_cost_flow
from hypothesis import given
from memory_cases import problems

Lifetimes = list[tuple[int, int]]


@given(problems(most=6))
def test_the_cost_is_the_minimum_over_all_assignments(problem: tuple[list[int], Lifetimes]) -> None:
    sizes, alive = problem
    plan, cost = minimum_cost_flow.plan(sizes, alive)
    assert cost == min(costs(sizes, alive))
    assert plan.total <= cost


def test_the_cost_is_not_always_the_memory() -> None:
    """10, 5, 10 in sequence cost 15 as two objects, and as one that grows back from 5, whose memory is only 10."""
    plan, cost = minimum_cost_flow.plan([10, 5, 10], [(0, 1), (2, 3), (4, 5)])
    assert cost == 15
    assert plan.total in (10, 15)


def test_equal_tensors_are_planned_together_and_each_has_its_own() -> None:
    """Forty slices of a layer are reused by forty slices of the layer after the next."""
    sizes = [7] * 40 + [9] * 40 + [7] * 40
    alive = [(0, 1)] * 40 + [(1, 2)] * 40 + [(2, 3)] * 40
    plan, _ = minimum_cost_flow.plan(sizes, alive)
    assert plan.total == 40 * (7 + 9)
    for part in (plan.placement[:40], plan.placement[40:80], plan.placement[80:]):
        assert len(set(part)) == 40
    assert set(plan.placement[:40]) == set(plan.placement[80:])


def costs(sizes: list[int], alive: Lifetimes) -> Iterator[int]:
    """Yield the cost of each assignment: a new object for a tensor, or an earlier one that is still free."""

    def ways(index: int, givers: frozenset[int]) -> Iterator[int]:
        if index == len(sizes):
            yield 0
            return
        for remaining in ways(index + 1, givers):
            yield sizes[index] + remaining
        for giver, (_, last) in enumerate(alive):
            if giver not in givers and last < alive[index][0]:
                for remaining in ways(index + 1, givers | {giver}):
                    yield max(sizes[index] - sizes[giver], 0) + remaining

    yield from ways(0, frozenset())
