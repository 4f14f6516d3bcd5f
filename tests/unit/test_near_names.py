"""Suggestions for misspelt tasks, networks, outputs and install commands of packages."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from command_line import Capture, refused

import glsl_infer
from glsl_infer.errors import BundleError, InputError, pip_install
from glsl_infer.support.near_names import did_you_mean, nearest
from glsl_infer.tasks import reading
from glsl_infer.tools.get import catalogue


@pytest.mark.parametrize(
    ("word", "name"), [("landmark", "landmarks"), ("FACES", "faces"), ("clasify", "classify"), ("zzz", None)]
)
def test_nearest_name(word: str, name: str | None) -> None:
    assert nearest(word, ["classify", "faces", "landmarks"]) == name
    assert did_you_mean(word, ["classify", "faces", "landmarks"]) == (f" (did you mean {name}?)" if name else "")


def test_misspelt_tasks_and_networks() -> None:
    with pytest.raises(InputError, match=r"task 'face-mehs'.*did you mean face-mesh\?"):
        reading.find("face-mehs")
    with pytest.raises(InputError, match=r"task 'facez'.*did you mean faces\?"):  # not its other spelling, face
        reading.find("facez")
    with pytest.raises(InputError, match=r"'cats': no such task; give one of selfie, selfie-landscape, or a file"):
        glsl_infer.tasks.Segmenter("cats")
    with pytest.raises(InputError, match=r"'selfi': no such network \(did you mean selfie\?\)"):
        catalogue.chosen(["selfi"], catalogue.read())


def test_misspelt_files(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "trashnet.glslnn").write_bytes(b"")
    (tmp_path / "photo.jpg").write_bytes(b"")
    message = refused(capsys, ["inspect", tmp_path / "trashnt.glslnn"])
    assert f"no such file (did you mean {tmp_path / 'trashnet.glslnn'}?)" in message
    assert f"(did you mean {tmp_path / 'photo.jpg'}?)" in refused(capsys, ["detect", tmp_path / "photos.jpg"])
    assert "did you mean" not in refused(capsys, ["inspect", tmp_path / "else.glslnn"])
    assert "did you mean" not in refused(capsys, ["inspect", tmp_path / "missing/trashnet.glslnn"])


def test_other_spellings_of_tasks() -> None:
    assert reading.find("face").name == "faces" and reading.find("person").name == "people"
    models = catalogue.read()
    assert catalogue.chosen(["face"], models) == catalogue.chosen(["faces"], models)


def test_install_command_names_this_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python = tmp_path / "my venv/bin/python"
    monkeypatch.setattr(sys, "executable", str(python))
    assert pip_install("tflite") == f"'{python}' -m pip install tflite"
    monkeypatch.chdir(tmp_path)
    assert pip_install("tflite") == "'my venv/bin/python' -m pip install tflite"


def test_rules_are_only_in_debug_output(capsys: Capture, tmp_path: Path) -> None:
    model = tmp_path / "damaged.glslnn"
    model.write_bytes(b"PK\3\4" + bytes(30))
    message = refused(capsys, ["inspect", model])
    assert str(model) in message and "(rule" not in message
    from glsl_infer.cli import main

    with pytest.raises(BundleError, match=r"\(rule: container\)"):
        main(["inspect", str(model), "--debug"])
