"""Every layer and output of the Java runner has the bytes of the Python runner, on the same driver.

The bundles are the shipped models, small ones, those of .tflite and .onnx files, and one with the operator that
CONTRIBUTING.md adds.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import foreign_models
import new_operator
import numpy as np
import pytest
import small_models
from jvm import Jvm, input_words
from pairwise import each_of
from several import SEVERAL, several_bundle, several_inputs
from tiny import tiny_bundle, tiny_picture, write_tiny

import glsl_infer
from glsl_infer import bundle as bundles
from glsl_infer.program.layout import textures_of
from glsl_infer.runtime.pictures import preprocess
from models import RUN_EVERYWHERE

ROOT = Path(__file__).resolve().parents[2]
MODELS = sorted((ROOT / "models").glob("*.glslnn"))
EXAMPLE = ROOT / "docs" / "images" / "example.jpg"


def python_layers(model: Path, inputs: dict[str, Any]) -> dict[str, list[tuple[str, bytes]]]:
    """Return the texels and values of each layer that draws, read directly after its passes."""
    parts: dict[str, list[tuple[str, bytes]]] = {}
    with glsl_infer.Session(model) as session:
        values_of_layers = {probe.layer: probe.value for probe in session.bundle.manifest.probe.layers}
        for name, values in session.layers(inputs):
            if name in values_of_layers:  # other layers only rename drawn maps, and runners do not know them
                textures = [
                    (f"{name}: texture {texture}", session.read_texture(texture).tobytes())
                    for texture in textures_of(values_of_layers[name])
                ]
                parts[name] = [*textures, (f"{name}: numbers", values.astype("<f4").tobytes())]
        return {name: parts[name] for name in values_of_layers}  # in the order of the probe


def assert_same_layers(runner: Jvm, model: Path, inputs: dict[str, Any], folder: Path) -> None:
    """Compare the stored bytes of each layer with Python's."""
    out = folder / "layers.bin"
    runner.json("layers", model, out, *input_words(inputs, folder))
    data, at = out.read_bytes(), 0
    for parts in python_layers(model, inputs).values():
        for label, expected in parts:
            assert data[at : at + len(expected)] == expected, label
            at += len(expected)
    assert at == len(data)


def assert_same_results(runner: Jvm, model: Path, inputs: dict[str, Any], folder: Path) -> None:
    """Compare layers and outputs with Python's, bit for bit."""
    assert_same_layers(runner, model, inputs, folder)
    results = runner.frame(model, inputs, folder)
    with glsl_infer.Session(model) as session:
        expected = session.run(inputs)
    assert list(results) == list(expected)
    for output, values in expected.items():
        assert results[output].shape == values.shape
        assert results[output].tobytes() == values.astype("<f4").tobytes(), output


def test_there_are_models() -> None:
    assert MODELS


@pytest.mark.sampled(5)
@pytest.mark.parametrize("model", MODELS, ids=lambda path: path.stem)
def test_every_layer(runner: Jvm, model: Path, tmp_path: Path) -> None:
    picture = bundles.read(model).manifest.input
    assert_same_layers(runner, model, {picture.name: preprocess.load(EXAMPLE, picture.size)}, tmp_path)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("model", MODELS, ids=lambda path: path.stem)
def test_whole_frames(runner: Jvm, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Only the Python runner merges programs for llvmpipe, and so changes programs less often.
    monkeypatch.setattr("glsl_infer.runtime.drivers.shared_constants.merged", lambda bundle, most: bundle)
    with glsl_infer.Session(model) as session:
        size = session.bundle.manifest.input.size
        noise = np.random.default_rng(7).integers(0, 256, (size, size, 3), np.uint8)
        pictures = np.stack([preprocess.load(EXAMPLE, size), noise])
        expected = np.stack([session.run(picture).reshape(-1) for picture in pictures])
        statistics = session.statistics()
    outputs, facts = runner.run(model, pictures, tmp_path)
    assert outputs.tobytes() == expected.astype("<f4").tobytes()
    assert facts == {"gl_calls": statistics.gl_calls, "jobs": statistics.jobs}


@pytest.mark.sampled(5)
@pytest.mark.parametrize("model", MODELS, ids=lambda path: path.stem)
def test_java_checks_every_layer_of_the_probe(runner: Jvm, model: Path) -> None:
    assert runner.json("check", model) == {"layers": len(bundles.read(model).manifest.probe.layers)}


@each_of(("weights", ["auto", "baked", "uniform"]), ("layout", ["atlas", "planar"]))
def test_every_kind_of_bundle(runner: Jvm, tmp_path: Path, weights: str, layout: str) -> None:
    model = write_tiny(tmp_path, weights=weights, layout=layout)
    assert_same_layers(runner, model, {tiny_bundle().manifest.input.name: tiny_picture(3)}, tmp_path)


@pytest.mark.sampled(4)
@each_of(("name", [*SEVERAL]), ("layout", ["atlas", "planar"]))
def test_several_inputs_and_outputs(runner: Jvm, tmp_path: Path, name: str, layout: str) -> None:
    bundle, model = several_bundle(name, layout=layout), tmp_path / "several.glslnn"
    bundles.write(bundle, model)
    assert_same_results(runner, model, several_inputs(bundle.graph, seed=4), tmp_path)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", RUN_EVERYWHERE)
def test_small_models(runner: Jvm, tmp_path: Path, name: str) -> None:
    exported = small_models.exported(name)
    assert_same_results(runner, exported.path, exported.inputs, tmp_path)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", foreign_models.RUNNER_FILES)
def test_imported_files(runner: Jvm, tmp_path: Path, name: str) -> None:
    _, bundle, _ = foreign_models.exported(name, tmp_path)
    assert_same_results(runner, bundle, foreign_models.example_inputs(bundle), tmp_path)


@pytest.mark.exhaustive
def test_an_added_operator_runs_without_a_change(runner: Jvm, tmp_path: Path) -> None:
    project = new_operator.write_by_copy(tmp_path)
    outputs, _ = runner.run(project.bundle, project.picture[np.newaxis], tmp_path)
    np.testing.assert_allclose(outputs[0], project.output, atol=project.tolerance)
    assert runner.json("check", project.bundle)["layers"] == 5
