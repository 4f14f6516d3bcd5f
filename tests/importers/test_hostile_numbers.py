"""Models that an importer accepts but no bundle can store: the compiler refuses them and names the layer."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from onnx_networks import File

from glsl_infer.compiler.build import Options, build
from glsl_infer.errors import ModelError
from glsl_infer.importers import onnx as importer

MAP = (1, 4, 8, 6)
PICTURES = [np.random.default_rng(0).integers(0, 256, (8, 6, 4), np.uint8)]


def doubled(made: File, x: str) -> str:
    """Add finite values growing beyond all floats."""
    for _ in range(140):
        x = made.op("Add", [x, x], MAP)
    return x


def huge_weights(made: File, x: str) -> str:
    return made.op("Conv", [x, made.constant(np.full((4, 4, 3, 3), 3e38))], (1, 4, 6, 4))


def endless_epsilon(made: File, x: str) -> str:
    ones = made.constant(np.ones(4))
    return made.op("InstanceNormalization", [x, ones, ones], MAP, epsilon=float("inf"))


def long_chain(made: File, x: str) -> str:
    """Add a chain of unmergeable operations."""
    for index in range(2100):
        x = made.op(("Sin", "Abs", "Exp")[index % 3] if index % 3 != 1 else "Relu", [x], MAP)
    return x


@pytest.mark.parametrize(
    ("network", "said"),
    [
        (doubled, "layer '[^']+': its numbers grow beyond what a float holds"),
        (huge_weights, "layer '[^']+': its numbers grow beyond what a float holds"),
        (endless_epsilon, "layer '[^']+': an epsilon of inf"),
        (long_chain, "2,100 layers; a model has at most 2,048"),
    ],
)
def test_the_compiler_refuses(network: Callable[[File, str], str], said: str) -> None:
    made = File(0, 17)
    made.output(network(made, made.input(MAP)))
    with pytest.raises(ModelError, match=said) as told:
        build(importer.load(made.model()), (), options=Options(), calibration=PICTURES)
    assert len(str(told.value)) < 300


def test_a_map_that_no_texture_holds() -> None:
    """Refused before its 262,144 slices are placed."""
    made = File(0, 17)
    made.output(made.op("Sigmoid", [made.input((1, 1 << 20, 16, 16))], (1, 1 << 20, 16, 16)))
    with pytest.raises(ModelError, match="268,435,456 numbers; at most 67,108,864 are possible here"):
        build(importer.load(made.model()), ())


def test_a_message_stays_short() -> None:
    made = File(0, 17)
    x = made.input(MAP)
    for part in made.split(x, 1, [1] * 3000)[:1]:
        made.output(part)
    with pytest.raises(ModelError, match="options that make no sense") as told:
        importer.load(made.model())
    assert len(str(told.value)) < 400
