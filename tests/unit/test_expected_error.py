"""Ranges by expected error: the error measure, and results at least as good as widened extremes."""

from __future__ import annotations

import numpy as np
import pytest
from graphs import conv_node, input_node
from numpy.typing import NDArray

from glsl_infer.compiler import optimize
from glsl_infer.compiler.calibration_maps import clouds
from glsl_infer.compiler.ranges import Calibration, Precision, prepare
from glsl_infer.compiler.ranges.expected_error import clipped_energy_of, least_error_range
from glsl_infer.compiler.ranges.observed import Observation, observe
from glsl_infer.graph import Graph, GraphOutput, Node, reference
from glsl_infer.graph.purposes import VALUES

NETWORKS, SIDE = 30, 16
FUNCTIONS = ("relu", "linear", "relu(6)", "leaky_relu(0.2)", "hard_silu")


def observation(values: NDArray[np.float64]) -> Observation:
    """Return the calibration statistics of a map of (pixels, channels)."""
    node = Node("image", "input", (), {"shape": (1, *values.shape), "fit": None, "scales": (1.0,), "zeros": (0.0,)})
    copy = Node("copy", "activation", ("image",), {"function": "linear"})
    return observe(Graph("g", (node, copy), "copy"), ["copy"], [values[None].astype(np.float32)])["copy"][0]


def bounds(
    pictures: list[NDArray[np.float64]], low: float = -np.inf
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    observations = [observation(picture) for picture in pictures]
    return least_error_range(observations, low, np.inf, common=False, equal=False).ends(pictures[0].shape[1])


def test_a_range_covers_values_common_to_all_images() -> None:
    rng = np.random.default_rng(0)
    pictures = [rng.uniform(-1.0, 3.0, (400, 4)) for _ in range(16)]
    low, high = bounds(pictures)
    assert (high >= 2.9).all()
    assert (high <= 4.5).all()
    assert (low <= -0.9).all()
    assert (low >= -2.0).all()


def test_one_picture_on_which_a_layer_explodes_costs_the_others_little() -> None:
    rng = np.random.default_rng(1)
    pictures = [rng.uniform(0.0, 1.0, (400, 4)) for _ in range(15)]
    _, high = bounds([*pictures, rng.uniform(0.0, 300.0, (400, 4))], low=0.0)
    assert (high < 10.0).all()
    assert (high >= 0.9).all()


def test_a_channel_that_only_one_picture_moves_is_kept() -> None:
    rng = np.random.default_rng(2)
    pictures = [rng.uniform(0.0, 1.0, (400, 4)) * (1.0, 1.0, 1.0, 0.01) for _ in range(15)]
    strong = rng.uniform(0.0, 1.0, (400, 4))
    _, high = bounds([*pictures, strong], low=0.0)
    assert high[3] > 0.8


def test_one_image_gets_headroom() -> None:
    rng = np.random.default_rng(3)
    picture = rng.uniform(0.0, 1.0, (400, 4))
    of_one_image, of_64_images = bounds([picture], low=0.0)[1], bounds([picture] * 64, low=0.0)[1]
    assert (of_one_image >= of_64_images).all()
    assert of_one_image.max() > 1.2


def random_network(seed: int) -> Graph:
    """Return a few convolutions whose channels differ in size, as training leaves them."""
    rng = np.random.default_rng(seed)
    body = [input_node(SIDE)]
    channels = 3
    for index in range(int(rng.integers(2, 5))):
        filters = int(rng.integers(4, 13))
        node = conv_node(
            rng, f"conv{index}", (body[-1].name,), channels, filters, activation=str(rng.choice(FUNCTIONS))
        )
        factors = np.exp(rng.normal(0.0, 0.7, filters))
        weights = {key: (value * factors).astype(np.float32) for key, value in node.weights.items()}
        body.append(Node(node.name, node.op, node.inputs, node.attrs, weights))
        channels = filters
    return optimize.optimize(Graph("test", body, [GraphOutput("map", (body[-1].name,), (), VALUES)]))


def noise(graph: Graph, pictures: list[NDArray[np.uint8]], count: int, precision: str = "8") -> float:
    """Return the mean noise of a network's outputs on images outside its calibration set, in dB of the signal."""
    prepared = prepare(graph, Calibration(pictures[:count]), precision=Precision(precision)).graph
    ratios = []
    for picture in pictures[16:]:
        exact = reference.run(prepared, picture, mode="float")
        error = reference.run(prepared, picture, mode="stored") - exact
        ratios.append(10.0 * np.log10(((error**2).mean() + 1e-12) / (exact.var(axis=(0, 1)).mean() + 1e-12)))
    return float(np.mean(ratios))


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 4, 16])
def test_thirty_networks_are_no_worse_with_auto_than_in_8_bits(count: int) -> None:
    pictures = [clouds((SIDE, SIDE, 3), seed) for seed in range(24)]
    graphs = [random_network(100 + seed) for seed in range(NETWORKS)]
    gain = np.array([noise(graph, pictures, count) - noise(graph, pictures, count, "auto") for graph in graphs])
    assert gain.min() >= -0.4
    assert gain.mean() >= 1.0


def test_few_images_give_widened_extremes() -> None:
    pictures = [clouds((SIDE, SIDE, 3), seed) for seed in range(8)]
    assert {choice.by for choice in prepare(random_network(0), Calibration(pictures)).ranges} == {"maximum"}


def test_the_clipping_error_of_an_image_is_independent_of_the_others() -> None:
    """The clipping error of an image is the mean of ``max(x - end, 0) ** 2`` on each side, whatever the others are."""
    rng = np.random.default_rng(3)
    pictures = [rng.normal(0.0, 1.0, (2000, 3)), np.zeros((2000, 3)), rng.normal(0.0, 9.0, (2000, 3))]
    shares = clipped_energy_of([observation(picture) for picture in pictures])
    for side, sign in enumerate((1.0, -1.0)):
        for picture, tails in zip(pictures, shares.tails[side]):
            beyond = np.maximum(sign * picture[:, :, None] - shares.edges, 0.0)
            little = 2e-3 * float((picture**2).mean())  # sizes are exact to an eighth of an octave
            np.testing.assert_allclose(tails, (beyond**2).mean(axis=0), rtol=0.05, atol=little)
