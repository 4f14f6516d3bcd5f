"""Pointwise operators, activations in every possible layer, gated sums and constant maps."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from activation_texts import CHANNELS, TEXTS
from graphs import PLS, classifier, conv_node, dense_node, input_node, pool_node, stored_map
from layer_check import TOLERANCE, layer_error, make_bundle, stored_inputs, worst
from pairwise import each_of
from random_networks import drawn_nodes

from glsl_infer.compiler.build import Options
from glsl_infer.compiler.delegate import build
from glsl_infer.compiler.optimize import optimize
from glsl_infer.compiler.ranges.rewrites import gated_sums
from glsl_infer.errors import InputError
from glsl_infer.gl.context import Context
from glsl_infer.graph import Graph, GraphOutput, Node, reference
from glsl_infer.graph.piecewise_linear import of_slopes
from glsl_infer.ops.channel_shuffle import shuffle_order
from glsl_infer.ops.constant_map import constant_map
from glsl_infer.program import quantize
from glsl_infer.program.layout import FixedPoint
from glsl_infer.runtime.session import Session


@pytest.mark.drivers("all")
@each_of(("inputs", [2, 3, 8]), ("channels", [4, 7]))
def test_sum_of_several_maps(context: Context, inputs: int, channels: int) -> None:
    rng = np.random.default_rng(inputs)
    branches = [conv_node(rng, f"branch{i}", ("image",), 3, channels) for i in range(inputs)]
    add = Node("add", "add", tuple(branch.name for branch in branches), {"activation": PLS})
    graph = classifier(rng, [input_node(5), *branches, add], channels)
    maps = [stored_map(rng, (5, 5, channels)) for _ in branches]
    assert worst(context, graph, "add", maps) <= TOLERANCE


@pytest.mark.drivers("all")
def test_shuffle_reorders_views_without_a_draw(context: Context) -> None:
    rng = np.random.default_rng(8)
    shuffle = Node("shuffle", "channel_shuffle", ("conv",), {"step": 8})
    reader = conv_node(rng, "reader", ("shuffle",), 64, 64, groups=2)
    body = [input_node(4), conv_node(rng, "conv", ("image",), 3, 64), shuffle, reader]
    graph = classifier(rng, body, 64)
    bundle = make_bundle(graph)
    assert not [draw for draw in bundle.manifest.passes if draw.layer == "shuffle"]
    inputs = stored_map(rng, (4, 4, 64))
    with Session(bundle, context=context) as session:
        shuffled = session.run_layer("shuffle", [inputs])
    channels = [4 * s + lane for s in shuffle_order(64, 8) for lane in range(4)]
    np.testing.assert_allclose(shuffled, inputs[..., channels], atol=1e-6)
    assert worst(context, graph, "reader", [inputs[..., channels]]) <= TOLERANCE


@pytest.mark.drivers("all")
def test_pooling_a_concatenation_with_the_picture_clears_its_alpha(context: Context) -> None:
    rng = np.random.default_rng(0)
    pooled = Node("pooled", "max_pool", ("both",), {"pool": (2, 2), "strides": (1, 1)})
    body = [input_node(6), conv_node(rng, "side", ("image",), 3, 8), Node("both", "concat", ("side", "image")), pooled]
    bundle = make_bundle(classifier(rng, body, 11))
    with Session(bundle, context=context, selfcheck=True) as session:
        session.run(rng.integers(0, 256, (6, 6, 3), np.uint8))
        texture = session.read_texture("pooled")
    last = bundle.values["pooled"].views[-1]
    tile = texture[last.y : last.y + 5, last.x : last.x + 5]
    assert tile[..., :3].any() and not tile[..., 3].any()


def network(height: int, width: int, channels: int) -> Graph:
    """Return a network with positions after a convolution, a mask of one channel, and concatenated coordinates."""
    rng = np.random.default_rng(3)
    ramps = [np.linspace(-1.0, 1.0, size) for size in (width, height)]
    body = [
        Node("image", "input", (), {"shape": (height, width, 3)}),
        conv_node(rng, "stem", ("image",), 3, channels, activation="linear"),
        constant_map("positions", rng.normal(0.0, 0.3, (height, width, channels))),
        Node("placed", "add", ("stem", "positions")),
        constant_map("mask", rng.uniform(0.5, 2.0, (height, width, 1))),
        Node("masked", "binary", ("placed", "mask"), {"operation": "multiply"}),
        constant_map("coordinates", np.stack(np.meshgrid(*ramps), axis=-1)),
        Node("joined", "concat", ("masked", "coordinates")),
        conv_node(rng, "last", ("joined",), channels + 2, 8, kernel=(3, 3), activation="relu"),
    ]
    return classifier(rng, body, 8)


@pytest.mark.drivers("all")
@pytest.mark.parametrize("precision", ["8", "16"])
@pytest.mark.parametrize(("shape", "layout"), [((9, 8, 6), "atlas"), ((700, 4, 10), "atlas"), ((5, 5, 9), "planar")])
def test_every_layer_is_within_its_tolerance(
    context: Context, precision: str, shape: tuple[int, int, int], layout: str
) -> None:
    rng = np.random.default_rng(1)
    pictures = [rng.integers(0, 256, (*shape[:2], 3), np.uint8) for _ in range(2)]
    graph = optimize(network(*shape))
    bundle = make_bundle(graph, layout=layout, pictures=pictures, precision=precision)
    with Session(bundle, context=context, selfcheck=True) as session:
        for node in drawn_nodes(bundle):
            error = layer_error(session, node.name, stored_inputs(bundle, node.name, rng))
            bound = 0.01 if node.op == "constant_map" else TOLERANCE if precision == "8" else 2.0
            assert error <= bound, (node.name, error)
    stored = bundle.graph.by_name["positions"].weights["value"]
    expected = graph.by_name["positions"].weights["value"]
    step = bundle.values["positions"].scale_of.max() / (255.0 if precision == "8" else 65280.0)
    assert 0.0 < np.abs(stored - expected).max() <= 0.502 * step
    picture = {"image": pictures[0]}
    exact, floats = reference.run(bundle, picture), reference.run(graph, picture, mode="float")
    (name,) = exact
    share = 0.01 if precision == "8" else 0.0005
    np.testing.assert_allclose(exact[name], floats[name], atol=share * np.abs(floats[name]).max())


@pytest.mark.drivers("all")
@pytest.mark.parametrize(
    "layers", [("stem",), ("placed",), ("masked",), ("stem", "last"), ("stem", "masked", "joined")]
)
def test_outputs_agree_with_some_layers_on_the_cpu(context: Context, layers: tuple[str, ...]) -> None:
    rng = np.random.default_rng(1)
    samples = [{"image": rng.integers(0, 256, (9, 8, 3), np.uint8)} for _ in range(2)]
    graph = network(9, 8, 6)
    built = build(graph, ["a", "b", "c"], options=Options(delegate_for=layers), calibration=samples)
    floats = next(iter(reference.run(graph, samples[0], mode="float").values()))
    with Session(built.bundle, context=context) as session:
        drawn = np.asarray(session.run(samples[0]["image"])).reshape(-1)
    assert len(built.parts) >= 2
    np.testing.assert_allclose(drawn, floats, atol=0.02 * np.abs(floats).max())


@pytest.mark.drivers("all")
def test_a_constant_cannot_be_delegated() -> None:
    with pytest.raises(InputError, match="--delegate-for"):
        build(network(9, 8, 6), ["a", "b", "c"], options=Options(delegate_for=("mask",)))


RANGE = {"scales": None, "zeros": None}


def gated_network(rng: np.random.Generator, swap: bool = False, *more: Node) -> Graph:
    """Return a network with a gate for each channel, and a sum."""
    nodes = [
        input_node(6),
        conv_node(rng, "x", ("image",), 3, 10, activation="linear"),
        conv_node(rng, "y", ("image",), 3, 10, activation="linear"),
        pool_node("mean", "x"),
        dense_node(rng, "gates", "mean", 10, 10, activation="sigmoid"),
        Node("times", "binary", ("gates", "x") if swap else ("x", "gates"), {"operation": "multiply", **RANGE}),
        Node("sum", "add", ("y", "times") if swap else ("times", "y"), {"activation": "relu", **RANGE}),
        *more,
    ]
    return Graph("test", tuple(nodes), nodes[-1].name)


@pytest.mark.drivers("all")
@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize("swap", [False, True])
def test_gated_sums_are_exact(context: Context, swap: bool, bits: int) -> None:
    rng = np.random.default_rng(bits + swap)
    graph = gated_network(rng, swap, conv_node(rng, "end", ("sum",), 10, 4))
    pictures = [rng.integers(0, 256, (6, 6, 3), np.uint8) for _ in range(4)]
    bundle = make_bundle(graph, pictures=pictures, precision_for={"sum": bits})
    assert "times" not in bundle.graph.by_name and bundle.graph.by_name["sum"].op == "gated_sum"
    with Session(bundle, context=context) as session:
        assert layer_error(session, "sum", stored_inputs(bundle, "sum", rng)) <= TOLERANCE


@pytest.mark.drivers("all")
def test_a_product_with_other_readers_stays_a_layer() -> None:
    rng = np.random.default_rng(1)
    for inputs in (("times", "sum"), ("times", "x", "x")):
        reader = Node("reader", "add", inputs, {"activation": "linear", **RANGE})
        graph = gated_network(rng, False, reader)
        assert gated_sums(graph).by_name.keys() == graph.by_name.keys()


SAME = (1, 1, 1, 1)
SIZE = 7


def pictures(rng: np.random.Generator) -> list[np.ndarray]:
    return [rng.integers(0, 256, (SIZE, SIZE, 3), np.uint8) for _ in range(3)]


ONE_PLACE = pytest.mark.drivers("all")
LAYOUTS_AND_WEIGHTS = [("planar", "uniform"), ("atlas", "baked"), ("atlas", "texture")]


def random_function(seed: int) -> str:
    """Return a function with zero to three pairs of breakpoints around a random centre."""
    rng = np.random.default_rng(seed)
    count = seed % 4
    bends = [(-left, right) for left, right in rng.uniform(0.0, 4.0, (count, 2))]
    slopes = rng.choice([0.0, 0.02, 0.1, 0.4], count) * rng.uniform(0.5, 1.5, count)
    centre = (rng.normal(0.0, 1.0), rng.uniform(0.2, 0.8))
    return of_slopes(rng.uniform(0.002, 0.3), slopes.tolist(), bends, centre).name


def everywhere() -> Iterator[object]:
    """Yield each activation in one place, rotating over the places, and for `make test-all` in every place.

    Random piecewise-linear functions follow, in planar layout.
    """
    for rotation, text in enumerate(TEXTS):
        for index, position in enumerate(LAYOUTS_AND_WEIGHTS):
            first = rotation % len(LAYOUTS_AND_WEIGHTS) == index
            yield pytest.param(text, *position, marks=ONE_PLACE if first else pytest.mark.exhaustive)
    for seed in range(8):
        yield pytest.param(random_function(seed), "planar", ("baked", "uniform")[seed % 2], marks=ONE_PLACE)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("text", "layout", "weights"), [*everywhere()])
def test_activations_after_convolutions_residuals_and_sums_are_exact(
    context: Context, text: str, layout: str, weights: str
) -> None:
    rng = np.random.default_rng(len(text))
    # Several of these in a row would exceed the precision of floats.
    steep = text.startswith("power") or text in ("exponential", "log", "square")
    positive = text.startswith("power(-") or text == "log"  # infinitely steep at 0: sums are exactly 0 or far above
    bounded = "sigmoid" if positive else "tanh"
    first, inputs = (bounded, ("stem", "stem", "stem")) if steep else (text, ("unit", "stem", "unit"))
    second = "relu" if text == "log" else text  # only 0 itself is so far below 1
    body = [
        input_node(SIZE),
        conv_node(rng, "stem", ("image",), 3, CHANNELS, kernel=(3, 3), padding=SAME, activation=first),
        conv_node(rng, "unit", ("stem", "stem"), CHANNELS, CHANNELS, kernel=(3, 3), padding=SAME, activation=text),
        Node("sum", "add", inputs, {"activation": second}),
        Node("top", "max_pool", ("sum",), {"pool": (2, 2), "strides": (1, 1)}),
        Node("alone", "activation", ("top",), {"function": text}),
        *([Node("bounded", "activation", ("alone",), {"function": "tanh"})] * steep),
        conv_node(rng, "many", ("bounded" if steep else "alone",), CHANNELS, 40, activation="relu(1)"),
        conv_node(rng, "wide", ("many",), 40, CHANNELS, activation=text),
    ]
    for node in (node for node in body if positive and node.attrs.get("activation") == text):
        for array in node.weights.values():
            np.abs(array, out=array)
    bundle = make_bundle(classifier(rng, body, CHANNELS), weights, layout, pictures(rng))
    assert (layout == "planar") == ("convolution_sum" in {node.op for node in bundle.graph.nodes})
    with Session(bundle, context=context, selfcheck=True) as session:
        for node in drawn_nodes(bundle):
            error = layer_error(session, node.name, stored_inputs(bundle, node.name, rng))
            assert error <= TOLERANCE, (node.name, error)


@pytest.mark.sampled(3)
@pytest.mark.drivers("all")
@pytest.mark.parametrize("text", [*TEXTS, *map(random_function, range(4))])
def test_activations_after_a_dense_layer_are_exact(context: Context, text: str) -> None:
    rng = np.random.default_rng(len(text))
    nodes = (
        input_node(SIZE),
        conv_node(rng, "conv", ("image",), 3, 7),
        pool_node("pool", "conv"),
        dense_node(rng, "hidden", "pool", 7, CHANNELS, activation=text),
        dense_node(rng, "dense", "hidden", CHANNELS, 3),
    )
    outputs = [GraphOutput(name, (name,)) for name in ("hidden", "dense")]  # an output has its own pass
    bundle = make_bundle(Graph("test", nodes, outputs), pictures=pictures(rng))
    with Session(bundle, context=context, selfcheck=True) as session:
        (sums,) = stored_inputs(bundle, "hidden", rng)
        source = bundle.values[bundle.graph.by_name["hidden"].inputs[0]]
        assert isinstance(source, FixedPoint)
        error = layer_error(session, "hidden", [quantize.round_to_fixed16(sums / 16.0, source.scale)])
        assert error <= TOLERANCE, error


@pytest.mark.drivers("all")
def test_slopes_of_each_channel_follow_the_weights_in_a_texture(context: Context) -> None:
    rng = np.random.default_rng(0)
    body = [
        input_node(SIZE),
        conv_node(rng, "conv", ("image",), 3, CHANNELS, activation="prelu(0.25,-0.5,1.5,0,0.125,-2)"),
        conv_node(rng, "same", ("conv",), CHANNELS, CHANNELS, activation="leaky_relu(-0.5)"),
    ]
    bundle = make_bundle(classifier(rng, body, CHANNELS), "texture", pictures=pictures(rng))
    draws = {name: sum(draw.layer == name for draw in bundle.manifest.passes) for name in ("conv", "same")}
    assert draws == {"conv": 1, "same": 1}


@pytest.mark.drivers("all")
def test_a_line_costs_the_shader_no_more_than_a_relu(context: Context) -> None:
    rng = np.random.default_rng(0)
    line = "piecewise_linear(0.166666667,0.5)"
    graphs = [
        classifier(rng, [input_node(5), conv_node(rng, "conv", ("image",), 3, 8, activation=name)], 8)
        for name in (line, "relu(1)")
    ]
    texts = []
    for graph in graphs:
        bundle = make_bundle(graph, "uniform")
        (program,) = {draw.program for draw in bundle.manifest.passes if draw.layer == "conv"}
        (fragment,) = (pair.fragment for pair in bundle.manifest.programs if pair.name == program)
        texts.append(bundle.members[fragment])
    assert texts[0] == texts[1]
    assert worst(context, graphs[0], "conv", [stored_map(rng, (5, 5, 3))]) <= TOLERANCE
