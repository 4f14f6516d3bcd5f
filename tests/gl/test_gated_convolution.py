"""1x1 convolutions that multiply each texel by the gates of a squeeze-and-excite block."""

from __future__ import annotations

import numpy as np
import pytest
from graphs import classifier, conv_node, dense_node, input_node, pool_node
from layer_check import TOLERANCE, layer_error, make_bundle, stored_inputs
from pairwise import pairs_of
from random_networks import fine_rounding

from glsl_infer import ops
from glsl_infer.compiler.calibration_maps import compute_maps
from glsl_infer.compiler.ranges import Calibration, prepare
from glsl_infer.errors import ModelError
from glsl_infer.gl.context import Context
from glsl_infer.graph import Graph, Node
from glsl_infer.lowering.calibration_maps import convolved_map
from glsl_infer.lowering.target import Target
from glsl_infer.runtime.session import Session


def block(
    channels: int = 12, *, swap: bool = False, residual: bool = False, function: str = "sigmoid", **conv: object
) -> Graph:
    """Return a network with gates of a map "x", in which "end" convolves the product."""
    rng = np.random.default_rng(channels)
    product = {"operation": "multiply", "scales": None, "zeros": None}
    nodes = [
        input_node(6),
        conv_node(rng, "x", ("image",), 3, channels, activation="linear"),
        conv_node(rng, "side", ("image",), 3, 5, activation="linear"),
        pool_node("mean", "x"),
        dense_node(rng, "gates", "mean", channels, channels, activation=function),
        Node("times", "binary", ("gates", "x") if swap else ("x", "gates"), product),
        conv_node(rng, "end", ("times", "side") if residual else ("times",), channels, 5, **conv),  # type: ignore[arg-type]
    ]
    return classifier(rng, nodes, 5)


def pictures(count: int = 3) -> list[np.ndarray]:
    rng = np.random.default_rng(1)
    return [rng.integers(0, 256, (6, 6, 3), np.uint8) for _ in range(count)]


@pytest.mark.drivers("all")
@pairs_of(
    ("weights", ["texture", "uniform", "baked"]),
    ("bits, stored", [(8, 8), (8, 16), (16, 8), (16, 16)]),
    ("residual", [False, True]),
    ("channels", [4, 12, 44]),
)
def test_it_is_exact(context: Context, weights: str, bits: int, stored: int, residual: bool, channels: int) -> None:
    graph = block(channels, swap=residual, residual=residual)
    bundle = make_bundle(graph, weights, pictures=pictures(), precision_for={"x": bits, "end": stored})
    assert "times" not in bundle.graph.by_name and bundle.graph.by_name["end"].op == "gated_convolution"
    with Session(bundle, context=context) as session:
        inputs = stored_inputs(bundle, "end", np.random.default_rng(2))
        assert layer_error(session, "end", inputs) <= TOLERANCE + fine_rounding(bundle, bundle.graph.by_name["end"])


@pytest.mark.parametrize(
    "graph",
    [block(10), block(132), block(function="relu"), block(kernel=(3, 3), padding=(1, 1, 1, 1))],
    ids=["10 channels", "132 channels", "gates above 1", "a window"],
)
def test_other_products_stay_layers(graph: Graph) -> None:
    assert prepare(graph, Calibration(pictures())).graph.by_name["times"].op == "binary"


def test_a_product_that_others_read_stays_a_layer() -> None:
    graph = block()
    again = Node("again", "activation", ("times",), {"function": "relu"})
    prepared = prepare(graph.rebuilt([*graph.nodes, again]), Calibration(pictures()))
    assert prepared.graph.by_name["end"].op == "conv2d"


def test_a_map_in_too_many_textures_is_multiplied_first() -> None:
    for channels, op in ((24, "gated_convolution"), (28, "conv2d")):
        prepared = prepare(block(channels), Calibration(pictures()), target=Target(layout="planar"))
        assert prepared.graph.by_name["end"].op == op


def test_ranges_of_the_product_are_known_to_later_exports() -> None:
    prepared = prepare(block(), Calibration(pictures()))
    assert "times" in prepared.learnt and "times" not in prepared.graph.by_name


def test_sums_are_followed_with_the_multiplied_map() -> None:
    graph = prepare(block(), Calibration(pictures())).graph
    maps = compute_maps(graph, pictures())
    name = convolved_map(graph.by_name["end"], graph.shapes)
    assert name == "x * gates" and maps[name].shape == maps["x"].shape
    assert np.all(np.abs(maps[name]) <= np.abs(maps["x"])) and np.any(maps[name] != maps["x"])


def test_reference_and_refusal() -> None:
    operator = ops.get("gated_convolution")
    weights = {"kernel": np.full((1, 1, 2, 1), 2.0, np.float32), "bias": np.ones(1, np.float32)}
    node = Node("end", "gated_convolution", ("x", "gates"), dict(operator.attrs), weights)
    values = [np.array([[[3.0, 4.0]]]), np.array([0.5, 0.25])]
    assert operator.reference(node, values).tolist() == [[[6.0]]]
    with pytest.raises(ModelError, match=r"layer 'end': a gated convolution of shapes \(6, 6, 2\), \(3,\)"):
        operator.shape(node, [(6, 6, 2), (3,)])
