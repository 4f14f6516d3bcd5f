"""A tour of the engine in five minutes: an image, a convolution, a dense layer, and the resulting label.

Read it from top to bottom. Each test is one stage, and takes the result of the previous one:

    Graph -> optimize -> prepare -> lowering -> bundle -> Session -> Classifier
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import glsl_infer
from glsl_infer import bundle as bundles
from glsl_infer.compiler import lower
from glsl_infer.compiler.assemble import to_bundle
from glsl_infer.compiler.optimize import optimize
from glsl_infer.compiler.ranges import Calibration, prepare
from glsl_infer.graph import Graph, Node, reference
from glsl_infer.lowering.target import Target
from glsl_infer.program import CompiledNetwork

LABELS = ["red", "green", "blue"]
ORANGE = np.full((8, 8, 3), (255, 102, 0), np.uint8)
"""An image: rows, columns, channels, as bytes. The network reads 1.0, 0.4 and 0.0."""


def network() -> Graph:
    """Return a network for the dominant colour of an image, with weights simple enough for a check by hand."""
    mix = np.array([[1, 0, 0, -1], [0, 1, 0, -1], [0, 0, 1, -1]], np.float32)  # 3 channels in, 4 out
    nodes = (
        Node("picture", "input", (), {"shape": (8, 8, 3)}),
        # Red, green and blue are copied, and a fourth channel is 1 for a black pixel.
        Node(
            "colours",
            "conv2d",
            ("picture",),
            {"strides": (2, 2), "padding": (0, 0, 0, 0), "groups": 1, "activation": "linear"},
            {"kernel": mix.reshape(1, 1, 3, 4), "bias": np.array([0, 0, 0, 1], np.float32)},
        ),
        Node("cut", "activation", ("colours",), {"function": "relu"}),
        Node("mean", "global_average_pool", ("cut",), {"scale": None}),
        Node(
            "scores",
            "dense",
            ("mean",),
            {"activation": "linear"},
            {"kernel": np.eye(4, 3, dtype=np.float32) * 5, "bias": np.zeros(3, np.float32)},
        ),
        Node("probabilities", "softmax", ("scores",)),
    )
    return Graph("tour", nodes, "probabilities")


def test_1_a_graph_describes_the_computation() -> None:
    """An importer makes a graph from a model file, and ``reference`` computes it with NumPy."""
    graph = network()
    assert graph.shapes["colours"] == (4, 4, 4), "strides of 2 halve 8 x 8"
    values = dict(reference.layers(graph, ORANGE, mode="float"))
    np.testing.assert_allclose(values["colours"][0, 0], [1.0, 0.4, 0.0, -0.4], atol=1e-6)
    np.testing.assert_allclose(values["cut"][0, 0], [1.0, 0.4, 0.0, 0.0], atol=1e-6)
    np.testing.assert_allclose(values["scores"], [5.0, 2.0, 0.0], atol=1e-5)


@pytest.fixture(scope="module")
def optimized() -> Graph:
    return optimize(network())


def test_2_the_optimiser_makes_it_shorter(optimized: Graph) -> None:
    """The optimiser fuses the activation into the convolution and leaves softmax to the CPU."""
    assert [node.name for node in optimized.nodes] == ["picture", "colours", "mean", "scores"]
    assert optimized.by_name["colours"].attrs["activation"] == "relu"


@pytest.fixture(scope="module")
def prepared(optimized: Graph) -> Graph:
    rng = np.random.default_rng(0)
    typical = [rng.integers(0, 256, (8, 8, 3), np.uint8) for _ in range(4)]
    return prepare(optimized, Calibration([*typical, ORANGE])).graph


def test_3_values_become_bytes(prepared: Graph) -> None:
    """An ES 2.0 GPU stores bytes, so calibration images determine the values of bytes 0 and 255 in each channel."""
    exact = dict(reference.layers(prepared, ORANGE, mode="float"))
    stored = dict(reference.layers(prepared, ORANGE, mode="stored"))
    np.testing.assert_allclose(stored["scores"], [5.0, 2.0, 0.0], atol=0.1)
    assert np.abs(stored["scores"] - exact["scores"]).max() > 0, "rounding shows"


@pytest.fixture(scope="module")
def program(prepared: Graph) -> CompiledNetwork:
    return lower.to_program(prepared, Target(weights="baked"))


def test_4_lowering_makes_passes_of_fragment_shaders(program: CompiledNetwork) -> None:
    """A pass draws rectangles into a texture. Its shader computes four channels of one pixel."""
    first = program.passes[0]
    assert (first.layer, first.textures, len(first.quads)) == ("colours", ("picture",), 1)
    assert {step.layer for step in program.passes} == {"colours", "mean", "scores"}
    shader = next(program for program in program.programs if program.name == first.program)
    assert b"void main()" in program.members[shader.fragment]


@pytest.fixture(scope="module")
def file(program: CompiledNetwork, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tour") / "tour.glslnn"
    bundles.write(to_bundle(program, LABELS), path)
    return path


def test_5_a_bundle_is_all_that_a_runner_needs(file: Path) -> None:
    """A bundle has all that a runner needs: shaders, weights, labels and passes.

    The runners in Python, Java and TypeScript read the same file.
    """
    assert bundles.read(file).labels == tuple(LABELS)


def test_6_a_session_draws_it(file: Path, prepared: Graph) -> None:
    """A session draws the bundle with this machine's OpenGL ES 2.0 driver."""
    with glsl_infer.Session(file) as session:
        drawn = session.run(ORANGE)
        layers = dict(session.layers(ORANGE))
    np.testing.assert_allclose(drawn, reference.run(prepared, ORANGE), atol=0.05)
    np.testing.assert_allclose(layers["colours"][0, 0], [1.0, 0.4, 0.0, 0.0], atol=0.01)


def test_7_a_classifier_labels_an_image(file: Path, tmp_path: Path) -> None:
    """A classifier accepts any photograph, which it crops and scales to the network's 8 x 8 pixels first."""
    Image.new("RGB", (40, 30), (255, 102, 0)).save(tmp_path / "orange.png")
    with glsl_infer.Classifier(file) as classifier:
        first, second, third = classifier.classify(tmp_path / "orange.png")
    assert [first.label, second.label, third.label] == ["red", "green", "blue"]
    expected = np.exp([5.0, 2.0, 0.0]) / np.exp([5.0, 2.0, 0.0]).sum()
    np.testing.assert_allclose([first.probability, second.probability, third.probability], expected, atol=0.02)
