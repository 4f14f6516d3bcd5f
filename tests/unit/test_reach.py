"""Maps that only saturating functions read have no steps for values that these take for the same; 16 bits have room."""

from __future__ import annotations

import numpy as np
import pytest
from graphs import conv_node, input_node

from glsl_infer.compiler.amplification import errors
from glsl_infer.compiler.ranges import prepare
from glsl_infer.compiler.ranges.reach import of_function, reach
from glsl_infer.compiler.ranges.room import ROOM
from glsl_infer.graph import Graph, GraphOutput, Node, activations, reference
from glsl_infer.graph.host_steps import HostStep
from glsl_infer.graph.purposes import VALUES

RNG = np.random.default_rng(4)
PICTURES = [RNG.integers(0, 256, (12, 12, 3), np.uint8) for _ in range(3)]


def network(*more: Node, steps: tuple[str, ...] = (), factor: float = 400.0) -> Graph:
    """Return a convolution with large results, and what reads it."""
    logits = conv_node(RNG, "logits", ("image",), 3, 4, activation="linear")
    weights = {key: (value * factor).astype(np.float32) for key, value in logits.weights.items()}
    logits = Node("logits", logits.op, logits.inputs, logits.attrs, weights)
    body = [input_node(12), logits, *more]
    return Graph("g", body, [GraphOutput("mask", (body[-1].name,), tuple(map(HostStep, steps)), VALUES)])


LARGE = Node("large", "depth_to_space", ("logits",), {"block": 2})
SIGMOID = Node("mask", "activation", ("large",), {"function": "sigmoid"})
MASK = network(LARGE, SIGMOID)


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("sigmoid", -6.25, 6.25),
        ("tanh", -3.2, 3.2),
        ("relu", 0.0, np.inf),
        ("linear", -np.inf, np.inf),
        ("silu", -np.inf, np.inf),
    ],
)
def test_functions(text: str, low: float, high: float) -> None:
    function = activations.activation(text)
    ends = of_function(function)
    assert ends == pytest.approx((low, high), rel=0.06)
    beyond = np.array([value * factor for value in ends if np.isfinite(value) for factor in (1.0, 3.0, 50.0)])
    if len(beyond) and np.isfinite(function.high):
        assert np.ptp(function(beyond[beyond > 0])) <= (function.high - function.low) / 512.0


def test_a_map_that_a_sigmoid_reads_ends_where_the_sigmoid_does() -> None:
    found = reach(MASK)
    assert found["logits"] == found["large"] == of_function(activations.activation("sigmoid"))
    assert found["mask"] == (-np.inf, np.inf)
    (choice,) = (choice for choice in prepare(MASK, PICTURES).ranges if choice.layer == "logits")
    assert -6.6 <= choice.low <= -5.9 <= 5.9 <= choice.high <= 6.6


def test_two_readers_count_both() -> None:
    both = network(LARGE, SIGMOID, Node("sum", "add", ("large", "mask")))
    assert reach(both)["logits"] == (-np.inf, np.inf)


def test_steps_on_the_host_count_too() -> None:
    assert reach(network(steps=("sigmoid",)))["logits"] == of_function(activations.activation("sigmoid"))
    assert reach(network(steps=("softmax",)))["logits"] == (-np.inf, np.inf)
    assert reach(network())["logits"] == (-np.inf, np.inf)


@pytest.mark.parametrize("steps", [(), ("sigmoid",)])
def test_masks_are_finer(steps: tuple[str, ...]) -> None:
    graph = network(steps=steps) if steps else MASK
    made = prepare(graph, PICTURES).graph
    off = [reference.run(made, one) - reference.run(graph, one, mode="float") for one in PICTURES]
    assert np.abs(off).max() < 0.012  # half a step of 12.5 / 255 at the steepest place, and the mask's own; else 0.5
    assert max(errors(made, made, PICTURES).values()) < 1.0


def test_maps_of_16_bits_have_room() -> None:
    graph = network(factor=1.0)
    made = prepare(graph, PICTURES[:1], precision="16").graph.by_name["logits"]
    values = reference.run(graph, PICTURES[0], mode="float")
    zero, scale = made.attrs["zeros"][0], made.attrs["scales"][0]
    assert scale * (255.0 - zero) / 255.0 >= 0.99 * ROOM * values.max()
    assert scale * zero / 255.0 >= -0.99 * ROOM * min(values.min(), 0.0)
