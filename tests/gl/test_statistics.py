"""Reductions and normalisations of many channels and large maps, weighted sums of rows and columns, and 16-bit maps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from graphs import classifier, conv_node, input_node, pool_node
from layer_check import TOLERANCE, layer_error, make_bundle, stored_inputs
from pairwise import each_of
from random_networks import KINDS, drawn_nodes, fine_rounding, layer_errors, random_bundle

from glsl_infer.compiler.build import Options, build
from glsl_infer.compiler.optimize import optimize
from glsl_infer.compiler.ranges import eight_bits, varied
from glsl_infer.errors import ModelError
from glsl_infer.gl.context import Context
from glsl_infer.graph import Graph, GraphOutput, Node, reference
from glsl_infer.lowering import sixteen_bit
from glsl_infer.ops.resample import rounded
from glsl_infer.program.layout import SixteenBitMap
from glsl_infer.runtime.session import Session

pytestmark = pytest.mark.drivers("all")


def check(context: Context, graph: Graph, size: int) -> None:
    """Compare every layer of an optimised graph with its reference."""
    rng = np.random.default_rng(1)
    pictures = [rng.integers(0, 256, (size, size, 3), np.uint8) for _ in range(2)]
    bundle = make_bundle(optimize(graph), pictures=pictures)
    with Session(bundle, context=context, selfcheck=True) as session:
        for node in drawn_nodes(bundle):
            error = layer_error(session, node.name, stored_inputs(bundle, node.name, rng))
            assert error <= TOLERANCE, (node.name, error)


def test_norms_over_many_channels_are_exact(context: Context) -> None:
    rng, channels = np.random.default_rng(0), 130
    gamma = tuple(rng.normal(0.5, 1.0, channels).tolist())
    body = [
        input_node(4),
        conv_node(rng, "stem", ("image",), 3, channels, activation="linear"),
        Node("layer", "channel_norm", ("stem",), {"gamma": gamma, "beta": gamma, "epsilon": 1e-6}),
        Node("rms", "channel_norm", ("layer",), {"kind": "rms"}),
        Node("unit", "channel_norm", ("rms",), {"kind": "unit", "epsilon": 0.0}),
        Node("shares", "channel_softmax", ("stem",)),
        Node("sum", "add", ("unit", "shares")),
        Node("number", "channel_argmax", ("stem",)),
        Node("least", "channel_extreme", ("sum",), {"operation": "min"}),
        Node("both", "binary", ("number", "least"), {"operation": "multiply"}),
        Node("all", "binary", ("sum", "both"), {"operation": "add"}),
    ]
    check(context, classifier(rng, body, channels), 4)


def test_a_norm_over_more_channels_than_a_row_of_tiles_has(context: Context) -> None:
    rng, channels = np.random.default_rng(0), 258
    gamma = tuple(rng.normal(0.5, 1.0, channels).tolist())
    body = [
        input_node(3),
        conv_node(rng, "stem", ("image",), 3, channels, activation="linear"),
        Node("layer", "channel_norm", ("stem",), {"gamma": gamma, "beta": gamma, "epsilon": 1e-6}),
        Node("most", "channel_extreme", ("layer",), {"operation": "max"}),
    ]
    check(context, classifier(rng, body, 1), 3)


@pytest.mark.parametrize("size", [48, 49])
def test_a_large_map(context: Context, size: int) -> None:
    """A map of 48x48 pixels is averaged in windows first; 49x49 has no windows."""
    rng = np.random.default_rng(0)
    statistics = ("mean", "deviation")
    body = [
        input_node(size),
        conv_node(rng, "stem", ("image",), 3, 6, activation="linear"),
        pool_node("mean", "stem"),
        Node("deviation", "global_deviation", ("stem",)),
        *(
            Node(f"group-{name}", "group_statistics", statistics, {"groups": 2, "statistic": name})
            for name in statistics
        ),
        Node("norm", "map_norm", ("stem", "group-mean", "group-deviation"), {"activation": "relu"}),
    ]
    check(context, classifier(rng, body, 6), size)


@each_of(("region", ["across", "within"]), ("beta", [0.5, 0.75]))
def test_local_responses(context: Context, region: str, beta: float) -> None:
    rng = np.random.default_rng(0)
    attrs = {"size": 5, "alpha": 0.2, "beta": beta, "bias": 2.0, "region": region}
    body = [
        input_node(9),
        conv_node(rng, "stem", ("image",), 3, 10, activation="relu"),
        Node("n", "local_response_norm", ("stem",), attrs),
    ]
    check(context, classifier(rng, body, 10), 9)


def test_many_channels_in_planar_layout_are_refused_with_a_remedy() -> None:
    rng = np.random.default_rng(0)
    body = [
        input_node(4),
        conv_node(rng, "stem", ("image",), 3, 36, activation="sigmoid"),
        Node("n", "channel_softmax", ("stem",)),
    ]
    with pytest.raises(ModelError, match="layer 'n'"):
        make_bundle(classifier(rng, body, 36), layout="planar")


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


SEEDS = (1, 2, 4)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", KINDS)
def test_every_operator_reads_and_stores_16_bits(context: Context, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(eight_bits, "MANY", 1)  # random values fill ranges that other images leave mostly empty
    monkeypatch.setattr(eight_bits, "LEAST_GROWTH", 1.0)
    monkeypatch.setattr(varied, "FEW", 0)
    maps = 0
    for seed in SEEDS:
        monkeypatch.setattr(sixteen_bit, "ONE_DRAW", 64 * 64 * (seed % 2))  # both tiles at once, or one by one
        with Session(random_bundle(kind, seed, sixteen_bit=True), context=context) as session:
            bundle, errors = session.bundle, layer_errors(session, np.random.default_rng(seed))
        nodes = bundle.graph.by_name
        wrong = {
            name: error for name, error in errors.items() if error > TOLERANCE + fine_rounding(bundle, nodes[name])
        }
        assert not wrong
        maps += sum(isinstance(value, SixteenBitMap) for value in bundle.values.values())
    assert maps, "no layer has 16 bits"


def test_padded_concatenations_of_several_ranges_are_exact(context: Context) -> None:
    rng = np.random.default_rng(3)
    body = [
        input_node(12),
        conv_node(rng, "first", ("image",), 3, 3, activation="linear"),
        conv_node(rng, "second", ("image",), 3, 6, activation="relu(6.0)"),
        Node("both", "concat_copy", ("first", "second")),
        conv_node(rng, "last", ("both",), 9, 4, kernel=(3, 3), padding=(1, 1, 1, 1), activation="linear"),
    ]
    graph = Graph("network", body, [GraphOutput("numbers", ("last",), purpose="values")])
    pictures = [rng.integers(0, 256, (12, 12, 3), np.uint8) for _ in range(2)]
    built = build(graph, (), options=Options(precision="16"), calibration=pictures)[0]
    with Session(built, context=context) as session:
        errors = layer_errors(session, rng)
    nodes = built.graph.by_name
    assert all(isinstance(built.values[name], SixteenBitMap) for name in ("first", "second", "both", "last"))
    assert all(error <= TOLERANCE + fine_rounding(built, nodes[name]) for name, error in errors.items()), errors


@pytest.mark.parametrize("function", ["log_sigmoid", "mish", "softplus"])
def test_functions_between_narrow_ranges_are_exact(
    context: Context, function: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Functions are exact in narrow ranges: a 16-bit step is a few millionths, which shows a truncated series."""
    monkeypatch.setattr(eight_bits, "MANY", 1)  # do not widen ranges because of few images
    monkeypatch.setattr(eight_bits, "LEAST_GROWTH", 1.0)
    rng = np.random.default_rng(0)
    first = conv_node(rng, "first", ("image",), 3, 6, activation="linear")
    first = replace(first, weights={name: 0.25 * values for name, values in first.weights.items()})
    body = [input_node(32), first, Node("alone", "activation", ("first",), {"function": function})]
    graph = Graph("network", body, [GraphOutput("numbers", ("alone",), purpose="values")])
    bundle = make_bundle(graph, pictures=[rng.integers(0, 256, (32, 32, 3), np.uint8)], precision="16")
    assert isinstance(bundle.values["alone"], SixteenBitMap) and max(bundle.values["alone"].scales) < 3.0
    with Session(bundle, context=context) as session:
        assert layer_error(session, "alone", stored_inputs(bundle, "alone", rng)) <= TOLERANCE


MEANS = ((40, 40), (13, 13), (1, 33), (70, 1), (5, 29), (31, 7), (2, 150), (6, 4), (20, 64))
"""(height, width) of maps: one strip and several along both sides, with and without remaining pixels."""


@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize("shape", MEANS)
def test_means_of_wide_maps_read_every_pixel(context: Context, bits: int, shape: tuple[int, int]) -> None:
    """The mean of a wide map reads the right pixels, although each coordinate is derived from the previous one."""
    rng = np.random.default_rng(sum(shape))
    conv = conv_node(rng, "c", ("image",), 3, 6, activation="sigmoid")
    picture = Node("image", "input", (), {"shape": (*shape, 3)})
    body = [picture, conv, Node("mean", "global_average_pool", ("c",))]
    graph = Graph("network", body, [GraphOutput("numbers", ("mean",), purpose="values")])
    bundle = make_bundle(graph, precision=str(bits))
    assert isinstance(bundle.values["c"], SixteenBitMap) == (bits == 16)
    with Session(bundle, context=context) as session:
        assert layer_error(session, "mean", stored_inputs(bundle, "mean", rng)) <= TOLERANCE
