"""The slices of an output of one pixel form a column, are drawn as one rectangle, and are exact."""

from __future__ import annotations

import numpy as np
import pytest
from graphs import conv_node, input_node
from layer_check import TOLERANCE, layer_error, make_bundle, stored_inputs

from glsl_infer.gl.context import Context
from glsl_infer.graph import Graph, GraphOutput
from glsl_infer.runtime.session import Session

pytestmark = pytest.mark.drivers


@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize(("layout", "most"), [("atlas", 1), ("planar", 10)])
def test_a_head_of_one_pixel(context: Context, bits: int, layout: str, most: int) -> None:
    rng = np.random.default_rng(bits)
    head = conv_node(rng, "head", ("body",), 8, 37, kernel=(3, 3), strides=(3, 3), activation="linear")
    nodes = (input_node(3), conv_node(rng, "body", ("image",), 3, 8), head)
    made = make_bundle(
        Graph("test", nodes, [GraphOutput("numbers", ("head",), purpose="values")]),
        "texture",
        layout,
        [rng.integers(0, 256, (3, 3, 3), np.uint8)] * 2,
        precision_for={"head": bits},
    )
    passes = [one for one in made.manifest.passes if one.layer == "head"]
    assert {sum(quad.width * quad.height for quad in one.quads) for one in passes} == {10 * bits // 8 // len(passes)}
    assert len(passes) <= most and all(len(one.quads) <= bits // 8 for one in passes)
    with Session(made, context=context) as session:
        assert layer_error(session, "head", stored_inputs(made, "head", rng)) <= TOLERANCE
