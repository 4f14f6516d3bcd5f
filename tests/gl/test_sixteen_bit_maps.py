"""16-bit feature maps: every operator reads and stores them as exactly as floats allow, in every layout."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from graphs import conv_node, input_node
from layer_check import TOLERANCE, layer_error, make_bundle, stored_inputs
from random_networks import KINDS, fine_rounding, layer_errors, random_bundle

from glsl_infer.compiler.build import Options, build
from glsl_infer.compiler.ranges import eight_bits, varied
from glsl_infer.gl.context import Context
from glsl_infer.graph import Graph, GraphOutput, Node
from glsl_infer.lowering import sixteen_bit
from glsl_infer.program.layout import SixteenBitMap
from glsl_infer.runtime.session import Session

pytestmark = pytest.mark.drivers("all")

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
        with Session(random_bundle(kind, seed, fine=True), context=context) as session:
            bundle, errors = session.bundle, layer_errors(session, np.random.default_rng(seed))
        nodes = bundle.graph.by_name
        wrong = {name: off for name, off in errors.items() if off > TOLERANCE + fine_rounding(bundle, nodes[name])}
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
    assert all(off <= TOLERANCE + fine_rounding(built, nodes[name]) for name, off in errors.items()), errors


@pytest.mark.parametrize("function", ["log_sigmoid", "mish", "softplus"])
def test_functions_between_narrow_ranges_are_exact(
    context: Context, function: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Functions are exact in narrow ranges: a 16-bit step is a few millionths, which shows a truncated series."""
    monkeypatch.setattr(eight_bits, "MANY", 1)  # do not widen ranges because of few images
    monkeypatch.setattr(eight_bits, "LEAST_GROWTH", 1.0)
    rng = np.random.default_rng(0)
    first = conv_node(rng, "first", ("image",), 3, 6, activation="linear")
    first = replace(first, weights={name: 0.25 * numbers for name, numbers in first.weights.items()})
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
