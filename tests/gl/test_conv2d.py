"""Convolutions of random shapes on the GPU against the float64 reference."""

from __future__ import annotations

import numpy as np
import pytest
from graphs import classifier, conv_node, input_node, stored_map
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from layer_check import allowed, layer_error, make_bundle, stored_inputs

from glsl_infer.gl.context import Context
from glsl_infer.graph import Graph
from glsl_infer.importers.keras import same_padding
from glsl_infer.program.layout import FeatureMap
from glsl_infer.runtime.session import Session

pytestmark = pytest.mark.drivers("all")

ACTIVATIONS = ["piecewise_linear_sigmoid", "hard_sigmoid", "sigmoid"]


@st.composite
def shapes(draw: st.DrawFn) -> dict[str, object]:
    """Draw the shape of a random convolution, small enough for one test."""
    groups = draw(st.sampled_from([1, 1, 2, 3, 4, 8]))
    group_channels = draw(st.sampled_from([1, 2, 3, 4, 5, 8, 12]))
    if groups == 1:
        group_channels = draw(st.integers(1, 32))
    kernel = (draw(st.sampled_from([1, 2, 3, 5])), draw(st.sampled_from([1, 3, 5])))
    strides = (draw(st.integers(1, 3)), draw(st.integers(1, 3)))
    size = draw(st.integers(6, 14))
    padding = draw(st.sampled_from(["valid", "same", "free"]))
    if padding == "same":
        pads = (*same_padding(size, kernel[0], strides[0]), *same_padding(size, kernel[1], strides[1]))
    else:
        pads = tuple(draw(st.integers(0, 2)) for _ in range(4)) if padding == "free" else (0, 0, 0, 0)
    return {
        "size": size,
        "channels": groups * group_channels,
        "filters": groups * draw(st.integers(1, 5)),
        "groups": groups,
        "kernel": kernel,
        "strides": strides,
        "padding": pads,
        "activation": draw(st.sampled_from(ACTIVATIONS)),
        "residual": draw(st.booleans()),
        "weights": draw(st.sampled_from(["baked", "uniform", "texture"])),
        "seed": draw(st.integers(0, 1 << 30)),
    }


def convolution_graph(rng: np.random.Generator, shape: dict[str, object]) -> Graph:
    """Return an input, a layer with the given channels, optionally a residual, and the convolution under test."""
    image = input_node(int(str(shape["size"])))
    feed = conv_node(rng, "feed", ("image",), 3, shape["channels"])
    options = {key: shape[key] for key in ("kernel", "groups", "strides", "padding", "activation")}
    body = [image, feed]
    inputs: tuple[str, ...] = ("feed",)
    if shape["residual"]:
        body.append(conv_node(rng, "residual", ("feed",), shape["channels"], shape["filters"], **options))
        inputs = ("feed", "residual")
    body.append(conv_node(rng, "conv", inputs, shape["channels"], shape["filters"], **options))
    return classifier(rng, body, shape["filters"])


@pytest.mark.exhaustive
@given(shapes())
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_random_convolutions_are_exact(context: Context, shape: dict[str, object]) -> None:
    rng = np.random.default_rng(shape["seed"])
    graph = convolution_graph(rng, shape)
    bundle = make_bundle(graph, str(shape["weights"]))
    with Session(bundle, context=context) as session:
        drawn = [name for name in ("conv-products", "conv") if name in bundle.graph.by_name]
        errors = {name: layer_error(session, name, stored_inputs(bundle, name, rng)) for name in drawn}
    assert all(error <= allowed(bundle, name) for name, error in errors.items()), errors


@pytest.mark.parametrize("weights", ["baked", "uniform", "texture"])
@pytest.mark.parametrize("filters", [1, 3, 4, 6])
def test_pad_lanes_hold_zero(context: Context, filters: int, weights: str) -> None:
    rng = np.random.default_rng(filters)
    graph = classifier(rng, [input_node(5), conv_node(rng, "conv", ("image",), 3, filters)], filters)
    bundle = make_bundle(graph, weights)
    with Session(bundle, context=context) as session:
        session.run_layer("conv", [stored_map(rng, (5, 5, 3))])
        value = bundle.values["conv"]
        assert isinstance(value, FeatureMap)
        view = value.views[-1]
        texture = session.read_texture(view.texture)
    tile = texture[view.y : view.y + 5, view.x : view.x + 5]
    assert tile[..., : (filters - 1) % 4 + 1].any()
    assert not tile[..., (filters - 1) % 4 + 1 :].any()


def test_gutters_stay_zero_under_same_padding(context: Context) -> None:
    rng = np.random.default_rng(1)
    body = [
        input_node(6),
        conv_node(rng, "first", ("image",), 3, 20),
        conv_node(rng, "second", ("first",), 20, 20, kernel=(5, 5), groups=5, padding=(2, 2, 2, 2)),
    ]
    bundle = make_bundle(classifier(rng, body, 20), memory="naive")  # a shared texture would contain a later layer
    with Session(bundle, context=context) as session:
        for _ in range(2):
            session.run(rng.integers(0, 256, (6, 6, 3), np.uint8))
        texture = session.read_texture("first")
    value = bundle.values["first"]
    assert isinstance(value, FeatureMap)
    assert value.gutter == 2
    inside = np.zeros(texture.shape[:2], bool)
    for view in value.views:
        inside[view.y : view.y + 6, view.x : view.x + 6] = True
    assert texture[inside].any()
    assert not texture[~inside].any()
