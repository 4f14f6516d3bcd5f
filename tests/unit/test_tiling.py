"""Tiles of an image: each output pixel occurs once, from a tile with its receptive field."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from glsl_infer.errors import InputError
from glsl_infer.runtime.pictures import tiling

Run = Callable[[NDArray[np.uint8]], NDArray[np.generic]]


def each(run: Run) -> Callable[[Iterable[NDArray[np.uint8]]], Iterator[NDArray[np.generic]]]:
    """Run tile by tile."""
    return lambda tiles: map(run, tiles)


@st.composite
def axes(draw: st.DrawFn) -> tuple[int, int, int]:
    """Draw a length, a tile size and an overlap."""
    size = draw(st.integers(1, 40))
    return draw(st.integers(1, 150)), size, draw(st.integers(0, (size - 1) // 2))


@given(axes())
def test_every_pixel_comes_once_from_a_tile_that_sees_enough(axis: tuple[int, int, int]) -> None:
    length, size, overlap = axis
    spans = tiling.spans(*axis)
    assert [pixel for span in spans for pixel in range(span.first, span.last)] == list(range(length))
    for span in spans:
        assert 0 <= span.start <= span.first < span.last <= span.start + size
        at_the_beginning, at_the_end = span.first == 0, span.last == length
        assert span.first - span.start >= overlap or (at_the_beginning and span.start == 0)
        assert span.start + size - span.last >= overlap or (at_the_end and span.start + size >= length)
        assert span.start + size <= max(length, size)


@given(axes())
def test_tiles_are_as_few_as_possible(axis: tuple[int, int, int]) -> None:
    length, size, overlap = axis
    spans = tiling.spans(*axis)
    fewer = len(spans) - 1  # the two outer tiles keep size - overlap pixels, the others size - 2 * overlap
    assert fewer == 0 or fewer * size - 2 * overlap * (fewer - 1) < length


def test_spans_by_hand() -> None:
    assert tiling.spans(20, 10, 2) == [tiling.Span(0, 0, 7), tiling.Span(5, 7, 12), tiling.Span(10, 12, 20)]
    assert tiling.spans(10, 10, 4) == [tiling.Span(0, 0, 10)]
    assert tiling.spans(3, 10, 4) == [tiling.Span(0, 0, 3)]


@given(
    st.tuples(st.integers(1, 50), st.integers(1, 50)),
    st.integers(5, 16),
    st.integers(0, 2),
    st.integers(1, 3),
    st.booleans(),
)
def test_nearest_upsampling_gives_the_picture_back(
    shape: tuple[int, int], size: int, overlap: int, factor: int, grey: bool
) -> None:
    picture = noise(*shape)
    places = tiling.tiles(*shape, size, overlap)

    def enlarge(tile: NDArray[np.uint8]) -> NDArray[np.generic]:
        assert tile.shape == (size, size, 3)
        large = np.kron(tile, np.ones((factor, factor, 1), np.uint8))
        return large[..., 0] if grey else large

    expected = np.kron(picture, np.ones((factor, factor, 1), np.uint8))
    result = tiling.through(each(enlarge), picture, size, places)
    assert result.dtype == np.uint8
    np.testing.assert_array_equal(result, expected[..., 0] if grey else expected)


@pytest.mark.slow
@given(st.integers(1, 40), st.integers(1, 40), st.integers(0, 3))
def test_an_overlap_of_the_receptive_field_leaves_no_seams(height: int, width: int, further: int) -> None:
    picture, size = noise(height, width).astype(np.int64), 9
    places = tiling.tiles(max(height, size), max(width, size), size, overlap=2 + min(further, 2))
    picture = np.pad(picture, ((0, max(size - height, 0)), (0, max(size - width, 0)), (0, 0)))
    np.testing.assert_array_equal(tiling.through(each(blur), picture, size, places), blur(picture))


def test_tiles_can_be_requested_ahead() -> None:
    picture = noise(40, 30)
    places = tiling.tiles(40, 30, 9, 2)
    assert len(places) > 10
    np.testing.assert_array_equal(tiling.through(list, picture, 9, places), picture)


def test_a_small_picture_goes_on_with_its_edges() -> None:
    picture = noise(2, 3)
    (tile,) = tiling.tiles(2, 3, 5, 1)
    np.testing.assert_array_equal(
        tiling.cut_out(picture, tile, 5), np.pad(picture, ((0, 3), (0, 2), (0, 0)), mode="edge")
    )


@pytest.mark.parametrize(("size", "overlap"), [(96, -1), (96, 48), (95, 48), (1, 1)])
def test_an_overlap_of_half_a_tile_is_refused(size: int, overlap: int) -> None:
    with pytest.raises(InputError, match=rf"^an overlap of {overlap} pixels; 0 to {(size - 1) // 2} are possible"):
        tiling.spans(10, size, overlap)


def test_the_factor_is_the_output_size_over_the_tile_size() -> None:
    assert tiling.factor_of((96, 96, 12), 96) == 1
    assert tiling.factor_of((192, 192), 96) == 2
    for shape in ((48, 48, 3), (90, 90, 3), (192, 96, 3)):
        with pytest.raises(InputError, match=f"the model makes {shape[1]} x {shape[0]} pixels of 96 x 96"):
            tiling.factor_of(shape, 96)
    with pytest.raises(InputError, match="returns a vector"):
        tiling.factor_of((6,), 96)


def test_a_result_that_does_not_fit_into_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(np, "empty", full)
    with pytest.raises(InputError, match="the result, 7 x 5 pixels, does not fit into memory"):
        tiling.through(each(lambda tile: tile), np.zeros((5, 7, 3), np.uint8), 9, tiling.tiles(5, 7, 9, 0))


def noise(height: int, width: int) -> NDArray[np.uint8]:
    return np.random.default_rng(height * 1000 + width).integers(0, 256, (height, width, 3), np.uint8)


def blur(picture: NDArray[np.generic]) -> NDArray[np.generic]:
    """Sum 5x5 pixels, with zeros around the image."""
    padded = np.pad(picture, ((2, 2), (2, 2), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (5, 5), (0, 1))
    return windows.sum((-2, -1))
