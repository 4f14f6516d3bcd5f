"""Gates and the following sum, fused into one layer."""

from __future__ import annotations

import numpy as np
import pytest
from graphs import conv_node, dense_node, input_node, pool_node
from layer_check import TOLERANCE, layer_error, make_bundle, stored_inputs

from glsl_infer.compiler.ranges.rewrites import gated_sums
from glsl_infer.gl.context import Context
from glsl_infer.graph import Graph, Node
from glsl_infer.runtime.session import Session

pytestmark = pytest.mark.drivers("all")

RANGE = {"scales": None, "zeros": None}


def network(rng: np.random.Generator, swap: bool = False, *more: Node) -> Graph:
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


@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize("swap", [False, True])
def test_it_is_exact(context: Context, swap: bool, bits: int) -> None:
    rng = np.random.default_rng(bits + swap)
    graph = network(rng, swap, conv_node(rng, "end", ("sum",), 10, 4))
    pictures = [rng.integers(0, 256, (6, 6, 3), np.uint8) for _ in range(4)]
    made = make_bundle(graph, pictures=pictures, precision_for={"sum": bits})
    assert "times" not in made.graph.by_name and made.graph.by_name["sum"].op == "gated_sum"
    with Session(made, context=context) as session:
        assert layer_error(session, "sum", stored_inputs(made, "sum", rng)) <= TOLERANCE


def test_what_others_read_stays_a_layer() -> None:
    rng = np.random.default_rng(1)
    for inputs in (("times", "sum"), ("times", "x", "x")):
        again = Node("again", "add", inputs, {"activation": "linear", **RANGE})
        graph = network(rng, False, again)
        assert gated_sums(graph).by_name.keys() == graph.by_name.keys()
