"""A layer whose weights fit neither an array nor a texture uses partial sums, not a long program per output slice."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from graphs import classifier, conv_node, input_node
from layer_check import PARTIAL_TOLERANCE, TOLERANCE, layer_error, stored_inputs

from glsl_infer.compiler.build import Options, build
from glsl_infer.gl.context import Context
from glsl_infer.graph import Graph
from glsl_infer.runtime.session import Session

pytestmark = pytest.mark.drivers


def rough(channels: int = 640, filters: int = 40) -> Graph:
    """Return a 1x1 convolution over many channels with one weight per filter so large that 8 bits are too few.

    The other weights would lose their precision in 8 bits.
    """
    rng = np.random.default_rng(5)
    layer = conv_node(rng, "rough", ("feed",), channels, filters)
    kernel = layer.weights["kernel"].copy()
    kernel[:, :, np.arange(filters), np.arange(filters)] = 40.0 * np.abs(kernel).max()
    body = [
        input_node(4),
        conv_node(rng, "feed", ("image",), 3, channels),
        replace(layer, weights={**layer.weights, "kernel": kernel}),
    ]
    return classifier(rng, body, filters)


@pytest.mark.parametrize("asked", [{}, {"rough": "baked"}], ids=["auto", "asked for as constants"])
def test_weights_that_fit_nowhere(context: Context, asked: dict[str, str]) -> None:
    graph = rough()
    made, program, prepared = build(graph, ("a", "b", "c"), options=Options(weights_for=asked))
    assert program.graph.by_name.keys() == prepared.graph.by_name.keys() == made.graph.by_name.keys()
    of_layer = {one.program for one in made.manifest.passes if one.layer.startswith("rough")}
    if asked:
        assert len(of_layer) == 10 and "rough-products" not in made.graph.by_name
        return
    assert len(of_layer) <= 3
    assert [layer.layer for layer in prepared.wide] == ["rough"] and "no texture" in prepared.wide[0].reason
    assert "rough-products" in {choice.layer for choice in prepared.scales}
    with Session(made, context=context) as session:
        inputs = stored_inputs(made, "rough-products", np.random.default_rng(1))
        assert layer_error(session, "rough-products", inputs) <= PARTIAL_TOLERANCE
        inputs = stored_inputs(made, "rough", np.random.default_rng(1))
        assert layer_error(session, "rough", inputs) <= TOLERANCE
