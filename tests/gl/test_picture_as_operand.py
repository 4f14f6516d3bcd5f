"""The input image as an operand in place of a feature map: its alpha must not reach padding lanes."""

from __future__ import annotations

import numpy as np
import pytest
from graphs import conv_node, input_node
from layer_check import make_bundle
from pairwise import pairs_of

from glsl_infer.gl.context import Context
from glsl_infer.graph import Graph, Node, reference
from glsl_infer.runtime.session import Session

pytestmark = pytest.mark.drivers("all")


@pairs_of(("layout", ["atlas", "planar"]), ("ends", [(0.0, 1.0), (-1.0, 1.0), (1.0, -1.0)]), ("joined", [False, True]))
def test_a_residual_that_is_or_holds_the_picture(
    context: Context, ends: tuple[float, float], layout: str, joined: bool
) -> None:
    rng = np.random.default_rng(0)
    low, high = ends
    image = input_node(7).with_attrs(scales=(high - low,), zeros=(-255.0 * low / (high - low),))
    options = {"kernel": (3, 3), "padding": (1, 1, 1, 1), "activation": "linear"}
    nodes = [image, conv_node(rng, "a", ("image",), 3, 4, **options)]
    if joined:
        nodes += [Node("both", "concat", ("a", "image")), conv_node(rng, "b", ("a", "both"), 4, 7, **options)]
    else:
        nodes.append(conv_node(rng, "b", ("a", "image"), 4, 3, **options))
    pictures = [rng.integers(0, 256, (7, 7, 3), np.uint8) for _ in range(3)]
    made = make_bundle(Graph("skip", tuple(nodes), "b"), "auto", layout, pictures)
    with Session(made, context=context, selfcheck=True) as session:
        given = session.run(pictures[0])
    step = max(made.values["b"].scales) / 255
    np.testing.assert_allclose(given, reference.run(made, pictures[0]), atol=1.01 * step)
