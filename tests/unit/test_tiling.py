"""Tiles of an image, and receptive fields compared with the pixels that a changed pixel affects."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np
import pytest
from graphs import conv_node, input_node, pool_node
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from glsl_infer.errors import InputError
from glsl_infer.graph import Graph, Node, reference
from glsl_infer.graph.receptive_field import ReceptiveField, receptive_field
from glsl_infer.runtime.pictures import tiling
from glsl_infer.runtime.pictures.tiling import spans

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
    tiles = tiling.tiles(*shape, size, overlap)

    def enlarge(tile: NDArray[np.uint8]) -> NDArray[np.generic]:
        assert tile.shape == (size, size, 3)
        large = np.kron(tile, np.ones((factor, factor, 1), np.uint8))
        return large[..., 0] if grey else large

    expected = np.kron(picture, np.ones((factor, factor, 1), np.uint8))
    result = tiling.through(each(enlarge), picture, size, tiles)
    assert result.dtype == np.uint8
    np.testing.assert_array_equal(result, expected[..., 0] if grey else expected)


@pytest.mark.slow
@given(st.integers(1, 40), st.integers(1, 40), st.integers(0, 3))
def test_an_overlap_of_the_receptive_field_leaves_no_seams(height: int, width: int, further: int) -> None:
    picture, size = noise(height, width).astype(np.int64), 9
    tiles = tiling.tiles(max(height, size), max(width, size), size, overlap=2 + min(further, 2))
    picture = np.pad(picture, ((0, max(size - height, 0)), (0, max(size - width, 0)), (0, 0)))
    np.testing.assert_array_equal(tiling.through(each(blur), picture, size, tiles), blur(picture))


def test_tiles_can_be_requested_ahead() -> None:
    picture = noise(40, 30)
    tiles = tiling.tiles(40, 30, 9, 2)
    assert len(tiles) > 10
    np.testing.assert_array_equal(tiling.through(list, picture, 9, tiles), picture)


def test_a_small_picture_is_padded_with_its_edges() -> None:
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


SIZE = 24
RNG = np.random.default_rng(5)


def conv(name: str, source: str, kernel: int, **more: object) -> Node:
    before = kernel // 2
    padding = (before, kernel - 1 - before) * 2
    return conv_node(RNG, name, (source,), 3, 3, kernel=(kernel, kernel), padding=padding, activation="linear", **more)  # type: ignore[arg-type]


UP, BLOCK = {"size": (2, 2)}, {"block": 2}
POOL = {"pool": (3, 3), "strides": (1, 1), "padding": (1, 1, 1, 1)}
NETWORKS = {
    "a pixel": ([conv("c", "image", 1)], ReceptiveField(0, 1)),
    "two windows": ([conv("a", "image", 5), conv("c", "a", 3)], ReceptiveField(3, 1)),
    "an even window": ([conv("c", "image", 4)], ReceptiveField(2, 1)),
    "a residual": ([conv("a", "image", 3), conv("b", "a", 3), Node("c", "add", ("a", "b"), {})], ReceptiveField(2, 1)),
    "pools": ([Node("a", "max_pool", ("image",), POOL), Node("c", "average_pool", ("a",), POOL)], ReceptiveField(2, 1)),
    "a minimum": ([Node("c", "min_pool", ("image",), POOL)], ReceptiveField(1, 1)),
    "factors and a copy": (
        [Node("a", "rescaling", ("image",), {"scales": (2.0,)}), Node("c", "identity", ("a",))],
        ReceptiveField(0, 1),
    ),
    "padded": (
        [
            Node("a", "mirror_padding", ("image",), {"padding": (2,) * 4}),
            conv_node(RNG, "c", ("a",), 3, 3, kernel=(5, 5)),
        ],
        ReceptiveField(2, 1),
    ),
    "padded with zeros": (
        [
            Node("a", "zero_padding", ("image",), {"padding": (4, 0, 0, 4)}),
            conv_node(RNG, "c", ("a",), 3, 3, kernel=(5, 5), activation="linear"),
        ],
        ReceptiveField(4, 1),
    ),
    "larger": (
        [conv("a", "image", 3), Node("b", "upsample_nearest", ("a",), UP), conv("c", "b", 3)],
        ReceptiveField(2, 1),
    ),
    "smoothly larger": ([Node("c", "upsample_bilinear", ("image",), UP)], ReceptiveField(1, 1)),
    "smaller and larger": (
        [conv("a", "image", 3, strides=(2, 2)), conv("b", "a", 3), Node("c", "upsample_nearest", ("b",), UP)],
        ReceptiveField(4, 2),
    ),
    "a block": (
        [conv_node(RNG, "a", ("image",), 3, 12), Node("c", "depth_to_space", ("a",), BLOCK)],
        ReceptiveField(0, 1),
    ),
}


@pytest.mark.parametrize(("nodes", "expected"), NETWORKS.values(), ids=NETWORKS)
def test_the_field_has_the_outputs_that_a_changed_pixel_affects(nodes: list[Node], expected: ReceptiveField) -> None:
    graph = Graph("around", (input_node(SIZE), *nodes), "c")
    result = receptive_field(graph)
    assert result == expected
    picture = RNG.integers(60, 200, (SIZE, SIZE, 3), np.uint8)
    factor = len(reference.run(graph, picture, mode="float")) // SIZE
    farthest = 0
    for at in range(10, 10 + result.step):
        changed = picture.copy()
        changed[at, at] += 50
        rows, columns, _ = np.nonzero(
            reference.run(graph, changed, mode="float") != reference.run(graph, picture, mode="float")
        )
        distances = [abs(pixel // factor - at) for pixel in (*rows, *columns)]
        farthest = max(farthest, *distances)
    assert farthest <= result.pixels
    assert farthest >= expected.pixels - (result.step > 1), "it looks less far"


def test_layers_that_read_the_entire_image_have_no_field() -> None:
    graph = Graph("mean", (input_node(8), conv_node(RNG, "a", ("image",), 3, 4), pool_node("c", "a")), "c")
    assert receptive_field(graph) is None
    resize = Node("c", "resize", ("image",), {"size": (8, 8)})
    assert receptive_field(Graph("resize", (input_node(8), resize), "c")) is None


def test_tiles_begin_at_multiples_of_a_step() -> None:
    for length in (24, 25, 50, 99):
        result = spans(length, 24, 4, 4)
        assert all(span.start % 4 == 0 for span in result) and result[0].first == 0 and result[-1].last == length
        for span, after in zip(result, result[1:]):
            assert span.last == after.first and after.first - after.start >= 4 and span.start + 24 - span.last >= 4
        assert result[-1].start + 24 >= length
