"""The lines that fetch texels and add products: rolled, removed outside the map, or with ordered fetches."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from graphs import conv_node, input_node
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from glsl_infer.compiler.lower import gutters
from glsl_infer.compiler.optimize import leave_out_idle_taps
from glsl_infer.errors import ModelError
from glsl_infer.graph import Graph, Node, reference
from glsl_infer.lowering import rolled
from glsl_infer.lowering.bindings import Binding, Read
from glsl_infer.lowering.conv_columns import columns_of
from glsl_infer.lowering.conv_draws import Fetching, draws
from glsl_infer.lowering.taps import (
    MARGIN,
    MOST_FETCH_OFFSET,
    Coordinates,
    Product,
    Tap,
    constant_weights,
    fetch_offsets,
    tap_lines,
)
from glsl_infer.program import Texture
from glsl_infer.program.layout import View

TEXTURES = {"a": Texture("a", 40, 40, "target"), "b": Texture("b", 40, 20, "target")}


def uniform(at: int, components: str) -> str:
    return f"w[{at}]" if components == "xyzw" else f"w[{at}].{components}"


def tap(first: int, lanes: str) -> Tap:
    return Tap("source", "c.x", "c.y", [Product(first + index, lane) for index, lane in enumerate(lanes)])


def test_some_products_follow_the_next_fetch() -> None:
    assert tap_lines([tap(0, "xyzw"), tap(4, "xy")], uniform) == [
        "t = texture2D(source, vec2(c.x, c.y));",
        "sum += w[0] * t.x;",
        "sum.xyw += w[1].xyw * t.y;",
        "sum += w[2] * t.z;",
        "sum.xyw += w[3].xyw * t.w;",
        "s = texture2D(source, vec2(c.x, WAIT(c.y)));",
        "sum.z += w[1].z * t.y;",
        "sum.z += w[3].z * t.w;",
        "sum += w[4] * s.x;",
        "sum += w[5] * s.y;",
    ]


@pytest.mark.parametrize("lanes", ["x", "xy", "xyz", "xyzw"])
def test_every_product_is_added_once(lanes: str) -> None:
    lines = tap_lines([tap(10 * index, lanes) for index in range(3)], uniform)
    added = [
        (line.split("*")[0].split("[")[1].split("]")[0], component)
        for line in lines
        if line.startswith("sum")
        for component in (line.split(" ")[0].partition(".")[2] or "xyzw")
    ]
    expected = [
        (f"{10 * index + k}", component) for index in range(3) for k in range(len(lanes)) for component in "xyzw"
    ]
    assert sorted(added) == sorted(expected)


def test_a_component_s_own_lane_and_a_factor_of_1() -> None:
    own = Tap("source", "c.x", "c.y", [Product(7, "")])
    residual = Tap("residual", "d.x", "d.y", [Product(None, "")])
    assert tap_lines([own, residual], uniform) == [
        "t = texture2D(source, vec2(c.x, c.y));",
        "sum += w[7] * t;",
        "s = texture2D(residual, vec2(d.x, WAIT(d.y)));",
        "sum += s;",
    ]


def test_zeros_need_neither_product_nor_fetch() -> None:
    columns = np.array([[0, 0, 0, 0], [0, 0, 0, 0], [1, 2, 0, 4], [5, 0, 7, 0]], np.float32)
    taps = [Tap("source", "c.x", "c.y", [Product(2 * k, "x"), Product(2 * k + 1, "y")]) for k in range(2)]
    assert tap_lines(taps, lambda at, components: constant_weights(columns[at], components)) == [
        "t = texture2D(source, vec2(c.x, c.y));",
        "sum += vec4(1.0, 2.0, 0.0, 4.0) * t.x;",
        "sum += vec4(5.0, 0.0, 7.0, 0.0) * t.y;",
    ]
    assert constant_weights(columns[2], "z") is None
    assert constant_weights(columns[2], "w") == "4.0"


def bound(*places: tuple[str, int, int]) -> Binding:
    return Binding("layer", TEXTURES, source=[Read(View(name, x, y), (0, 0), (2.0, 2.0)) for name, x, y in places])


def test_tiles_in_one_row_or_column_share_a_coordinate() -> None:
    binding = bound(("a", 0, 0), ("a", 9, 0), ("a", 0, 9))
    result = Coordinates([binding], "source", (2, 3))
    assert result.lines(binding) == [
        "float y0_1 = coord0.y + source_texel.y;",
        "float y2_1 = coord1.y + source_texel.y;",
        "float x0_1 = coord0.x + source_texel.x;",
        "float x0_2 = x0_1 + source_texel.x;",
        "float x1_1 = coord0.z + source_texel.x;",
        "float x1_2 = x1_1 + source_texel.x;",
    ]
    assert [(t.x, t.y) for t in (result.tap(binding, k, 1, 2, []) for k in range(3))] == [
        ("x0_2", "y0_1"),
        ("x1_2", "y0_1"),
        ("x0_2", "y2_1"),
    ]
    assert result.tap(binding, 1, 0, 0, []) == Tap("source", "coord0.z", "coord0.y", [])


def test_draws_with_another_pattern_have_own_coordinates() -> None:
    bindings = [bound(("a", 0, 0), ("a", 9, 0)), bound(("a", 0, 0), ("a", 9, 9))]
    for binding in bindings:
        assert Coordinates(bindings, "source").tap(binding, 1, 0, 0, []).y == "coord0.w"


def test_the_same_place_in_textures_of_other_heights_is_another_coordinate() -> None:
    binding = bound(("a", 3, 4), ("b", 3, 4))
    assert binding.first_with_same_coordinate("source", "x") == (0, 0)
    assert binding.first_with_same_coordinate("source", "y") == (0, 1)


@given(st.integers(0, 2**32 - 1), st.booleans())
def test_a_late_sum_is_negative_all_the_time(seed: int, plain_residual: bool) -> None:
    rng = np.random.default_rng(seed)
    constants = rng.normal(0.0, 0.7, (3, 17, 4)).astype(np.float32)
    late = fetch_offsets(constants, plain_residual=plain_residual)
    assert late is not None
    assert (late > 0.0).all()
    texels = rng.choice([0.0, 1.0, 0.3], (3, 16))
    texels[0] = constants[0, :16, 3] > 0.0  # the texels with the largest sum
    terms = np.concatenate([constants[:, 16:, 3] - late[:, None], constants[:, :16, 3] * texels], axis=1)
    if plain_residual:
        terms = np.concatenate([terms, np.ones((3, 1))], axis=1)
    assert np.cumsum(terms, axis=1).max() <= -MARGIN + 1e-5


def test_sums_that_would_have_to_start_far_below_do_not() -> None:
    constants = np.zeros((1, 2, 4), np.float32)
    constants[0, 0, 3] = MOST_FETCH_OFFSET - 1.5
    (late,) = fetch_offsets(constants, plain_residual=False)
    assert late == pytest.approx(MOST_FETCH_OFFSET - 1.5 + MARGIN, rel=1e-6)
    assert fetch_offsets(constants + np.float32(2.0), plain_residual=True) is None
    constants[0, 1, 3] = -1000.0
    (late,) = fetch_offsets(constants, plain_residual=False)
    assert late == pytest.approx(MARGIN, rel=1e-6)


class TwoTextures:
    """The methods of a builder that draws by tiles use, for the textures above."""

    def bind(self, node: Node, **roles: Sequence[Read]) -> Binding:
        return Binding(node.name, TEXTURES, **roles)

    def gate(self, node: Node) -> None:
        return None

    def texel(self, texture: str) -> tuple[float, float]:
        return 1.0 / TEXTURES[texture].width, 1.0 / TEXTURES[texture].height


@pytest.mark.parametrize(
    ("kernel", "across", "in_order", "begins"),
    [
        (1, 8, False, 16),  # each column of tiles computes its coordinate
        (1, 6, False, 0),  # few enough columns to share all coordinates
        (1, 8, True, 48),  # each tile computes its own
        (3, 8, False, 48),
    ],
)
def test_taps_of_tiles_in_two_textures(kernel: int, across: int, in_order: bool, begins: int) -> None:
    tiles = [(texture, 4 * x, 4 * y) for y in range(3) for x in range(across) for texture in "ab"]
    columns = columns_of((kernel, kernel, 4 * len(tiles), 4), 1)
    reads = [{"source": [Read(View(*tile)) for tile in tiles]}]
    (draw,) = draws(Node("conv", "conv2d"), TwoTextures(), columns, reads, fetching=Fetching(in_order=in_order))  # type: ignore[arg-type]
    fetched, left = [], ""
    for tap in draw.taps:
        left = tap.left or left
        index = int(tap.sampler[-1])
        texture = TEXTURES["ab"[index]]
        (start, _, x), (_, _, y) = (axis.partition(" + ") for axis in (tap.x, tap.y))
        assert {"left": left}.get(start, start) == draw.binding.axis("source", "x", index)
        position = round(float(x or 0.0) * texture.width), round(float(y or 0.0) * texture.height)
        fetched.append((texture.name, *position, tap.products[0].column))
    expected = [
        (name, x + kx, y + ky, products[0].column)
        for slot, ky, kx, products in columns.taps(range(columns.slots))
        for name, x, y in [tiles[slot]]
    ]
    assert draw.by_tiles and (fetched == expected if in_order else sorted(fetched) == sorted(expected))
    assert sum(bool(tap.left) for tap in draw.taps) == begins


Padding = tuple[int, int, int, int]


def convolution(size: int, kernel: int, dilations: tuple[int, int], padding: Padding, stride: int = 1) -> Graph:
    """Return a network of one convolution."""
    rng = np.random.default_rng(0)
    node = conv_node(
        rng,
        "n",
        ("image",),
        3,
        2,
        kernel=(kernel, kernel),
        strides=(stride, stride),
        padding=padding,
        dilations=dilations,
        activation="linear",
    )
    return Graph("apart", (input_node(size), node), "n")


@given(
    size=st.integers(1, 7),
    kernel=st.integers(1, 4),
    dilation=st.integers(1, 9),
    padding=st.tuples(*[st.integers(0, 12)] * 4),
    stride=st.integers(1, 3),
)
@settings(max_examples=150)
def test_the_output_stays(size: int, kernel: int, dilation: int, padding: Padding, stride: int) -> None:
    dilations = (dilation, 1 + dilation // 2)
    padded = [size + sum(padding[:2]), size + sum(padding[2:])]
    assume(all(long >= (kernel - 1) * step + 1 for long, step in zip(padded, dilations)))
    graph = convolution(size, kernel, dilations, padding, stride)
    shape = graph.shapes["n"]
    reduced = leave_out_idle_taps(graph)
    picture = np.random.default_rng(size).integers(0, 256, (size, size, 3), np.uint8)
    assert reduced.shapes["n"] == shape
    expected, actual = (reference.run(candidate, picture, mode="float") for candidate in (graph, reduced))
    np.testing.assert_allclose(actual, expected, atol=1e-6)


@pytest.mark.parametrize(
    "size, dilation, left, gutter", [(16, 18, 1, 0), (33, 18, 3, 18), (18, 18, 1, 0), (19, 18, 3, 18)]
)
def test_same_padding_keeps_taps_inside_the_map(size: int, dilation: int, left: int, gutter: int) -> None:
    graph = leave_out_idle_taps(convolution(size, 3, (dilation, dilation), (dilation,) * 4))
    assert graph.by_name["n"].weights["kernel"].shape[:2] == (left, left)
    assert gutters(graph)["image"] == gutter


@pytest.mark.parametrize("attrs", [{"dilations": (0, 1)}, {"strides": (1, 0)}, {"padding": (0, -1, 0, 0)}])
def test_invalid_attributes_are_refused(attrs: dict[str, tuple[int, ...]]) -> None:
    graph = convolution(9, 3, (1, 1), (0, 0, 0, 0))
    with pytest.raises(ModelError, match="layer 'n'"):
        graph.rebuilt([graph.by_name["image"], graph.by_name["n"].with_attrs(**attrs)]).shapes  # noqa: B018


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
