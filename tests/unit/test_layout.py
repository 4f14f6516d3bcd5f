"""Atlas placement: tiles apart, inside, with their gutters, in few GPU tiles."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from glsl_infer.layout import MAX_TEXTURE_SIZE, place_atlas


@given(st.integers(1, 60), st.integers(1, 60), st.integers(1, 200), st.integers(0, 3))
def test_tiles_keep_their_distance(height: int, width: int, channels: int, gutter: int) -> None:
    placed = place_atlas("t", height, width, channels, gutter)
    assert placed is not None
    (texture_width, texture_height), value = placed
    assert len(value.views) == -(-channels // 4)
    used = np.zeros((texture_height + gutter, texture_width + gutter), int)
    for view in value.views:
        assert view.x >= gutter and view.y >= gutter
        assert view.x + width + gutter <= texture_width and view.y + height + gutter <= texture_height
        # A tile with the gutter to its right and below overlaps no other tile with its own.
        used[view.y : view.y + height + gutter, view.x : view.x + width + gutter] += 1
    assert used.max() == 1


def test_what_does_not_fit_is_refused() -> None:
    assert place_atlas("t", MAX_TEXTURE_SIZE + 1, 1, 4, 0) is None
    assert place_atlas("t", 1000, 1000, 4 * 5, 1) is None
    assert place_atlas("t", 1000, 1000, 4 * 4, 1) is not None


def test_x22_layers_lie_in_reasonable_textures() -> None:
    sizes = {}
    for side, channels in ((191, 32), (95, 32), (47, 64), (23, 128), (11, 192), (5, 192), (3, 192)):
        placed = place_atlas("t", side, side, channels, 1)
        assert placed is not None
        (w, h), _ = placed
        sizes[side] = w * h / (side * side * channels / 4)
        assert max(w, h) <= 1024
    assert max(sizes.values()) < 2.0
