"""glsl-infer train from folders to a bundle that distinguishes their images, on a real driver."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from glsl_infer.cli import main
from glsl_infer.gl.context import Context
from glsl_infer.runtime.classifier import Classifier
from glsl_infer.runtime.none_of_these import NONE
from glsl_infer.support.resources import default_model

pytestmark = pytest.mark.slow


def write_photographs(folder: Path) -> None:
    """Write images of blobs on stripes, in two colours."""
    random = np.random.default_rng(3)
    y, x = np.mgrid[0:160, 0:200]
    for label, colour in (("apple", (200, 30, 30)), ("leaf", (30, 160, 60))):
        (folder / label).mkdir(parents=True)
        for index in range(6):
            pixels = np.full((160, 200, 3), 200.0) + 20 * np.sin(x / random.uniform(3, 9))[..., None]
            distance = np.hypot(x - random.uniform(80, 120), y - random.uniform(60, 100))
            pixels[distance < random.uniform(40, 60)] = colour
            pixels += random.normal(0, 6, pixels.shape)
            Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8)).save(folder / label / f"{index}.png")


@pytest.mark.exhaustive
def test_training_from_folders_writes_a_bundle(
    context: Context, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_photographs(tmp_path / "photos")
    out = tmp_path / "own.glslnn"
    argv = ["train", str(tmp_path / "photos"), "-o", str(out), "--start", str(default_model()), "--json"]
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert main(argv) == 0
    printed = capsys.readouterr()
    assert "First use" not in printed.err
    lines = printed.err.split("\r\x1b[K")
    texts = [text.removeprefix("train: ") for text in lines if text.startswith("train: ")]
    steps = [re.match(r"step (\d) of 6, ", text) for text in texts]
    assert all(steps), texts
    assert [int(step[1]) for step in steps if step] == sorted(int(step[1]) for step in steps if step)
    for number, detail in (
        (1, r"photograph \d+ of 12"),
        (2, r"calibrating: \d+ of 12"),
        (2, r"shaders: layer \d+ of \d+"),
        (2, r"compiling \d+ shaders"),
        (3, r"photograph \d+ of 12, about \d+\.\d minutes left"),
        (4, r"cross-validation \d of 3"),
        (5, r"probe: layer \d+ of \d+"),
        (6, r"photograph 12 of 12"),
    ):
        assert any(re.fullmatch(rf"step {number} of 6, [^:]+: {detail}.*", text) for text in texts), (number, detail)
    report = json.loads(printed.out)
    assert report["classes"] == ["apple", "leaf"]
    assert report["photographs"] == [6, 6, 0]
    assert report["right"] == 1.0
    card = out.with_suffix(".md").read_text("utf-8")
    assert "| class, answer | apple | leaf | none of these |" in card
    with Image.open(out.with_suffix(".png")) as sheet:
        assert sheet.size == (960, 96 + 12 + 96)
    with Classifier(out, context=context) as classifier:
        assert classifier.labels == ("apple", "leaf", NONE)
        ranked = classifier.classify(tmp_path / "photos" / "leaf" / "2.png", top=3)
        assert next(prediction.label for prediction in ranked if prediction.label != NONE) == "leaf"
    assert main(["train", str(tmp_path / "photos"), "-o", str(out), "--start", str(tmp_path / "no.glslnn")]) == 2
