"""Rows and columns as weighted sums: the reference against matrices, and the GPU against the reference."""

from __future__ import annotations

import numpy as np
import pytest
from graphs import input_node
from layer_check import TOLERANCE, layer_error, make_bundle
from pairwise import each_of

from glsl_infer.errors import ModelError
from glsl_infer.gl.context import Context
from glsl_infer.graph import Graph, Node, reference
from glsl_infer.ops.resample import rounded
from glsl_infer.runtime.session import Session

pytestmark = pytest.mark.drivers("all")

SIZE, CHANNELS = 12, 6


def node(axis: int, taps: int, length: int, seed: int = 1, source: str = "wide") -> Node:
    rng = np.random.default_rng(seed)
    attrs, weights = rounded(rng.normal(0.0, 1.0 / taps, (taps, length)), rng.normal(0.0, 0.3, length))
    first = tuple(int(position) for position in rng.integers(0, SIZE - taps + 1, length))
    return Node("sums", "resample", (source,), {"axis": axis, "first": first, **attrs}, weights)


def error(context: Context, graph: Graph, x: np.ndarray, layout: str = "atlas") -> float:
    """Return the GPU's error against the exact sums, in steps; the ranges are those of the input itself."""
    image = np.rint(255.0 * x).astype(np.uint8) if graph.input.attrs.get("fit", "") is not None else x
    with Session(make_bundle(graph, layout=layout, pictures=[image]), context=context) as session:
        return layer_error(session, "sums", [x])


def graph(*nodes: Node) -> Graph:
    picture = Node(
        "wide", "input", (), {"shape": (SIZE, SIZE, CHANNELS), "fit": None, "scales": (3.0,), "zeros": (100.0,)}
    )
    return Graph("sums", [picture, *nodes], nodes[-1].name)


@pytest.mark.parametrize(("axis", "taps", "length"), [(0, 1, 5), (1, 4, 20), (0, 4, 31), (1, 12, 7)])
def test_the_reference_is_a_product_with_a_matrix(axis: int, taps: int, length: int) -> None:
    layer = node(axis, taps, length)
    matrix = np.zeros((length, SIZE))
    for index, first in enumerate(layer.attrs["first"]):
        matrix[index, first : first + taps] = layer.weights["kernel"][:, index]
    x = np.random.default_rng(2).normal(0, 1, (SIZE, SIZE, CHANNELS))
    expected = np.moveaxis(np.tensordot(matrix, x, (1, axis)), 0, axis)
    expected += layer.weights["offset"].reshape((-1, 1, 1) if axis == 0 else (-1, 1))
    got = reference.layer(layer, [x], stored=False)
    np.testing.assert_allclose(got, expected, atol=1e-12)


@each_of(
    ("layout", ["atlas", "planar"]), ("axis, taps, length", [(0, 1, 5), (1, 4, 20), (0, 4, 31), (1, 12, 7), (0, 12, 9)])
)
def test_every_byte_is_drawn_right(context: Context, axis: int, taps: int, length: int, layout: str) -> None:
    network = graph(node(axis, taps, length, seed=length))
    x = 3.0 * (np.random.default_rng(3).integers(0, 256, (SIZE, SIZE, CHANNELS)) - 100.0) / 255.0
    assert error(context, network, x, layout) <= TOLERANCE


def test_long_sums_are_a_loop(context: Context) -> None:
    rng = np.random.default_rng(4)
    attrs, weights = rounded(rng.normal(0.0, 0.05, (40, 3)), np.zeros(3))
    shape = (5, 48, 3)
    own = {"axis": 1, "first": (0, 8, 3)}
    wide = Node("wide", "input", (), {"shape": shape, "fit": None, "scales": (2.0,), "zeros": (128.0,)})
    graph = Graph("long", [wide, Node("sums", "resample", ("wide",), {**own, **attrs}, weights)], "sums")
    x = 2.0 * (rng.integers(0, 256, shape) - 128.0) / 255.0
    assert error(context, graph, x) <= TOLERANCE


def test_a_bundle_gives_the_weights_back() -> None:
    network = graph(node(0, 4, 9))
    read = make_bundle(network, pictures=[np.ones((SIZE, SIZE, CHANNELS))]).graph.by_name["sums"]
    for name, weights in network.by_name["sums"].weights.items():
        assert np.array_equal(read.weights[name], weights)


@pytest.mark.parametrize(
    "change",
    [{"axis": 2}, {"first": (0,) * 8}, {"first": (9,) * 9}, {"first": (-1,) * 9}],
    ids=lambda case: str(case)[:14],
)
def test_invalid_matrices_are_refused(change: dict[str, object]) -> None:
    with pytest.raises(ModelError, match="sums"):
        _ = graph(node(0, 4, 9).with_attrs(**change)).shapes


def test_a_picture_of_three_channels_drops_its_alpha(context: Context) -> None:
    rng = np.random.default_rng(6)
    attrs, weights = rounded(rng.normal(0.0, 0.4, (4, 9)), np.zeros(9))
    own = {"axis": 1, "first": (0, 1, 2, 3, 4, 5, 6, 7, 8)}
    graph = Graph(
        "picture", [input_node(SIZE), Node("sums", "resample", ("image",), {**own, **attrs}, weights)], "sums"
    )
    assert error(context, graph, rng.integers(0, 256, (SIZE, SIZE, 3)) / 255.0) <= TOLERANCE
