"""The lines that fetch texels and add products, and the lowered start of sums with ordered fetches."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from glsl_infer.graph import Node
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


def uniform(at: int, some: str) -> str:
    return f"w[{at}]" if some == "xyzw" else f"w[{at}].{some}"


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
    assert tap_lines(taps, lambda at, some: constant_weights(columns[at], some)) == [
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


def test_draws_with_another_pattern_share_nothing() -> None:
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
