"""The taps of a convolution as a loop: the same positions in the same order, or no loop."""

from __future__ import annotations

import re

import pytest

from glsl_infer.lowering import rolled
from glsl_infer.lowering.bindings import Binding, Read
from glsl_infer.lowering.conv_columns import columns_of
from glsl_infer.program import Texture
from glsl_infer.program.layout import View

TEXTURES = {"a": Texture("a", 40, 40, "target"), "b": Texture("b", 40, 20, "target")}


def binding(slots: int, textures: str = "a") -> Binding:
    return Binding("conv", TEXTURES, source=[Read(View(textures[k % len(textures)], k, 0)) for k in range(slots)])


def fetched(loop: rolled.Loop) -> list[tuple[int, int, int]]:
    """Return the (slot, row, column) that each turn fetches, by the loop's lines."""
    results, slot, row, column = [], 0, 0, 0
    for turn in range(loop.turns):
        results.append((slot, row, column))
        for line in loop.after:
            condition = re.match(r"if \((.*)\) (.*)", line)
            if condition is None:
                assert line == "at.x += source_texel.x;"
                column += 1
            elif turn in [int(one) for one in re.findall(r"turn == (\d+)", condition[1])]:
                there = re.fullmatch(r"at = (coord\d\.\w\w);", condition[2])
                down = re.fullmatch(r"at = vec2\((coord\d\.\w), at\.y \+ source_texel\.y\);", condition[2])
                if there is not None:
                    slot, row, column = slot + 1, 0, 0
                    assert there[1] == places(slot)
                else:
                    assert down is not None and down[1] == places(slot)[:-1]
                    row, column = row + 1, 0
    return results


def places(slot: int) -> str:
    return f"coord{slot // 2}.{'zw' if slot % 2 else 'xy'}"


@pytest.mark.parametrize(
    "height, width, channels", [(1, 1, 32), (3, 3, 4), (3, 3, 16), (1, 4, 8), (5, 1, 8), (7, 5, 12)]
)
def test_every_tap_in_order(height: int, width: int, channels: int) -> None:
    columns = columns_of((height, width, channels, 4), 1)
    loop = rolled.loop(columns, binding(columns.slots))
    assert loop is not None
    assert len(loop.tap.products) == 4
    assert fetched(loop) == [(slot, ky, kx) for slot, ky, kx, _ in columns.taps(range(columns.slots))]


def test_a_loop_ends_by_what_no_compiler_knows() -> None:
    columns = columns_of((3, 3, 4, 4), 1)
    loop = rolled.loop(columns, binding(1))
    assert loop is not None
    lines = loop.lines(lambda tap: [f"fetch({tap.x}, {tap.y});"], "ended")
    assert lines == [
        "vec2 at = coord0.xy;",
        "for (int turn = 0; turn < 1024; turn++) {",
        "    if (ended) break;",
        "    fetch(at.x, at.y);",
        "    at.x += source_texel.x;",
        "    if (turn == 2 || turn == 5) at = vec2(coord0.x, at.y + source_texel.y);",
        "}",
    ]


@pytest.mark.parametrize(
    "kernel, textures, why",
    [
        ((1, 1, 4, 4), "a", "one tap"),
        ((3, 3, 8, 4), "ab", "two samplers"),
        ((3, 3, 6, 4), "a", "slices of another number of channels"),
        ((32, 32, 4, 4), "a", "as many turns as ints may end at"),
    ],
)
def test_where_there_is_none(kernel: tuple[int, int, int, int], textures: str, why: str) -> None:
    columns = columns_of(kernel, 1)
    assert rolled.loop(columns, binding(columns.slots, textures)) is None, why
