"""Clears without effect: of jobs that draw over the last job's region, or over the entire target."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from glsl_infer.program import Pass, Quad, Texture
from glsl_infer.runtime.frame import needless_clears

TEXTURES = {name: Texture(name, 6, 4, "target", clear=(9, 9, 9, 9)) for name in "ab"}
Rectangle = tuple[int, int, int, int]
Job = tuple[str, list[list[Rectangle]]]


def passes_of(jobs: list[Job]) -> list[Pass]:
    """Return the passes of jobs, each given as a target and the rectangles of its draws."""
    return [
        Pass(
            f"layer{number}",
            "program",
            target,
            index == 0,
            (),
            (),
            tuple(Quad(*rectangle, ()) for rectangle in draw),
            {},
        )
        for number, (target, draws) in enumerate(jobs)
        for index, draw in enumerate(draws)
    ]


def needless(jobs: list[Job]) -> list[bool]:
    passes = passes_of(jobs)
    result = needless_clears(passes, TEXTURES)
    return [id(draw) in result for draw in passes if draw.clear]


LEFT, RIGHT, MIDDLE = (0, 0, 3, 4), (3, 0, 3, 4), (1, 1, 4, 2)


@pytest.mark.parametrize(
    "jobs, expected",
    [
        ([("a", [[MIDDLE]]), ("a", [[MIDDLE]])], [False, True]),
        ([("a", [[MIDDLE]]), ("b", [[MIDDLE]]), ("a", [[MIDDLE]])], [False, False, True]),
        ([("a", [[MIDDLE]]), ("a", [[LEFT]]), ("a", [[MIDDLE]])], [False, False, False]),
        ([("a", [[LEFT, RIGHT]])], [True]),
        ([("a", [[LEFT], [RIGHT]])], [True]),
        ([("a", [[LEFT], [MIDDLE]]), ("a", [[MIDDLE, LEFT]])], [False, True]),
        ([("a", [[LEFT], [LEFT]])], [False]),
        ([("a", [[LEFT], [(0, 0, 4, 3)]])], [False]),  # as many texels as the target has, some of them twice
    ],
)
def test_clears_without_effect_by_the_jobs_drawn_before(jobs: list[Job], expected: list[bool]) -> None:
    assert needless(jobs) == expected


RECTANGLES = st.sampled_from([LEFT, RIGHT, MIDDLE, (0, 0, 6, 4), (0, 0, 6, 2), (0, 2, 6, 2)])
JOBS = st.lists(
    st.tuples(st.sampled_from("ab"), st.lists(st.lists(RECTANGLES, min_size=1, max_size=2), min_size=1, max_size=3)),
    min_size=1,
    max_size=12,
)


@given(JOBS)
def test_every_job_ends_with_the_same_texels(jobs: list[Job]) -> None:
    passes = passes_of(jobs)
    spared = needless_clears(passes, TEXTURES)
    ends = []
    for skip in (frozenset[int](), spared):
        texels = {name: np.full((4, 6), 77) for name in TEXTURES}  # the target's earlier content
        ends.append([])
        for index, draw in enumerate(passes):
            if draw.clear and id(draw) not in skip:
                texels[draw.target][:] = 0
            for quad in draw.quads:
                texels[draw.target][quad.y : quad.y + quad.height, quad.x : quad.x + quad.width] = 100 + index
            if index + 1 == len(passes) or passes[index + 1].clear:
                ends[-1].append(texels[draw.target].tolist())
    assert ends[0] == ends[1]
