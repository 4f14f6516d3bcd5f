"""The export command for a model split between shaders and the CPU."""

from __future__ import annotations

import json
from pathlib import Path

import keras
import numpy as np
import pytest
from keras import layers as L
from PIL import Image

from glsl_infer import bundle as bundles
from glsl_infer.cli import main


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a small vision transformer, its labels and images."""
    folder = tmp_path_factory.mktemp("vit")
    keras.utils.set_random_seed(0)
    x = keras.Input((16, 16, 3), name="picture")
    y = L.Reshape((16, 8), name="rows")(L.Conv2D(8, 4, strides=4, activation="relu", name="stem")(x))
    y = L.Add()([y, L.MultiHeadAttention(2, 4, name="heads")(y, y)])
    y = L.Conv2D(4, 3, activation="relu", name="behind")(L.Reshape((4, 4, 8))(y))
    keras.Model(x, L.Dense(2)(L.GlobalAveragePooling2D()(y))).save(folder / "m.keras")
    (folder / "labels.txt").write_text("a\nb\n")
    for index in range(2):
        pixels = np.random.default_rng(index).integers(0, 256, (16, 16, 3), np.uint8)
        Image.fromarray(pixels).save(folder / f"{index}.png")
    return folder


def export(model: Path, out: Path, *more: str) -> int:
    labels, pictures = str(model / "labels.txt"), str(model / "0.png")
    arguments = ["export", str(model / "m.keras"), "-o", str(out), "--labels", labels, "--calibrate", pictures]
    return main([*arguments, "--verify", "0", *more])


def test_export_reports_the_parts(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "m.glslnn"
    assert export(model, out) == 0
    output = capsys.readouterr().out
    (line,) = [line for line in output.splitlines() if line.startswith("on the CPU: ")]
    assert "4 linear, 1 attention" in line and "3 parts, 1 of them on the CPU; a frame uploads" in line, line
    assert line.endswith("--no-delegate refuses instead")
    assert {"tensor_reshape", "linear", "attention"} < set(bundles.read(out).cpu_operators)
    assert export(model, out, "--delegate-for", "behind", "--json") == 0
    report = json.loads(capsys.readouterr().out)
    kinds = ["gpu", "cpu", "gpu"]
    assert [part["kind"] for part in report["parts"]] == kinds and "behind" in report["parts"][1]["layers"]
    drawn = [layer["layer"] for layer in report["layers"]]
    assert drawn[0] == "stem" and "behind" not in drawn
    assert main(["inspect", str(out), "--json"]) == 0
    described = json.loads(capsys.readouterr().out)
    assert [part["kind"] for part in described["parts"]] == kinds
    assert [row["layer"] for row in described["layers"]].count("heads") == 1


def test_no_delegate(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert export(model, tmp_path / "m.glslnn", "--no-delegate") == 2
    assert "layer 'rows': a reshape in this place has no shader" in capsys.readouterr().err
    assert not (tmp_path / "m.glslnn").exists()


def test_layers_that_are_not_there(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert export(model, tmp_path / "m.glslnn", "--delegate-for", "nobody") == 2
    assert "--delegate-for nobody: no layer of that name computes" in capsys.readouterr().err
    assert export(model, tmp_path / "m.glslnn", "--operator", "nowhere:f") == 2
    assert "--operator nowhere:f: the module cannot be imported" in capsys.readouterr().err
