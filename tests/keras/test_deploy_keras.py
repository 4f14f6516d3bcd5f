"""glsl-infer deploy exports the Keras models of its file."""

from __future__ import annotations

import json
from pathlib import Path

import keras
import pytest
from planted_modules import executed, plant

from glsl_infer import bundle
from glsl_infer.cli import main
from glsl_infer.program.layout import FeatureMap, textures_of
from training.models import x22


@pytest.mark.exhaustive
def test_a_keras_model_is_exported_with_its_options(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(plant(tmp_path))
    keras.utils.set_random_seed(3)
    x22(33, 2, stages=2, width=1).save(tmp_path / "m.keras")
    (tmp_path / "labels.txt").write_text("a\nb\n")
    options = "weights: uniform, layout: planar, input_size: 33"
    text = f"models:\n  - {{name: m, source: m.keras, labels: labels.txt, {options}}}\n"
    (tmp_path / "d.yml").write_text(text)
    assert main(["deploy", str(tmp_path / "d.yml"), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert executed(tmp_path) == []  # modules next to the model are not executed
    network = bundle.read(tmp_path / "d/models/m.glslnn")
    assert network.labels == ("a", "b")
    assert report["models"][0]["passes"] == len(network.manifest.passes)
    first = network.values["b0-conv"]
    assert isinstance(first, FeatureMap)
    assert len(textures_of(first)) == len(first.views) > 1  # planar: a texture for each slice
    (tmp_path / "labels.txt").write_text("a\n")
    assert main(["deploy", str(tmp_path / "d.yml")]) == 2
    assert capsys.readouterr().err.startswith("error: model 'm': ")
