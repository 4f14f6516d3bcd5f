"""The models of tests/models, complete networks of keras.applications, and the shipped models."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import small_models
from imported import check_model
from keras.src.applications import convnext

from glsl_infer import bundle
from glsl_infer.compiler.build import Options, build
from glsl_infer.importers.keras import load
from glsl_infer.tools.aibench.tests import TESTS
from models import NAMES, RUN_EVERYWHERE
from training.aibench.build import batch
from training.aibench.build import build as build_network
from training.aibench.networks import NETWORKS as AIBENCH
from training.aibench.networks import Network

LEAST_LIKE = 0.99
"""Correlation of 8-bit feature maps with floats. The models have random weights, which lose more than trained ones."""

LESS_LIKE = {"mask_argmax": 0.98, "pilotnet": 0.95}
"""Lower bounds of two models.

A pixel between two classes can take either class. The likeness of a single value depends on its relative error: 4 %,
although over 21 images it correlates with Keras' value to 0.9997.
"""


def test_models_of_every_runner_exist() -> None:
    assert set(RUN_EVERYWHERE) <= set(NAMES)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in RUN_EVERYWHERE else pytest.mark.exhaustive) for name in NAMES]
)
def test_a_model_exports_and_agrees_with_keras(name: str) -> None:
    exported = small_models.exported(name)
    assert not exported.refusal
    assert exported.floats <= 1e-5, "the importer differs from Keras"
    assert exported.likeness >= LESS_LIKE.get(name, LEAST_LIKE), "8 bits lose too much"


OPTIONS = {"weights": None, "input_shape": (32, 32, 3), "classes": 7, "classifier_activation": None}
NETWORKS = {
    "mobilenet": lambda **options: keras.applications.MobileNet(alpha=0.25, **options),
    "mobilenet-v2": lambda **options: keras.applications.MobileNetV2(alpha=0.35, **options),
    "resnet50": keras.applications.ResNet50,
}
EXPECTED = {
    ("mobilenet", True): {"input", "conv2d", "global_average_pool", "dense"},
    ("mobilenet", False): {"input", "conv2d"},
    ("mobilenet-v2", True): {"input", "conv2d", "global_average_pool", "dense"},
    ("mobilenet-v2", False): {"input", "conv2d"},
    ("resnet50", True): {"input", "conv2d", "zero_padding", "max_pool", "global_average_pool", "dense"},
}


def lively(model: keras.Model) -> keras.Model:
    """Set random statistics, and weights that keep values from vanishing or exploding."""
    rng = np.random.default_rng(0)
    for weight in model.weights:
        kind, shape = weight.path.rsplit("/", 1)[1], weight.shape
        if kind in ("gamma", "moving_variance"):
            weight.assign(rng.uniform(0.5, 1.5, shape))
        elif kind in ("beta", "moving_mean", "bias"):
            weight.assign(rng.normal(0, 0.3, shape))
        else:
            weight.assign(rng.normal(0, 1.5 / np.sqrt(np.prod(shape[:-1] if shape[-1] > 1 else shape[:-2])), shape))
    return model


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name, top", list(EXPECTED))
def test_published_architectures_compute_keras_outputs(name: str, top: bool) -> None:
    model = lively(NETWORKS[name](include_top=top, **OPTIONS))
    outputs = model(np.random.default_rng(1).uniform(-1, 1, (2, 32, 32, 3)), training=False)
    assert np.std(outputs[0] - outputs[1]) > 1e-2, "the comparison below would show nothing"
    graph = check_model(model, input_range=(-1, 1), fed=(-1.0, 1.0), tolerance=1e-4)
    assert {node.op for node in graph.nodes} == EXPECTED[name, top]


def test_the_head_of_mobilenet_with_its_softmax() -> None:
    model = lively(NETWORKS["mobilenet"](**{**OPTIONS, "classifier_activation": "softmax"}))
    graph = check_model(model, input_range=(-1, 1), fed=(-1.0, 1.0), tolerance=1e-4)
    assert [node.name for node in graph.nodes[-2:]] == [
        next(layer.name for layer in model.layers if isinstance(layer, keras.layers.GlobalAveragePooling2D)),
        "conv_preds",
    ]


def test_a_saved_file_with_the_layer_of_convnext(tmp_path: Path) -> None:
    image = keras.Input((6, 6, 3))
    scaled = convnext.LayerScale(0.5, 4)(keras.layers.Conv2D(4, 1)(image))
    keras.Model(image, scaled).save(tmp_path / "scaled.keras")
    assert [node.op for node in load(tmp_path / "scaled.keras").nodes] == ["input", "conv2d", "rescaling"]


MODELS = sorted((Path(__file__).resolve().parents[2] / "models").glob("*-x22-*.keras"))


SHARED_OTHERWISE = {"grocery-x22-385", "trashnet-x22-257"}
"""Models whose layers share other textures when they are exported again: their memory was planned by another method."""


LATER_UNIFORM = "byte_units"
"""Uniform of shaders with weights in textures, which the shipped models do not have yet."""


@pytest.mark.sampled(4)
@pytest.mark.parametrize("model", MODELS, ids=lambda path: path.stem)
def test_exporting_it_again_gives_the_same_members(model: Path) -> None:
    shipped = bundle.read(model.with_suffix(".glslnn"))
    # Weights in textures have 16 bits: the measurements in the cards use these.
    rebuilt, _, _ = build(load(model), shipped.labels, options=Options(weight_bits="16"))
    assert set(rebuilt.members) == set(shipped.members)
    different = [name for name in rebuilt.members if code(rebuilt, name) != code(shipped, name)]
    names = {"passes.bin", *(("graph.json", "weights/probe.bin") if model.stem in SHARED_OTHERWISE else ())}
    assert set(different) <= names  # names only: printing a difference of megabytes takes minutes
    assert len(rebuilt.manifest.passes) == len(shipped.manifest.passes)
    if model.stem in SHARED_OTHERWISE:
        return
    for draw, other in zip(rebuilt.manifest.passes, shipped.manifest.passes):
        assert replace(draw, uniforms={}) == replace(other, uniforms={})
        assert draw.uniforms.keys() - {LATER_UNIFORM} == other.uniforms.keys()
        assert all(same(value, draw.uniforms[name]) for name, value in other.uniforms.items())
    exported_manifest, shipped_manifest = (
        replace(
            manifest,
            passes=(),
            programs=[replace(program, uniforms=()) for program in manifest.programs],
            members={
                name: member
                for name, member in manifest.members.items()
                if name != "passes.bin" and not name.startswith("shaders/")
            },
        )
        for manifest in (rebuilt.manifest, shipped.manifest)
    )
    assert exported_manifest == shipped_manifest


def code(model: bundle.Bundle, member: str) -> bytes:
    """Return a member: shaders without comments, and those with weights in textures up to the declaration of these.

    Both are different in the shipped models, which were exported earlier.
    """
    data = model.members[member]
    if not member.startswith("shaders/"):
        return data
    lines = [line.partition(b"//")[0].rstrip() for line in data.splitlines()]
    text = b"\n".join(line for line in lines if line)
    return text.partition(b"uniform sampler2D weights;")[0]


def same(first: Any, second: Any) -> bool:
    """Return whether uniforms are equal up to the last bit, which depends on the CPU's order of additions."""
    if isinstance(first, tuple) and isinstance(second, tuple):
        return len(first) == len(second) and bool(np.allclose(first, second, rtol=1e-6, atol=0.0))
    return bool(first == second)


SMALL = {"srcnn": (24, 24), "vdsr": (24, 24), "srgan": (16, 16), "icnet": (192, 192), "dped": (16, 24)}
"""Image sizes (height, width) that are quick to compute and do not change the parameters."""


@pytest.mark.exhaustive
@pytest.mark.parametrize("network", AIBENCH, ids=lambda network: network.name)
def test_parameters_are_the_papers(network: Network) -> None:
    size = SMALL.get(network.name, (160, 160))
    count = network.build(*size).count_params()
    assert abs(count / network.parameters - 1.0) <= 0.03 or network.difference, f"{count} parameters"


def test_the_command_knows_the_same_networks() -> None:
    known_networks = {network.name: (network.width, network.height, network.values) for network in AIBENCH}
    assert {test.network: (test.width, test.height, test.values) for test in TESTS} == known_networks


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["srcnn", "vdsr", "srgan", "dped"])
def test_signals_live_and_weights_are_the_same_each_time(name: str) -> None:
    (network,) = (candidate for candidate in AIBENCH if candidate.name == name)
    height, width = SMALL[name]
    first, second = build_network(network, height, width), build_network(network, height, width)
    pictures = batch(network, height, width, first.input_shape[-1])
    values = np.asarray(first(pictures))
    assert np.array_equal(values, np.asarray(second(pictures)))
    assert np.isfinite(values).all() and 0.01 < values.std() < 10.0
    assert np.abs(values[0] - values[1]).mean() > 0.01, "it does not look at the picture"
