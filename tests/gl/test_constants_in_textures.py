"""Layers with numbers per channel draw all slices at once; partial sums of all slices are added in one draw."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from graphs import PLS, classifier, conv_node, input_node
from layer_check import TOLERANCE, layer_error, make_bundle, stored_inputs
from pairwise import each_of

from glsl_infer.bundle import Bundle
from glsl_infer.compiler.optimize import optimize
from glsl_infer.gl.context import Context
from glsl_infer.graph import Graph, Node
from glsl_infer.lowering import weight_bytes
from glsl_infer.lowering.weights_plan import DRAW, UNIFORM_VECTORS
from glsl_infer.runtime.session import Session

pytestmark = pytest.mark.drivers("all")


FILTERS = 22
"""Number of filters; the last slice has two channels only."""

BITS = {8: b"MIDDLE", 16: b"lower = ROW.y + 0.5;"}
"""Text in shaders that read weights of 8 or 16 bits."""


def prelu(rng: np.random.Generator, channels: int) -> str:
    """Return an activation with a slope for each channel."""
    return f"prelu({','.join(f'{slope:.6g}' for slope in rng.uniform(0.25, 1.5, channels))})"


def network(
    channels: int, activation: str, *, louder: float = 1.0, residual: bool = False, kernel: int = 1, quiet: bool = False
) -> Graph:
    """Return an input, a layer with many channels, and one that reads all; ``louder`` scales half of its filters."""
    rng = np.random.default_rng(channels)
    body = [input_node(6), conv_node(rng, "feed", ("image",), 3, channels)]
    inputs: tuple[str, ...] = ("feed",)
    if residual:
        body.append(conv_node(rng, "side", ("image",), 3, FILTERS, activation="silu"))
        inputs = ("feed", "side")
    activation = prelu(rng, FILTERS) if activation == "prelu" else activation
    around = (kernel // 2,) * 4
    wide = conv_node(
        rng, "wide", inputs, channels, FILTERS, kernel=(kernel, kernel), padding=around, activation=activation
    )
    factors = np.where(np.arange(FILTERS) % 2, louder, 1.0).astype(np.float32)
    weights = {name: values * factors for name, values in wide.weights.items()}
    if quiet:  # the sums are small compared with the stored values
        weights = {"kernel": 0.02 * weights["kernel"], "bias": np.abs(weights["bias"]) + np.float32(1.0)}
    body.append(Node(wide.name, wide.op, wide.inputs, wide.attrs, weights))
    return classifier(rng, body, FILTERS)


def made_of(graph: Graph, weights: str = "texture", uniform_vectors: int = UNIFORM_VECTORS) -> Bundle:
    """Return a bundle with ranges from three images."""
    rng = np.random.default_rng(5)
    size = graph.by_name["image"].attrs["shape"]
    pictures = [rng.integers(0, 256, size, np.uint8) for _ in range(3)]
    return make_bundle(graph, weights, pictures=pictures, uniform_vectors=uniform_vectors)


CASES: dict[str, dict[str, Any]] = {
    "prelu": {"channels": 256, "activation": "prelu"},
    "prelu and a residual with factors": {"channels": 40, "activation": "prelu", "residual": True},
    "silu over ranges of its own": {"channels": 8, "activation": "silu", "louder": 3.0},
    "silu and a residual": {"channels": 32, "activation": "silu", "residual": True},
    "3x3 and prelu": {"channels": 24, "activation": "prelu", "kernel": 3},
}


@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_one_draw_is_exact(context: Context, monkeypatch: pytest.MonkeyPatch, case: dict[str, Any], bits: int) -> None:
    monkeypatch.setattr(weight_bytes, "MOST_NOISE", np.inf if bits == 8 else 0.0)
    bundle = made_of(network(**case))
    drawn = [draw for draw in bundle.manifest.passes if draw.layer == "wide"]
    assert [len(draw.quads) for draw in drawn] == [-(-FILTERS // 4)]
    program = next(program for program in bundle.manifest.programs if program.name == drawn[0].program)
    assert BITS[bits] in bundle.members[program.fragment]
    assert dict(program.uniforms)["number_units"] == 4
    with Session(bundle, context=context) as session:
        inputs = stored_inputs(bundle, "wide", np.random.default_rng(1))
        assert layer_error(session, "wide", inputs) <= TOLERANCE


def test_slopes_do_not_cost_a_program_for_each_slice() -> None:
    """Layers with slopes share a program, although 256 inputs exceed the uniform arrays of phones."""
    rng = np.random.default_rng(7)
    body = [input_node(6), conv_node(rng, "feed", ("image",), 3, 256)]
    for index in range(3):
        name, slopes = f"pw{index}", prelu(rng, 256)
        body.append(conv_node(rng, name, (body[-1].name,), 256, 256, activation=slopes))
    bundle = made_of(classifier(rng, body, 256), "auto")
    drawn = [draw for draw in bundle.manifest.passes if draw.layer.startswith("pw")]
    assert [len(draw.quads) for draw in drawn] == [64, 64, 64]
    assert len({draw.program for draw in drawn}) <= len(BITS)


def test_as_many_columns_as_registers_allow_are_one_draw(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    """A layer with the largest number of columns takes one draw; one slice more is not stored in a texture.

    A window of one texel may have more columns in bytes than any other.
    """
    monkeypatch.setattr(weight_bytes, "MOST_NOISE", np.inf)
    most = weight_bytes.MOST_SINGLE_COLUMNS
    bundle = made_of(network(channels=most, activation="relu", quiet=True), uniform_vectors=3500)
    assert [len(draw.quads) for draw in bundle.manifest.passes if draw.layer == "wide"] == [-(-FILTERS // 4)]
    with Session(bundle, context=context) as session:
        assert layer_error(session, "wide", stored_inputs(bundle, "wide", np.random.default_rng(1))) <= TOLERANCE
    more = made_of(network(channels=most + 4, activation="relu", quiet=True), uniform_vectors=3500)
    assert not any(weight_texture_of(more, "wide"))


def weight_texture_of(bundle: Bundle, layer: str) -> list[str]:
    """Return the textures of constants that the passes of a layer read."""
    constant = {texture.name for texture in bundle.manifest.textures if texture.kind == "constant"}
    return [
        name for draw in bundle.manifest.passes if draw.layer == layer for name in draw.textures if name in constant
    ]


def gated(operation: str, vector: bool, channels: int, picture: int) -> Graph:
    """Return a map times the gates of its channels, or an operation with a second map; ranges differ by channel."""
    rng = np.random.default_rng(channels)
    spread = np.geomspace(0.2, 20.0, channels).astype(np.float32)
    body = [input_node(picture)]
    for name in ("map", "other"):
        node = conv_node(rng, name, ("image",), 3, channels, activation="silu")
        weights = {name: values * spread for name, values in node.weights.items()}
        body.append(Node(node.name, node.op, node.inputs, node.attrs, weights))
    if vector:
        body.append(Node("mean", "global_average_pool", ("other",)))
        body.append(Node("gate", "activation", ("mean",), {"function": "sigmoid"}))
    second = "gate" if vector else "other"
    body.append(Node("subject", "binary", ("map", second), {"operation": operation}))
    return classifier(rng, body, channels)


@pytest.mark.parametrize("sixteen", [False, True])
@pytest.mark.parametrize(
    ("operation", "vector", "channels"), [("multiply", True, 32), ("multiply", False, 22), ("subtract", False, 22)]
)
def test_gates_of_all_slices_are_one_draw(
    context: Context, operation: str, vector: bool, channels: int, sixteen: bool
) -> None:
    rng = np.random.default_rng(5)
    pictures = [rng.integers(0, 256, (6, 6, 3), np.uint8) for _ in range(3)]
    graph = optimize(gated(operation, vector, channels, 6))
    bundle = make_bundle(graph, pictures=pictures, precision_for={"subject": 16} if sixteen else {})
    drawn = [draw for draw in bundle.manifest.passes if draw.layer == "subject"]
    assert len(drawn) <= (1 + sixteen) * (1 + (channels % 4 > 0)) and weight_texture_of(bundle, "subject")
    with Session(bundle, context=context) as session:
        assert layer_error(session, "subject", stored_inputs(bundle, "subject", rng)) <= TOLERANCE


@pytest.mark.parametrize(("operation", "picture"), [("maximum", 6), ("multiply", 96)])
def test_large_maps_and_some_operations_keep_uniforms(operation: str, picture: int) -> None:
    """Uniforms are used for large maps, where fetches take longer than draws, and for some operations.

    The effect of 24 bits is not known for these operations.
    """
    pictures = [np.random.default_rng(5).integers(0, 256, (picture, picture, 3), np.uint8)]
    bundle = make_bundle(optimize(gated(operation, False, 16, picture)), pictures=pictures)
    assert [len(draw.quads) for draw in bundle.manifest.passes if draw.layer == "subject"] == [1] * 4
    assert not weight_texture_of(bundle, "subject")


SUMS = {
    "sum": Node("alone", "add", ("one", "other"), {"activation": "relu"}),
    "twice": Node("alone", "add", ("one", "one"), {"activation": "linear"}),
    "function": Node("alone", "activation", ("one",), {"function": "relu"}),
}


@each_of(("channels", [20, 22]), ("kind", [*SUMS]))
def test_sums_and_functions_alone(context: Context, kind: str, channels: int) -> None:
    """All slices except an incomplete one take one draw."""
    rng = np.random.default_rng(channels)
    pictures = [rng.integers(0, 256, (6, 6, 3), np.uint8) for _ in range(3)]
    convs = [conv_node(rng, name, ("image",), 3, channels, activation="linear") for name in ("one", "other")]
    graph = classifier(rng, [input_node(6), *convs, SUMS[kind]], channels)
    bundle = make_bundle(graph, pictures=pictures, draw_cost=1000.0)
    assert len([draw for draw in bundle.manifest.passes if draw.layer == "alone"]) <= 1 + (channels % 4 > 0)
    with Session(bundle, context=context) as session:
        assert layer_error(session, "alone", stored_inputs(bundle, "alone", rng)) <= TOLERANCE


KERNELS = {(3, 3): (1, 1, 1, 1), (1, 7): (0, 0, 3, 3), (5, 5): (2, 2, 2, 2)}


def network_of_sums(seed: int, *, filters: int | None = None) -> Graph:
    """Return a layer of partial sums of a random shape; most have padding lanes, some a residual."""
    rng = np.random.default_rng(seed)
    kernel = list(KERNELS)[seed % 3]
    size = int(rng.integers(3, 10))
    filters = int(rng.integers(17, 70)) if filters is None else filters
    channels = int(rng.integers(2400, 4800)) // (kernel[0] * kernel[1])
    activation = (PLS, "relu(6)", "tanh", "clip(-2,3)")[seed % 4]
    body = [input_node(size), conv_node(rng, "feed", ("image",), 3, channels)]
    inputs: tuple[str, ...] = ("feed",)
    if seed % 2:
        body.append(conv_node(rng, "side", ("image",), 3, filters))
        inputs = ("feed", "side")
    strides = (1, 1) if seed % 2 else (2, 1)
    options = {"kernel": kernel, "padding": KERNELS[kernel], "strides": strides, "activation": activation}
    body.append(conv_node(rng, "wide", inputs, channels, filters, **options))
    return classifier(rng, body, filters)


def draws(bundle: Bundle) -> list[int]:
    """Return the number of quads of each draw of the sums."""
    return [len(draw.quads) for draw in bundle.manifest.passes if draw.layer == "wide"]


def error_of_sum(bundle: Bundle, context: Context) -> float:
    with Session(bundle, context=context) as session:
        return layer_error(session, "wide", stored_inputs(bundle, "wide", np.random.default_rng(1)))


@pytest.mark.sampled(3)
@each_of(("bits", [8, 16]), ("seed", range(8)))
def test_random_shapes(context: Context, seed: int, bits: int) -> None:
    graph = network_of_sums(seed)
    bundle = make_bundle(graph, precision_for={"wide": bits})
    filters = len(graph.by_name["wide"].weights["bias"])
    slices = -(-filters // 4)
    several = bits == 16 and seed % 4 > 1  # their activations have their own constants
    if not several:
        assert draws(bundle) in ([slices], [slices] * 2, [2 * slices])
    assert error_of_sum(bundle, context) <= TOLERANCE
    read = bundle.graph.by_name["wide"].weights
    bias = graph.by_name["wide"].weights["bias"]
    assert np.abs(read["bias"] - bias).max() < 1e-5 * np.abs(bias).max()


@pytest.mark.parametrize("case", ["pixels", "few", "planar"])
def test_many_pixels_few_slices_and_separate_textures_get_a_draw_per_slice(context: Context, case: str) -> None:
    """One draw per slice is chosen for many pixels, for few slices, and for separate textures.

    Many pixels cost more than the draws, and separate textures need separate draws.
    """
    graph = network_of_sums(1, filters={"few": 12}.get(case))
    cost = 0.2 if case == "pixels" else DRAW
    bundle = make_bundle(graph, layout="planar" if case == "planar" else "atlas", draw_cost=cost)
    assert set(draws(bundle)) == {1} and len(draws(bundle)) > 2
    assert error_of_sum(bundle, context) <= TOLERANCE


def test_biases_of_different_magnitudes_are_exact(context: Context) -> None:
    """The error of the smallest bias is the precision of 24 bits of the largest, far less than a step."""
    graph = network_of_sums(2)
    bias = graph.by_name["wide"].weights["bias"]
    bias[0], bias[1] = 900.0, 1e-6
    bundle = make_bundle(graph)
    assert len(draws(bundle)) == 1
    assert error_of_sum(bundle, context) <= TOLERANCE


def test_factors_of_different_magnitudes_have_a_draw_each(context: Context) -> None:
    graph = network_of_sums(0)
    graph.by_name["wide"].weights["kernel"][..., 0] *= 1e-5
    bundle = make_bundle(graph)
    assert len(draws(bundle)) > 2
    assert error_of_sum(bundle, context) <= TOLERANCE
