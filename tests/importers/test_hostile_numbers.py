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


def doubled(file: File, x: str) -> str:
    """Add finite values growing beyond all floats."""
    for _ in range(140):
        x = file.op("Add", [x, x], MAP)
    return x


def huge_weights(file: File, x: str) -> str:
    return file.op("Conv", [x, file.constant(np.full((4, 4, 3, 3), 3e38))], (1, 4, 6, 4))


def endless_epsilon(file: File, x: str) -> str:
    ones = file.constant(np.ones(4))
    return file.op("InstanceNormalization", [x, ones, ones], MAP, epsilon=float("inf"))


def long_chain(file: File, x: str) -> str:
    """Add a chain of unmergeable operations."""
    for index in range(2100):
        x = file.op(("Sin", "Abs", "Exp")[index % 3] if index % 3 != 1 else "Relu", [x], MAP)
    return x


@pytest.mark.parametrize(
    ("network", "message"),
    [
        (doubled, "layer '[^']+': its numbers grow beyond what a float holds"),
        (huge_weights, "layer '[^']+': its numbers grow beyond what a float holds"),
        (endless_epsilon, "layer '[^']+': an epsilon of inf"),
        (long_chain, "2,100 layers; a model has at most 2,048"),
    ],
)
def test_the_compiler_refuses_values_and_chains_beyond_its_limits(
    network: Callable[[File, str], str], message: str
) -> None:
    file = File(0, 17)
    file.output(network(file, file.input(MAP)))
    with pytest.raises(ModelError, match=message) as error:
        build(importer.load(file.model()), (), options=Options(), calibration=PICTURES)
    assert len(str(error.value)) < 300


def test_a_map_larger_than_all_textures_is_refused() -> None:
    """Refused before its 262,144 slices are placed."""
    file = File(0, 17)
    file.output(file.op("Sigmoid", [file.input((1, 1 << 20, 16, 16))], (1, 1 << 20, 16, 16)))
    with pytest.raises(ModelError, match="268,435,456 numbers; at most 67,108,864 are possible here"):
        build(importer.load(file.model()), ())


def test_a_message_stays_short() -> None:
    file = File(0, 17)
    x = file.input(MAP)
    for piece in file.split(x, 1, [1] * 3000)[:1]:
        file.output(piece)
    with pytest.raises(ModelError, match="options that make no sense") as error:
        importer.load(file.model())
    assert len(str(error.value)) < 400
