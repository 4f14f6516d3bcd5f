"""Partial sums of all slices of a wide convolution are added in one draw, with their constants in a texture."""

from __future__ import annotations

import numpy as np
import pytest
from graphs import PLS, classifier, conv_node, input_node
from layer_check import TOLERANCE, layer_error, make_bundle, stored_inputs
from pairwise import each_of

from glsl_infer.bundle import Bundle
from glsl_infer.gl.context import Context
from glsl_infer.graph import Graph
from glsl_infer.lowering.weights_plan import DRAW
from glsl_infer.runtime.session import Session

pytestmark = pytest.mark.drivers("all")

KERNELS = {(3, 3): (1, 1, 1, 1), (1, 7): (0, 0, 3, 3), (5, 5): (2, 2, 2, 2)}


def network(seed: int, *, filters: int | None = None) -> Graph:
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
    return [len(entry.quads) for entry in bundle.manifest.passes if entry.layer == "wide"]


def error(bundle: Bundle, context: Context) -> float:
    with Session(bundle, context=context) as session:
        return layer_error(session, "wide", stored_inputs(bundle, "wide", np.random.default_rng(1)))


@pytest.mark.sampled(3)
@each_of(("bits", [8, 16]), ("seed", range(8)))
def test_random_shapes(context: Context, seed: int, bits: int) -> None:
    graph = network(seed)
    bundle = make_bundle(graph, precision_for={"wide": bits})
    filters = len(graph.by_name["wide"].weights["bias"])
    slices = -(-filters // 4)
    several = bits == 16 and seed % 4 > 1  # their activations have their own constants
    assert draws(bundle) in ([slices], [slices] * 2, [2 * slices]) or several
    assert error(bundle, context) <= TOLERANCE
    read = bundle.graph.by_name["wide"].weights
    bias = graph.by_name["wide"].weights["bias"]
    assert np.abs(read["bias"] - bias).max() < 1e-5 * np.abs(bias).max()


@pytest.mark.parametrize("case", ["pixels", "few", "planar"])
def test_many_pixels_few_slices_and_separate_textures_get_a_draw_per_slice(context: Context, case: str) -> None:
    """One draw per slice is chosen for many pixels, for few slices, and for separate textures.

    Many pixels cost more than the draws, and separate textures need separate draws.
    """
    graph = network(1, filters={"few": 12}.get(case))
    cost = 0.2 if case == "pixels" else DRAW
    bundle = make_bundle(graph, layout="planar" if case == "planar" else "atlas", draw_cost=cost)
    assert set(draws(bundle)) == {1} and len(draws(bundle)) > 2
    assert error(bundle, context) <= TOLERANCE


def test_biases_of_different_magnitudes_are_exact(context: Context) -> None:
    """The error of the smallest bias is the precision of 24 bits of the largest, far less than a step."""
    graph = network(2)
    bias = graph.by_name["wide"].weights["bias"]
    bias[0], bias[1] = 900.0, 1e-6
    bundle = make_bundle(graph)
    assert len(draws(bundle)) == 1
    assert error(bundle, context) <= TOLERANCE


def test_factors_of_different_magnitudes_have_a_draw_each(context: Context) -> None:
    graph = network(0)
    graph.by_name["wide"].weights["kernel"][..., 0] *= 1e-5
    bundle = make_bundle(graph)
    assert len(draws(bundle)) > 2
    assert error(bundle, context) <= TOLERANCE
