"""Squeeze-and-excite blocks in two passes: products of means, and two dense layers of their sums."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from activation_texts import CHANNELS, TEXTS
from graphs import classifier, conv_node, dense_node
from layer_check import TOLERANCE, layer_error, make_bundle, stored_inputs
from pairwise import pairs_of

from glsl_infer import bundle as bundles
from glsl_infer import ops
from glsl_infer.compiler.ranges import Calibration, prepare
from glsl_infer.errors import InputError, ModelError
from glsl_infer.gl.context import Context
from glsl_infer.graph import Graph, Node, reference
from glsl_infer.ops.mean_products import block_starts
from glsl_infer.runtime.session import Session
from glsl_infer.tools.train.features import read_start


def block(
    channels: int = 12,
    hidden: int = 4,
    size: tuple[int, int] = (6, 6),
    *,
    second: int = 0,
    inner: str = "relu",
) -> Graph:
    """Return a network with gates of a map "x", from the means of "x" and of a map "other" of ``second`` channels."""
    rng = np.random.default_rng(channels)
    product = {"operation": "multiply", "activation": "sigmoid", "scales": None, "zeros": None}
    nodes = [
        Node("image", "input", (), {"shape": (*size, 3)}),
        conv_node(rng, "x", ("image",), 3, channels, activation="tanh"),
        *([conv_node(rng, "other", ("image",), 3, second, activation="sigmoid")] if second else []),
        Node("mean", "global_average_pool", ("x", "other") if second else ("x",)),
        dense_node(rng, "squeeze", "mean", channels + second, hidden, activation=inner),
        dense_node(rng, "gates", "squeeze", hidden, channels, activation="sigmoid"),
        Node("times", "binary", ("x", "gates"), product),
        conv_node(rng, "end", ("times",), channels, 5, activation="sigmoid"),
    ]
    return classifier(rng, nodes, 5)


def pictures(size: tuple[int, int] = (6, 6), count: int = 3) -> list[np.ndarray]:
    rng = np.random.default_rng(1)
    return [rng.integers(0, 256, (*size, 3), np.uint8) for _ in range(count)]


@pytest.mark.drivers("all")
@pairs_of(
    ("layout", ["atlas", "planar"]),
    ("bits", [8, 16]),
    ("channels, hidden", [(4, 1), (10, 3), (13, 8), (24, 5), (140, 9)]),
    ("size", [(6, 6), (5, 7), (1, 1), (24, 64), (37, 41)]),
    ("second", [0, 6]),
    ("inner", ["relu", "silu"]),
    ("images", [0, 3]),
)
def test_it_is_exact(
    context: Context,
    layout: str,
    bits: int,
    channels: int,
    hidden: int,
    size: tuple[int, int],
    second: int,
    inner: str,
    images: int,
) -> None:
    second = second if channels % 2 == 0 else 0
    graph = block(channels, hidden, size, second=second, inner=inner)
    bundle = make_bundle(graph, layout=layout, pictures=pictures(size, images), precision_for={"x": bits})
    assert bundle.graph.by_name["gates"].op == "dense_of_sums" and "squeeze" not in bundle.graph.by_name
    with Session(bundle, context=context) as session:
        for name in ("squeeze-products", "gates"):
            inputs = stored_inputs(bundle, name, np.random.default_rng(2))
            assert layer_error(session, name, inputs) <= TOLERANCE, name


@pytest.mark.drivers("all")
def test_windows_of_large_maps_are_averaged_first(context: Context) -> None:
    size = (96, 64)
    bundle = make_bundle(block(16, 24, size, second=4), pictures=pictures(size), precision_for={"x": 16})
    products = bundle.graph.by_name["squeeze-products"]
    assert products.inputs == ("mean-windows1", "other")
    with Session(bundle, context=context) as session:
        inputs = stored_inputs(bundle, products.name, np.random.default_rng(2))
        assert layer_error(session, products.name, inputs) <= TOLERANCE


def test_the_weights_of_a_bundle_are_those_of_the_graph() -> None:
    graph = prepare(block(10, 3, second=6), Calibration(pictures())).graph
    bundle = make_bundle(block(10, 3, second=6), pictures=pictures())
    for name in ("squeeze-products", "gates"):
        for key, weights in graph.by_name[name].weights.items():
            np.testing.assert_array_equal(bundle.graph.by_name[name].weights[key], weights)


@pytest.mark.parametrize("hidden", [1, 5])
def test_the_network_computes_the_same(hidden: int) -> None:
    graph = block(10, hidden, (24, 64), second=6, inner="silu")
    image = pictures((24, 64))[0]
    prepared = prepare(graph, Calibration([image])).graph
    values = {name: dict(reference.layers(of, image, mode="float")) for name, of in (("", graph), ("2", prepared))}
    np.testing.assert_allclose(values["2"]["gates"], values[""]["gates"], atol=2e-3)


@pytest.mark.sampled(3)
@pytest.mark.drivers
@pytest.mark.parametrize("text", TEXTS)
def test_hidden_values_can_have_every_activation(context: Context, text: str) -> None:
    bundle = make_bundle(block(12, CHANNELS, inner=text), pictures=pictures())
    if "squeeze" in bundle.graph.by_name:  # the activation needs constants or several pieces
        return
    with Session(bundle, context=context) as session:
        for name in ("squeeze-products", "gates"):
            inputs = stored_inputs(bundle, name, np.random.default_rng(2))
            assert layer_error(session, name, inputs) <= TOLERANCE, name


def with_reader(of: str) -> Graph:
    graph = block()
    (value,) = graph.shapes[of]
    rng = np.random.default_rng(0)
    return graph.rebuilt([*graph.nodes, dense_node(rng, "again", of, value, 2)])


@pytest.mark.parametrize(
    "graph",
    [
        block(hidden=66),
        block(212, 40, (5, 1)),
        with_reader("mean"),
        with_reader("squeeze"),
        replace(block(), outputs=(*block().outputs, replace(block().outputs[0], name="h", layers=("squeeze",)))),
    ],
    ids=["66 hidden values", "too many sums", "other readers of means", "other readers of hidden values", "an output"],
)
def test_other_dense_layers_stay(graph: Graph) -> None:
    prepared = prepare(graph, Calibration(pictures(graph.input.attrs["shape"][:2]))).graph
    assert prepared.by_name["gates"].op == "dense_at_once" and "squeeze" in prepared.by_name


def test_two_readers_of_the_gates() -> None:
    assert prepare(with_reader("gates"), Calibration(pictures())).graph.by_name["gates"].op == "dense_of_sums"


def test_training_refuses_a_head_of_two_dense_layers(tmp_path: Path) -> None:
    rng, nodes = np.random.default_rng(0), block().nodes[:3]
    head = [dense_node(rng, "squeeze", "mean", 12, 6, activation="relu"), dense_node(rng, "end", "squeeze", 6, 3)]
    bundle = make_bundle(Graph("test", (*nodes, *head), "end"), pictures=pictures())
    assert bundle.graph.by_name["end"].op == "dense_of_sums"
    path = tmp_path / "head.glslnn"
    bundles.write(bundle, path)
    with pytest.raises(InputError, match="has several dense layers"):
        read_start(path)


def test_blocks_follow_the_tiles_of_a_map() -> None:
    assert block_starts(9, 4) == [0, 4, 8]
    assert block_starts(9, 2) == [0, 4, 8, 2, 6]


def test_references() -> None:
    kernel = np.array([[1.0], [2.0], [3.0]], np.float32)
    attrs = {"blocks": (2,), "parts": (1, 2), "scale": None}
    products = Node("p", "mean_products", ("x",), attrs, {"kernel": kernel})
    pixels = np.array([[[1.0, 0.0, 0.0], [0.0, 4.0, 2.0]]])
    # Columns: channels 0 and 1 of the left half and of the right half, and then channel 2 of both.
    sums = ops.get("mean_products").reference(products, [pixels])
    assert sums.tolist() == [[0.5], [4.0], [0.0], [3.0]]
    assert ops.get("mean_products").shape(products, [(1, 2, 3)]) == sums.shape
    low, high = ops.get("mean_products").interval(products, sums.shape, [(np.full(3, -1.0), np.full(3, 2.0))])
    assert low.tolist() == [[-1.5], [-1.5], [-1.5], [-1.5]] and high.tolist() == [[3.0], [3.0], [3.0], [3.0]]

    names = ("hidden_row_scale", "hidden_bias", "kernel", "row_scale", "bias")
    numbers = ([0.5], [-4.0], [[2.0, -1.0]], [1.0, 2.0], [0.5, 0.0])
    weights = {name: np.array(values, np.float32) for name, values in zip(names, numbers)}
    dense = Node("d", "dense_of_sums", ("p",), {"inner": "relu", "activation": "linear"}, weights)
    operator = ops.get("dense_of_sums")
    assert operator.reference(dense, [sums]).tolist() == [0.5, 0.0]  # 7.5 / 2 - 4 is negative
    assert operator.reference(dense, [sums + 0.5]).tolist() == [2 * 0.75 + 0.5, -1.5]
    assert operator.shape(dense, [(4, 1)]) == (2,)


def test_refusals() -> None:
    weights = {"kernel": np.ones((3, 2), np.float32)}
    products = Node("p", "mean_products", ("x",), {"blocks": (4,), "parts": (1, 2), "scale": None}, weights)
    with pytest.raises(ModelError, match=r"layer 'p': a kernel of \(3, 2\) on \(4, 4, 5\); check the weights"):
        ops.get("mean_products").shape(products, [(4, 4, 5)])
    with pytest.raises(ModelError, match=r"layer 'p': maps in parts of \[\(1, 2\)\]; divide them into equal parts"):
        ops.get("mean_products").shape(products, [(4, 5, 3)])
    dense = Node("d", "dense_of_sums", ("p",), {}, {"kernel": np.ones((3, 2), np.float32)})
    with pytest.raises(ModelError, match=r"layer 'd': a kernel of \(3, 2\) on sums of \(4, 2\); check the weights"):
        ops.get("dense_of_sums").shape(dense, [(4, 2)])
