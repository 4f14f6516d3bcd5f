"""16-bit feature maps: chosen by the rule, by name, and with the maps that they join."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from graphs import conv_node, dense_node, input_node, pool_node

from glsl_infer.compiler import lower
from glsl_infer.compiler.assemble import to_bundle
from glsl_infer.compiler.build import Options, build
from glsl_infer.compiler.ranges import Calibration, Precision, PreparedGraph, precision, prepare
from glsl_infer.compiler.ranges.sensitivity import BY_MEASURE
from glsl_infer.errors import InputError
from glsl_infer.graph import Graph, GraphOutput, Node, reference
from glsl_infer.graph.host_steps import HostStep
from glsl_infer.program.layout import FeatureMap, SixteenBitMap

RNG = np.random.default_rng(5)
PICTURES = [RNG.integers(0, 256, (16, 16, 3), np.uint8) for _ in range(2)]
MANY = [RNG.integers(0, 256, (16, 16, 3), np.uint8) for _ in range(40)]
"""Enough images for ranges in 16 bits to need at most fourfold headroom."""


def network(*outputs: GraphOutput, activation: str = "linear", more: tuple[Node, ...] = ()) -> Graph:
    body = [
        input_node(16),
        conv_node(RNG, "stem", ("image",), 3, 16, kernel=(3, 3), activation="relu"),
        conv_node(RNG, "body", ("stem",), 16, 16, kernel=(3, 3), activation="relu"),
        conv_node(RNG, "neck", ("body",), 16, 8, activation="linear"),
        conv_node(RNG, "head", ("neck",), 8, 6, activation=activation),
        *more,
    ]
    return Graph("network", body, outputs)


def sixteen_bit_layers(prepared: PreparedGraph) -> dict[str, str]:
    assert {choice.layer for choice in prepared.precision} == {
        node.name for node in prepared.graph.nodes if node.attrs.get("bits") == 16
    }
    return {choice.layer: choice.why for choice in prepared.precision}


def layers(graph: Graph, how: str = "auto", **bits: int) -> dict[str, str]:
    return sixteen_bit_layers(prepare(graph, Calibration(PICTURES), precision=Precision(how, layers=bits)))


def test_numbers_and_their_input_have_16_bits() -> None:
    boxes = GraphOutput("boxes", ("head",), (HostStep("rows", 3),), "values")
    assert layers(network(boxes)) == {"neck": precision.BEFORE, "head": precision.BY_RULE}
    assert layers(network(boxes), "8") == {}
    assert set(layers(network(boxes), "16")) == {"stem", "body", "neck", "head"}


def test_values_after_a_vector_have_16_bits() -> None:
    shape = {"shape": (1, 2, 3), "activation": "linear"}
    more = (pool_node("mean", "head"), Node("map", "vector_map", ("mean",), shape))
    assert layers(network(GraphOutput("numbers", ("map",), purpose="values"), more=more)) == {"map": precision.BY_RULE}


@pytest.mark.parametrize(
    ("output", "activation"),
    [
        (GraphOutput("picture", ("head",)), "linear"),
        (GraphOutput("mask", ("head",), (HostStep("argmax"),)), "linear"),
        (GraphOutput("mask", ("head",), purpose="mask"), "linear"),
        (GraphOutput("shares", ("head",), (HostStep("softmax"),), "values"), "linear"),
        (GraphOutput("shares", ("head",), (HostStep("sigmoid"),), "values"), "linear"),
        (GraphOutput("shares", ("head",), purpose="values"), "sigmoid"),
    ],
)
def test_pictures_and_probabilities_have_8(output: GraphOutput, activation: str) -> None:
    reasons = set(layers(network(output, activation=activation)).values())
    assert not reasons & {precision.BY_RULE, precision.BEFORE}  # a search can still choose one


def test_an_input_that_costs_much_stays_in_8() -> None:
    more = (conv_node(RNG, "numbers", ("body",), 16, 4, activation="linear"),)
    result = layers(network(GraphOutput("numbers", ("numbers",), purpose="values"), more=more))
    assert {layer for layer, why in result.items() if why != BY_MEASURE} == {"numbers"}
    assert result["numbers"] == precision.BY_RULE


def test_single_layers() -> None:
    boxes = GraphOutput("boxes", ("head",), purpose="values")
    assert layers(network(boxes), stem=16, head=8) == {"stem": precision.BY_NAME, "neck": precision.BEFORE}
    assert layers(network(boxes), "8", stem=16) == {"stem": precision.BY_NAME}
    assert set(layers(network(boxes), "16", stem=8, body=8)) == {"neck", "head"}


def test_copies_and_pools_have_the_bits_of_their_input() -> None:
    more = (
        Node("top", "max_pool", ("head",)),
        Node("mean", "average_pool", ("top",)),
        Node("swapped", "transpose", ("mean",)),
    )
    graph = network(GraphOutput("numbers", ("swapped",), purpose="values"), more=more)
    prepared = prepare(graph, Calibration(PICTURES), precision=Precision("8", layers={"head": 16}))
    assert set(sixteen_bit_layers(prepared)) == {"head", "mean"}  # the others have only a choice of bits
    program = lower.to_program(prepared.graph)
    kinds = {name: type(value) for name, value in program.values.items()}
    assert kinds["neck"] is FeatureMap
    assert {kinds[name] for name in ("head", "top", "mean", "swapped")} == {SixteenBitMap}


def test_concatenated_maps_have_the_same_bits() -> None:
    side = conv_node(RNG, "side", ("neck",), 8, 8, activation="linear")
    output = GraphOutput("both", ("both",), purpose="values")
    concatenated = Node("both", "concat_copy", ("side", "head"))
    graph = network(output, more=(side, concatenated))
    assert layers(graph, "8", side=16) == {"side": precision.BY_NAME, "head": precision.WITH_OTHERS}
    assert layers(graph, "16", head=8) == layers(graph, "16", head=8, side=8)
    body = [input_node(16), conv_node(RNG, "conv", ("image",), 3, 4, activation="linear")]
    graph = Graph("picture", [*body, Node("both", "concat_copy", ("image", "conv"))], [output])
    assert layers(graph, "16") == {}  # an image has 8 bits


@pytest.mark.parametrize("operator", ["average_pool", "upsample_bilinear"])
@pytest.mark.parametrize("bits", [{"head": 16, "other": 8}, {"head": 16, "same": 8}])
def test_a_map_in_8_bits_never_has_the_range_of_one_in_16(operator: str, bits: dict[str, int]) -> None:
    more = (
        conv_node(RNG, "side", ("neck",), 8, 16, activation="relu"),
        Node("same", operator, ("head",)),
        Node("other", operator, ("side",)),
        Node("both", "concat_copy", ("same", "other")),
    )
    graph = network(GraphOutput("both", ("both",), purpose="values"), more=more)
    bundle, _, prepared = build(graph, (), options=Options(precision_for=bits), calibration=PICTURES)
    chosen = {node.name: node.attrs.get("bits") for node in prepared.graph.nodes}
    assert chosen["same"] == chosen["other"] == chosen["head"]
    assert reference.run(bundle, PICTURES[0]).shape[-1] == 6 + 16


def test_headroom_ends_at_the_largest_value_of_a_bundle() -> None:
    steep = conv_node(RNG, "steep", ("image",), 3, 4, activation="exponential")
    kernel = np.abs(steep.weights["kernel"])
    body = [
        input_node(16),
        replace(steep, weights={**steep.weights, "kernel": kernel * np.float32(136.0) / kernel.sum((0, 1, 2))}),
        conv_node(RNG, "after", ("steep",), 4, 4, activation="linear"),
    ]
    for how in ("8", "16"):
        options = Options(precision=how)
        _, program, _ = build(Graph("steep", body, "after"), (), options=options, calibration=PICTURES)
        maps = [value for value in program.values.values() if isinstance(value, (FeatureMap, SixteenBitMap))]
        assert max(value.largest for value in maps) > 1e26


def test_a_network_without_work_has_no_map_in_16_bits() -> None:
    graph = Graph(
        "same",
        [input_node(16), Node("same", "identity", ("image",))],
        [GraphOutput("same", ("same",), purpose="values")],
    )
    _, _, prepared = build(graph, (), calibration=PICTURES)
    assert prepared.precision == ()


def test_a_vector_has_no_choice() -> None:
    body = [input_node(16), conv_node(RNG, "conv", ("image",), 3, 4), pool_node("pool", "conv")]
    graph = Graph("classes", [*body, dense_node(RNG, "dense", "pool", 4, 3)], "dense")
    assert layers(graph) == {}


def test_invalid_precisions_are_refused() -> None:
    boxes = network(GraphOutput("boxes", ("head",), purpose="values"))
    with pytest.raises(InputError, match="'12'"):
        layers(boxes, "12")
    with pytest.raises(InputError, match="'hat', 'coat'"):
        build(boxes, (), options=Options(precision_for={"hat": 16, "coat": 8}), calibration=PICTURES)
    picture = network(
        GraphOutput("picture", ("large",)), more=(Node("large", "depth_to_space", ("stem",), {"block": 2}),)
    )
    with pytest.raises(InputError, match=r"'stem' cannot be stored in 16 bits: it is an image(.|\n)*'large' cannot"):
        layers(picture, stem=16, large=16)


def test_the_reference_rounds_to_the_finer_steps() -> None:
    """A 16-bit step is 1/256 of an 8-bit step, of a range up to six times as wide."""
    graph = network(GraphOutput("boxes", ("head",), purpose="values"))
    floats = reference.run(graph, PICTURES[0], mode="float")
    errors = []
    for how in ("8", "16"):
        prepared = prepare(graph, Calibration(MANY), precision=Precision(how)).graph
        bundle = to_bundle(lower.to_program(prepared), ())
        assert (reference.run(bundle, PICTURES[0]) == reference.run(bundle.graph, PICTURES[0])).all()
        errors.append(float(np.abs(reference.run(prepared, PICTURES[0]) - floats).max()))
    assert errors[1] < errors[0] / 40.0


def test_networks_without_values_as_outputs_stay_in_8_bits() -> None:
    graph = network(GraphOutput("picture", ("head",)))
    choices = (
        Options(tolerance=1.0),
        Options(precision="8"),
    )  # with any error tolerated, measurement adds no 16-bit layer
    exports = [build(graph, (), options=options, calibration=PICTURES)[0] for options in choices]
    assert exports[0] == exports[1]


@pytest.mark.parametrize(
    ("first", "second", "pooled", "bits"),
    [
        ("linear", "relu", True, 16),
        ("relu(6.0)", "tanh", False, 16),
        ("sigmoid", "linear", False, 16),
        ("linear", "hard_sigmoid", True, 8),
    ],
)
def test_parts_of_a_padded_concatenation_have_one_zero_point(first: str, second: str, pooled: bool, bits: int) -> None:
    body = [
        input_node(16),
        conv_node(RNG, "first", ("image",), 3, 3, activation=first),
        conv_node(RNG, "second", ("image",), 3, 6, activation=second),
        Node("one", "max_pool", ("first",)),
        Node("other", "average_pool", ("second",)),
        Node("both", "concat_copy", ("one", "other") if pooled else ("first", "second")),
        conv_node(RNG, "last", ("both",), 9, 4, kernel=(3, 3), padding=(1, 1, 1, 1), activation="linear"),
    ]
    graph = Graph("network", body, [GraphOutput("numbers", ("last",), purpose="values")])
    prepared = prepare(graph, Calibration(MANY), precision=Precision("16")).graph
    program = lower.to_program(prepared)
    assert type(program.values["both"]) is (SixteenBitMap if bits == 16 else FeatureMap)
    zeros = {zero for name in ("first", "second") for zero in prepared.by_name[name].attrs["zeros"]}
    assert len(zeros) == (1 if bits == 16 else 2)
    bundle = to_bundle(program, ())
    floats = reference.run(graph, PICTURES[0], mode="float")
    error = np.abs(reference.run(bundle, PICTURES[0]) - floats).max()
    assert error < np.abs(floats).max() * (0.03 if bits == 8 else 0.0005)
