"""Tests of scripts/vc4/first_labels.py, which compares labels on the virtual VideoCore IV and on llvmpipe."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import first_labels
import pytest

from glsl_infer.tools.videocore.executor import Executor

pytestmark = pytest.mark.exhaustive

ROOT = Path(__file__).resolve().parents[2]
MODEL = ROOT / "models/trashnet-x22-129.glslnn"


@pytest.fixture
def split(tmp_path: Path) -> Path:
    for name, label in (("glass128", "glass"), ("cardboard18", "cardboard"), ("metal114", "paper")):
        (tmp_path / label).mkdir()
        shutil.copy(ROOT / f"docs/images/{name}.jpg", tmp_path / label)
    return tmp_path


def test_the_same_first_labels(
    split: Path, executor: Executor, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["first_labels.py", str(split), str(MODEL)])
    assert first_labels.main() == 0
    assert capsys.readouterr().out == "trashnet-x22-129: same in 3 of 3; right in 2, on llvmpipe in 2\n"


def test_another_label_is_told(
    split: Path, executor: Executor, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def said(model: Path, pictures: object, environment: dict[str, str]) -> list[str]:
        return ["cardboard", "glass", "paper" if "GALLIUM_DRIVER" in environment else "metal"]

    monkeypatch.setattr(first_labels, "labels", said)
    monkeypatch.setattr(sys, "argv", ["first_labels.py", str(split), str(MODEL)])
    assert first_labels.main() == 1
    told = capsys.readouterr().out
    assert "same in 2 of 3; right in 2, on llvmpipe in 3" in told
    assert "metal114.jpg: metal, on llvmpipe paper" in told


def test_what_it_cannot_compare(
    split: Path, executor: Executor, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for folder, model, message in (
        (split / "glass", MODEL, "no CLASS/*.jpg"),
        (split, ROOT / "models/superres-x2-96.glslnn", "no labels to compare"),
    ):
        monkeypatch.setattr(sys, "argv", ["first_labels.py", str(folder), str(model)])
        assert first_labels.main() == 2
        assert message in capsys.readouterr().err
