"""Constant maps, such as positional embeddings: added, multiplied and concatenated, in 8 and in 16 bits."""

from __future__ import annotations

import numpy as np
import pytest
from graphs import classifier, conv_node
from layer_check import TOLERANCE, layer_error, make_bundle, stored_inputs
from random_networks import drawn_nodes

from glsl_infer.compiler.build import Options
from glsl_infer.compiler.delegate import build
from glsl_infer.compiler.optimize import optimize
from glsl_infer.errors import InputError
from glsl_infer.gl.context import Context
from glsl_infer.graph import Graph, Node, reference
from glsl_infer.ops.constant_map import constant_map
from glsl_infer.runtime.session import Session

pytestmark = pytest.mark.drivers("all")


def network(height: int, width: int, channels: int) -> Graph:
    """Return a network with positions after a convolution, a mask of one channel, and concatenated coordinates."""
    rng = np.random.default_rng(3)
    ramps = [np.linspace(-1.0, 1.0, size) for size in (width, height)]
    body = [
        Node("image", "input", (), {"shape": (height, width, 3)}),
        conv_node(rng, "stem", ("image",), 3, channels, activation="linear"),
        constant_map("positions", rng.normal(0.0, 0.3, (height, width, channels))),
        Node("placed", "add", ("stem", "positions")),
        constant_map("mask", rng.uniform(0.5, 2.0, (height, width, 1))),
        Node("masked", "binary", ("placed", "mask"), {"operation": "multiply"}),
        constant_map("coordinates", np.stack(np.meshgrid(*ramps), axis=-1)),
        Node("joined", "concat", ("masked", "coordinates")),
        conv_node(rng, "last", ("joined",), channels + 2, 8, kernel=(3, 3), activation="relu"),
    ]
    return classifier(rng, body, 8)


@pytest.mark.parametrize("precision", ["8", "16"])
@pytest.mark.parametrize(("shape", "layout"), [((9, 8, 6), "atlas"), ((700, 4, 10), "atlas"), ((5, 5, 9), "planar")])
def test_as_the_reference(context: Context, precision: str, shape: tuple[int, int, int], layout: str) -> None:
    rng = np.random.default_rng(1)
    pictures = [rng.integers(0, 256, (*shape[:2], 3), np.uint8) for _ in range(2)]
    graph = optimize(network(*shape))
    made = make_bundle(graph, layout=layout, pictures=pictures, precision=precision)
    with Session(made, context=context, selfcheck=True) as session:
        for node in drawn_nodes(made):
            error = layer_error(session, node.name, stored_inputs(made, node.name, rng))
            bound = 0.01 if node.op == "constant_map" else TOLERANCE if precision == "8" else 2.0
            assert error <= bound, (node.name, error)
    kept = made.graph.by_name["positions"].weights["value"]
    wanted = graph.by_name["positions"].weights["value"]
    step = made.values["positions"].scale_of.max() / (255.0 if precision == "8" else 65280.0)
    assert 0.0 < np.abs(kept - wanted).max() <= 0.502 * step
    picture = {"image": pictures[0]}
    exact, floats = reference.run(made, picture), reference.run(graph, picture, mode="float")
    (name,) = exact
    share = 0.01 if precision == "8" else 0.0005
    np.testing.assert_allclose(exact[name], floats[name], atol=share * np.abs(floats[name]).max())


@pytest.mark.parametrize(
    "layers", [("stem",), ("placed",), ("masked",), ("stem", "last"), ("stem", "masked", "joined")]
)
def test_beside_layers_on_the_cpu(context: Context, layers: tuple[str, ...]) -> None:
    rng = np.random.default_rng(1)
    samples = [{"image": rng.integers(0, 256, (9, 8, 3), np.uint8)} for _ in range(2)]
    graph = network(9, 8, 6)
    made = build(graph, ["a", "b", "c"], options=Options(delegate_for=layers), calibration=samples)
    floats = next(iter(reference.run(graph, samples[0], mode="float").values()))
    with Session(made.bundle, context=context) as session:
        drawn = np.asarray(session.run(samples[0]["image"])).reshape(-1)
    assert len(made.parts) >= 2
    np.testing.assert_allclose(drawn, floats, atol=0.02 * np.abs(floats).max())


def test_a_constant_is_no_layer_to_move() -> None:
    with pytest.raises(InputError, match="--delegate-for mask: no layer of that name computes"):
        build(network(9, 8, 6), ["a", "b", "c"], options=Options(delegate_for=("mask",)))
