"""The memory planner: tensors alive at the same time never share, and sharing saves memory."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_cases import lifetimes, problems

from glsl_infer.compiler import memory
from glsl_infer.errors import InputError


@given(problems())
def test_values_alive_at_once_never_share_a_texture(problem: tuple[list[int], list[tuple[int, int]]]) -> None:
    sizes, alive = problem
    for method in memory.METHODS:
        plan = memory.plan(sizes, alive, method)
        for later, (first, last) in enumerate(alive):
            for other, (start, end) in enumerate(alive[:later]):
                assert plan.placement[later] != plan.placement[other] or last < start or end < first
        contents = [
            [size for size, index in zip(sizes, plan.placement) if index == k] for k in range(len(plan.objects))
        ]
        assert plan.objects == tuple((max(members),) for members in contents)
        assert plan.total == sum(max(members) for members in contents)
        assert most_alive(sizes, alive) <= plan.total <= sum(sizes)


@given(st.lists(st.tuples(st.integers(1, 40), st.integers(1, 40)), min_size=1, max_size=9), st.data())
def test_a_texture_has_the_largest_width_and_height(sizes: list[tuple[int, int]], data: st.DataObject) -> None:
    alive = data.draw(lifetimes(len(sizes)))
    for method in memory.METHODS:
        plan = memory.plan_textures(sizes, alive, method)
        for index, (width, height) in enumerate(plan.objects):
            contents = [size for size, texture in zip(sizes, plan.placement) if texture == index]
            assert (width, height) == (max(w for w, _ in contents), max(h for _, h in contents))
        assert plan.total == sum(4 * width * height for width, height in plan.objects)
        assert plan.sizes == tuple(sizes)


@given(
    st.lists(st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=1, max_size=3), min_size=1, max_size=9),
    st.integers(1, 5),
    st.data(),
)
def test_every_tensor_has_one_of_its_sizes_in_a_texture_of_limited_size(
    choices: list[list[tuple[int, int]]], most_larger: int, data: st.DataObject
) -> None:
    alive = data.draw(lifetimes(len(choices)))
    for method in memory.METHODS:
        plan = memory.plan_textures(choices, alive, method, most_larger=most_larger)
        for mine, size, texture in zip(choices, plan.sizes, plan.placement):
            width, height = plan.objects[texture]
            assert size in mine
            assert size[0] <= width
            assert size[1] <= height
            shared = plan.placement.count(texture) > 1
            assert not shared or width * height <= most_larger * mine[0][0] * mine[0][1]


@pytest.mark.parametrize("method", memory.METHODS)
def test_an_output_never_shares_a_texture_with_its_inputs(method: str) -> None:
    """One step writes the second tensor and reads the first, so the first is free only in the next step."""
    plan = memory.plan([8, 8, 8], [(0, 1), (1, 2), (2, 3)], method)
    assert plan.placement[0] != plan.placement[1] != plan.placement[2]
    assert plan.total == (24 if method == "naive" else 16)


def test_greedy_plans_grow_objects_and_by_size_plans_do_not() -> None:
    sizes, alive = [2, 4, 3], [(0, 0), (1, 1), (1, 1)]
    assert memory.plan(sizes, alive, "greedy").objects == ((4,), (3,))
    assert memory.plan(sizes, alive, "by-size").objects == ((4,), (3,))
    assert memory.plan([10, 6, 10], [(0, 1), (1, 2), (3, 3)], "greedy").placement == (0, 1, 0)


def test_tiles_are_arranged_for_their_texture() -> None:
    """Two rows of two tiles, or four in a row, to fit the long texture of another layer."""
    square, row, long = (10, 10), (20, 5), (40, 5)
    for method in memory.METHODS:
        plan = memory.plan_textures([[long], [square, row]], [(0, 0), (1, 1)], method)
        assert plan.total == (4 * (200 + 100) if method == "naive" else 4 * 200)
        assert plan.sizes[1] == (square if method == "naive" else row)


@pytest.mark.parametrize(
    "sizes, alive, method, message",
    [
        ([1], [(0, 1)], "best", "'best'; choose one of naive, greedy, by-size"),
        ([1, 2], [(0, 1)], "greedy", "2 sizes and 1 lifetimes"),
        ([1, 0], [(0, 1), (0, 1)], "greedy", "tensor 1: a size of 0; give 1 or more"),
        ([1], [(2, 1)], "greedy", "tensor 0: lives from step 2 to 1"),
    ],
)
def test_invalid_sizes_and_lifetimes_are_refused(
    sizes: list[int], alive: list[tuple[int, int]], method: str, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        memory.plan(sizes, alive, method)


def test_an_empty_problem_needs_no_memory() -> None:
    assert [memory.plan([], [], method).total for method in memory.METHODS] == [0] * len(memory.METHODS)


def most_alive(sizes: list[int], alive: list[tuple[int, int]]) -> int:
    """Return the bytes alive in the largest step, a lower bound of any plan."""
    steps = {step for lifetime in alive for step in lifetime}
    return max(sum(size for size, (first, last) in zip(sizes, alive) if first <= step <= last) for step in steps)
