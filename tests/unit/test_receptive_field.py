"""The receptive field of a network, compared with the pixels that a changed pixel affects."""

from __future__ import annotations

import numpy as np
import pytest
from graphs import conv_node, input_node, pool_node

from glsl_infer.graph import Graph, Node, reference
from glsl_infer.graph.receptive_field import ReceptiveField, receptive_field
from glsl_infer.runtime.pictures.tiling import spans

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
    seen = 0
    for at in range(10, 10 + result.step):
        changed = picture.copy()
        changed[at, at] += 50
        rows, columns, _ = np.nonzero(
            reference.run(graph, changed, mode="float") != reference.run(graph, picture, mode="float")
        )
        distances = [abs(pixel // factor - at) for pixel in (*rows, *columns)]
        seen = max(seen, *distances)
    assert seen <= result.pixels
    assert seen >= expected.pixels - (result.step > 1), "it looks less far"


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
