"""The gain of a convolution, its 8-bit error, and the exporter's warnings about both."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import ranged
import tiny
from graphs import PLS, classifier, conv_node, input_node

from glsl_infer import bundle, ops
from glsl_infer.compiler import amplification, lower
from glsl_infer.compiler.ranges import prepare
from glsl_infer.graph import Graph, Node
from glsl_infer.program.layout import Value
from glsl_infer.runtime.pictures import preprocess

ROOT = Path(__file__).resolve().parents[2]
MODELS = sorted((ROOT / "models").glob("*.glslnn"))


def step_of(value: Value) -> np.ndarray:
    return value.scale_of / 255.0


def moved_most(graph: Graph, values: dict[str, Value], name: str) -> float:
    """Compute the gain by definition: each input of a window moves one step in the worst direction, for each filter."""
    node = graph.by_name[name]
    kernel = node.weights["kernel"].astype(np.float64)
    source, target = values[node.inputs[0]], values[name]
    height, width, channels, filters = kernel.shape
    steps = np.broadcast_to(step_of(source), (source.channels,))
    results = []
    for f in range(filters):
        group = f // (filters // node.attrs["groups"])
        window = np.zeros((height, width, source.channels))
        window[..., group * channels : (group + 1) * channels] = np.sign(kernel[..., f])
        inputs = [steps * window] + [np.full((1, 1, filters), step_of(values[input])[f]) for input in node.inputs[1:]]
        unpadded = node.with_attrs(padding=(0, 0, 0, 0), activation="linear")
        unchanged = ops.get("conv2d").reference(unpadded, [np.zeros_like(input) for input in inputs])
        changed = ops.get("conv2d").reference(unpadded, inputs)
        results.append(((changed - unchanged) / step_of(target))[0, 0, f])
    return max(results)


@pytest.mark.parametrize("layer", ["first", "more", "each"])
def test_the_gain_is_the_largest_change_of_an_output(layer: str) -> None:
    """``each`` is depthwise and has a residual. All layers have their own ranges."""
    program = ranged.ranged_program()
    gains = amplification.gains(program.graph, program.values)
    assert gains[layer] == pytest.approx(moved_most(program.graph, dict(program.values), layer), rel=1e-4)


def test_a_convolution_in_two_parts_has_one_gain() -> None:
    program = ranged.ranged_program()
    kernel = ranged.ranged_graph().by_name["wide"].weights["kernel"].astype(np.float64)
    source, target = program.values["first"], program.values["wide"]
    expected = (np.abs(kernel) * source.scale_of[:, None]).sum(axis=(0, 1, 2)) / target.scale_of
    gains = amplification.gains(program.graph, program.values)
    assert gains["wide"] == pytest.approx(expected.max(), rel=1e-4)
    assert "wide-products" not in gains


def test_a_sigmoid_lessens_the_gain_by_its_slope() -> None:
    rng = np.random.default_rng(0)
    graph = classifier(rng, [input_node(5), conv_node(rng, "conv", ("image",), 3, 4)], 4)
    program = lower.to_program(prepare(graph).graph)
    sums = np.abs(program.graph.by_name["conv"].weights["kernel"].astype(np.float64)).sum(axis=(0, 1, 2))
    slopes = {PLS: 0.2, "sigmoid": 0.25, "hard_sigmoid": 1.0 / 6.0}
    for name, slope in slopes.items():
        node = program.graph.by_name["conv"].with_attrs(activation=name)
        optimized = program.graph.rebuilt([node if other.name == "conv" else other for other in program.graph.nodes])
        assert amplification.gains(optimized, program.values)["conv"] == pytest.approx(slope * sums.max(), rel=1e-4)


def cancelling(factor: float) -> Graph:
    """Return a convolution that multiplies the difference of two channels and clamps it to [0, 1]."""
    rng = np.random.default_rng(0)
    node = conv_node(rng, "difference", ("image",), 3, 4, activation="relu(1)")
    kernel = np.zeros((1, 1, 3, 4), np.float32)
    kernel[0, 0, 0], kernel[0, 0, 1] = factor, -factor
    node = Node(node.name, node.op, node.inputs, node.attrs, {**node.weights, "kernel": kernel})
    return classifier(rng, [input_node(5), node], 4)


@pytest.mark.parametrize(("factor", "warned"), [(600.0, False), (2000.0, True)])
def test_large_weights_that_cancel_are_warned_of(factor: float, warned: bool) -> None:
    program = lower.to_program(prepare(cancelling(factor)).graph)
    gains = amplification.gains(program.graph, program.values)
    assert gains["difference"] == pytest.approx(2.0 * factor, rel=1e-4)
    result = amplification.warnings(gains, {})
    assert len(result) == warned
    if warned:
        assert result[0].startswith("layer 'difference': a step in what it reads may be 4000 steps of its output")
        assert "train it with weight decay, or give more varied images with --images DIR" in result[0]
        (calibrated,) = amplification.warnings(gains, {}, calibrated=True)
        assert calibrated.endswith("or calibrate with more varied images"), "a remedy in use is not repeated"


def test_many_layers_with_large_gains_are_one_sentence() -> None:
    (result,) = amplification.warnings({"a": 2000.0, "b": 3.0, "c": 9000.0, "d": 1500.0}, {})
    assert result.startswith("layer 'a': a step in what it reads may be 2000 steps of its output (the worst")
    assert "(the worst of 3 such layers is 'c', 9000)" in result


def test_rounding_of_32_bit_sums_is_within_the_estimate() -> None:
    rng = np.random.default_rng(1)
    kernel = rng.normal(0.0, 3000.0, 75).astype(np.float32)
    texels = rng.integers(0, 256, (20_000, 75)).astype(np.float32) / np.float32(255.0)
    sums = np.zeros(len(texels), np.float32)
    for channel_texels, weight in zip(texels.T, kernel):
        sums = sums + channel_texels * weight
    error_of_sum = np.abs(sums.astype(np.float64) - texels.astype(np.float64) @ kernel.astype(np.float64)) * 255.0
    error = amplification.rounding(float(np.abs(kernel).astype(np.float64).sum()))
    assert error > 0.02
    assert 0.5 * error < error_of_sum.max() < len(kernel) * error


def test_an_error_beyond_the_bound_names_where_it_begins_and_where_it_is_most() -> None:
    errors = {"a": 0.4, "b": 8.5, "c": 30.0, "d": 12.0}
    (result,) = amplification.warnings({"a": 3.0, "b": 5.0}, errors)
    assert result.startswith("layer 'b': 8 bits are off by 8.5 of 255 steps here")
    assert "by 30.0 in 'c'" in result
    assert amplification.warnings({}, {**errors, "b": 8.0, "c": 8.0, "d": 7.9}) == ()


def test_nan_and_infinity_are_warned_of() -> None:
    assert len(amplification.warnings({"a": math.nan}, {"a": math.inf})) == 2


@pytest.mark.slow
@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_the_shipped_models_stay_below_both_bounds(path: Path) -> None:
    network = bundle.read(path)
    gains = amplification.gains(network.graph, network.values)
    picture = preprocess.load(ROOT / "docs/images/example.jpg", network.manifest.input.size)
    errors = amplification.errors(network.graph, network.graph, [picture])
    assert amplification.warnings(gains, errors) == ()
    assert max(gains.values()) < 500.0
    assert 0.2 < max(errors.values()) < 3.0


def test_without_amplification_the_error_is_that_of_rounding() -> None:
    """Without amplification, the error equals rounding: sqrt(1/12) of a step."""
    bundle = tiny.tiny_bundle()
    errors = amplification.errors(bundle.graph, bundle.graph, [tiny.tiny_picture(1), tiny.tiny_picture(2)])
    assert list(errors) == ["stem", "expand", "unit-pw", "unit-dw"]
    assert errors["stem"] == pytest.approx(math.sqrt(1.0 / 12.0), abs=0.05)
    assert errors["unit-pw"] > errors["stem"]
