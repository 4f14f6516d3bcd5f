"""The Java runner computes what the Python runner computes on the same driver: every layer, byte for byte."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from jvm import Jvm
from numpy.typing import NDArray
from tiny import tiny_bundle, write_tiny

import glsl_infer
from glsl_infer import bundle as bundles
from glsl_infer.program.layout import textures_of
from glsl_infer.runtime.pictures import preprocess

ROOT = Path(__file__).resolve().parents[2]
MODELS = sorted((ROOT / "models").glob("*.glslnn"))
EXAMPLE = ROOT / "docs" / "images" / "example.jpg"


def python_layers(model: Path, pixels: NDArray[np.uint8]) -> list[tuple[str, bytes]]:
    """Return the texels of the textures of every layer that draws, and its numbers, directly after its passes."""
    parts: list[tuple[str, bytes]] = []
    with glsl_infer.Session(model) as session:
        manifest = session.bundle.manifest
        places = {entry.layer: entry.value for entry in manifest.probe.layers}
        for name, numbers in session.layers(pixels):
            if name not in places:
                continue  # it only renames what others draw; a runner does not know it
            for texture in textures_of(places[name]):
                if texture != manifest.input.textures[0]:
                    parts.append((f"{name}: texture {texture}", session.read_texture(texture).tobytes()))
            parts.append((f"{name}: numbers", numbers.astype("<f4").tobytes()))
    return parts


def assert_same_layers(runner: Jvm, model: Path, pixels: NDArray[np.uint8], folder: Path) -> None:
    raw, out = folder / "picture.rgb", folder / "layers.bin"
    raw.write_bytes(pixels.tobytes())
    runner.json("layers", model, raw, out)
    given, at = out.read_bytes(), 0
    for what, expected in python_layers(model, pixels):
        assert given[at : at + len(expected)] == expected, what
        at += len(expected)
    assert at == len(given)


def test_there_are_models() -> None:
    assert MODELS


@pytest.mark.parametrize("model", MODELS, ids=lambda path: path.stem)
def test_every_layer(runner: Jvm, model: Path, tmp_path: Path) -> None:
    size = bundles.read(model).manifest.input.size
    assert_same_layers(runner, model, preprocess.load(EXAMPLE, size), tmp_path)


@pytest.mark.parametrize("model", MODELS, ids=lambda path: path.stem)
def test_whole_frames(runner: Jvm, model: Path, tmp_path: Path) -> None:
    with glsl_infer.Session(model) as session:
        size = session.bundle.manifest.input.size
        noise = np.random.default_rng(7).integers(0, 256, (size, size, 3), np.uint8)
        pictures = np.stack([preprocess.load(EXAMPLE, size), noise])
        expected = np.stack([session.run(one).reshape(-1) for one in pictures])
        statistics = session.statistics()
    outputs, facts = runner.run(model, pictures, tmp_path)
    assert outputs.tobytes() == expected.astype("<f4").tobytes()
    assert facts == {"gl_calls": statistics.gl_calls, "jobs": statistics.jobs}


@pytest.mark.parametrize("model", MODELS, ids=lambda path: path.stem)
def test_the_probe(runner: Jvm, model: Path) -> None:
    assert runner.json("check", model) == {"layers": len(bundles.read(model).manifest.probe.layers)}


@pytest.mark.parametrize("weights", ["auto", "baked", "uniform"])
@pytest.mark.parametrize("layout", ["atlas", "planar"])
def test_every_kind_of_bundle(runner: Jvm, tmp_path: Path, weights: str, layout: str) -> None:
    model = write_tiny(tmp_path, weights=weights, layout=layout)
    size = tiny_bundle().manifest.input.size
    pixels = np.random.default_rng(3).integers(0, 256, (size, size, 3), np.uint8)
    assert_same_layers(runner, model, pixels, tmp_path)
