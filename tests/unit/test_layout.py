"""Tile placement: without overlap, inside the texture, with gutters, in few GPU tiles."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from glsl_infer.program.layout import MAX_TEXTURE_SIZE, Range, concatenated_range
from glsl_infer.program.placement import place


@given(
    st.integers(1, 60), st.integers(1, 60), st.integers(1, 50), st.integers(0, 3), st.sampled_from(["atlas", "planar"])
)
def test_tiles_keep_their_distance(height: int, width: int, tiles: int, gutter: int, layout: str) -> None:
    placed = place("t", height, width, tiles, gutter, layout)
    assert placed is not None
    assert len(placed.views) == tiles
    assert len(placed.textures) == (tiles if layout == "planar" else 1)
    for name, texture_width, texture_height in placed.textures:
        used = np.zeros((texture_height + gutter, texture_width + gutter), int)
        for view in placed.views:
            if view.texture == name:
                assert view.x >= gutter and view.y >= gutter
                assert view.x + width + gutter <= texture_width and view.y + height + gutter <= texture_height
                # A tile with the gutters to its right and below overlaps no other tile with its gutters.
                used[view.y : view.y + height + gutter, view.x : view.x + width + gutter] += 1
        assert used.max() == 1


def test_maps_larger_than_a_texture_are_spread_evenly() -> None:
    assert place("t", MAX_TEXTURE_SIZE + 1, 1, 1, 0, "atlas") is None
    four = place("t", 1000, 1000, 4, 1, "atlas")
    assert four is not None and [name for name, _, _ in four.textures] == ["t"]
    five = place("t", 1000, 1000, 5, 1, "atlas")
    assert five is not None
    assert [name for name, _, _ in five.textures] == ["t.0", "t.1"]
    assert [view.texture for view in five.views] == ["t.0"] * 3 + ["t.1"] * 2
    assert max(max(width, height) for _, width, height in five.textures) <= MAX_TEXTURE_SIZE


def test_x22_layers_are_in_textures_of_reasonable_size() -> None:
    sizes = {}
    for side, channels in ((191, 32), (95, 32), (47, 64), (23, 128), (11, 192), (5, 192), (3, 192)):
        placed = place("t", side, side, channels // 4, 1, "atlas")
        assert placed is not None
        ((_, w, h),) = placed.textures
        sizes[side] = w * h / (side * side * channels / 4)
        assert max(w, h) <= 1024
    assert max(sizes.values()) < 2.0


def test_ranges_join_channel_by_channel() -> None:
    uniform, per_lane = Range((2.0,), (0.0,)), Range((1.0, 3.0), (7.0,))
    assert concatenated_range([uniform, per_lane], [3, 2]) == Range(
        (2.0, 2.0, 2.0, 1.0, 3.0), (0.0, 0.0, 0.0, 7.0, 7.0)
    )
    assert concatenated_range([uniform, uniform], [4, 5]) == uniform
    assert per_lane.picked([1, 1, 0]) == Range((3.0, 3.0, 1.0), (7.0,))
    low, high = Range((255.0,), (100.0,)).ends(2)
    assert low.tolist() == [-100.0] * 2 and high.tolist() == [155.0] * 2
