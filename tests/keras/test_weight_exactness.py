"""X22's logits with weights in textures are nearly as exact as with uniforms: trained and random, with and without
calibration images."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from glsl_infer import importers
from glsl_infer.compiler.build import Options, build
from glsl_infer.compiler.calibration_maps import clouds
from glsl_infer.compiler.optimize import optimize
from glsl_infer.graph import Graph, Node, reference

MODEL = Path(__file__).resolve().parents[2] / "models/trashnet-x22-129.keras"
SHAPE = (129, 129, 3)
TEST_IMAGES = [clouds(SHAPE, 100 + index) for index in range(3)]
CALIBRATION = [clouds(SHAPE, index) for index in range(4)]
ALLOWANCE = 0.002
"""Error of a logit that is always allowed. With random weights both errors are 1/1000 of the logits' deviation."""


def shuffled(node: Node, rng: np.random.Generator) -> Node:
    """Return a node with its weights in random order: untrained, with the same magnitudes."""
    if "kernel" not in node.weights:
        return node
    kernel = node.weights["kernel"]
    return replace(node, weights={**node.weights, "kernel": rng.permutation(kernel.ravel()).reshape(kernel.shape)})


@pytest.fixture(scope="module", params=["trained", "random"])
def graph(request: pytest.FixtureRequest) -> Graph:
    imported = importers.survey(MODEL).graph
    assert imported is not None
    if request.param == "trained":
        return imported
    rng = np.random.default_rng(0)
    return imported.rebuilt([shuffled(node, rng) for node in imported.nodes])


def centred(graph: Graph, mode: str) -> NDArray[np.float64]:
    """Return the logits of the test images, less the mean of each image, which a softmax ignores."""
    logits = np.stack([np.ravel(reference.run(graph, image, mode=mode)) for image in TEST_IMAGES])
    return np.asarray(logits - logits.mean(axis=1, keepdims=True), np.float64)


def test_auto_is_as_exact_as_weights_in_uniforms(graph: Graph) -> None:
    """8-bit weights in textures tripled the error of the trained network without calibration images."""
    exact = centred(optimize(graph), "float")
    labels = [f"class {index}" for index in range(exact.shape[1])]

    def error(weights: str, images: int) -> float:
        # Without the search for the best arrangement of maps, which takes most of the time.
        options = Options(weights=weights, memory="by-size", precision="8")
        bundle, *_ = build(graph, labels, options=options, calibration=CALIBRATION[:images])
        return float(np.abs(centred(bundle.graph, "stored") - exact).mean())

    uniform = error("uniform", 0)
    assert error("auto", 0) <= 1.4 * uniform + ALLOWANCE
    assert error("auto", len(CALIBRATION)) <= 1.8 * uniform + ALLOWANCE
