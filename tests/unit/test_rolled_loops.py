"""The taps of a convolution as a loop: the same positions in the same order, or no loop."""

from __future__ import annotations

import re
from typing import Any

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
            elif turn in [int(digits) for digits in re.findall(r"turn == (\d+)", condition[1])]:
                match = re.fullmatch(r"at = (coord\d\.\w\w);", condition[2])
                down = re.fullmatch(r"at = vec2\((coord\d\.\w), at\.y \+ source_texel\.y\);", condition[2])
                if match is not None:
                    slot, row, column = slot + 1, 0, 0
                    assert match[1] == places(slot)
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


def test_a_loop_ends_by_a_uniform_that_no_compiler_can_unroll() -> None:
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
def test_kernels_without_a_loop(kernel: tuple[int, int, int, int], textures: str, why: str) -> None:
    columns = columns_of(kernel, 1)
    assert rolled.loop(columns, binding(columns.slots, textures)) is None, why


PYTHON = {
    r"^(vec2|float) ": "",
    r"if \(([^)]*)\) ": r"if \1: ",
    r"\|\|": "or",
    r"coord0\.xy": "[0.0, 0.0]",
    r"coord0\.x": "0.0",
    r"vec2\(([^)]*)\)": r"[\1]",
    r"\.x": "[0]",
    r"\.y": "[1]",
    r"= tile;": "= tile[:];",
}
"""Replacements that turn a line of a loop by tiles into Python."""


def fetched_by_tiles(loop: rolled.Loop) -> list[tuple[float, float]]:
    """Return the coordinates (x, y) that the turns fetch, relative to the first tile, by running the loop's lines."""

    def run(line: str) -> None:
        for glsl, python in PYTHON.items():
            line = re.sub(glsl, python, line)
        exec(line, values)

    values: dict[str, Any] = {}
    for line in loop.before.split("; "):
        run(line)
    results = []
    for turn in range(loop.turns):
        values["turn"] = turn
        results.append((values["at"][0], values["at"][1]))
        for line in loop.after:
            run(line)
    return results


@pytest.mark.parametrize("kernel", [(1, 1), (1, 3), (3, 1), (3, 2)])
@pytest.mark.parametrize(
    ("tiles", "is_grid"),
    [
        ([(0, 0), (9, 0), (18, 0)], True),
        ([(0, 0), (9, 0), (0, 9), (9, 9), (0, 18)], True),
        ([(0, 0), (-9, 9), (0, 9), (-9, 18), (0, 18)], True),  # the first tile is in the middle of its row
        ([(0, 0), (0, 9), (0, 18)], True),
        ([(0, 0), (9, 0), (17, 0)], False),
        ([(0, 0), (0, 9), (0, 19)], False),
        ([(0, 0), (0, 9), (9, 18)], False),
    ],
)
def test_every_tap_of_a_grid_of_tiles(kernel: tuple[int, int], tiles: list[tuple[int, int]], is_grid: bool) -> None:
    columns = columns_of((*kernel, 4 * len(tiles), 4), 1, (2, 3))
    size = 1.0 / 64.0
    loop = rolled.loop_by_tiles(columns, range(columns.slots), tiles, binding(1), (size, size))
    assert (loop is not None) == is_grid
    if loop is not None:
        taps = columns.taps(range(columns.slots))
        expected = [(tiles[slot][0] + 3 * kx, tiles[slot][1] + 2 * ky) for slot, ky, kx, _ in taps]
        assert [(x / size, y / size) for x, y in fetched_by_tiles(loop)] == expected
