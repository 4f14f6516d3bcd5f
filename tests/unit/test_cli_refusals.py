"""Invalid arguments end with exit code 2 and one line."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest
from command_line import Capture, refused
from PIL import Image
from tiny import tiny_graph

from glsl_infer.cli import main, main_classify
from glsl_infer.errors import ImageError, InputError
from glsl_infer.importers import keras
from glsl_infer.importers.core.report import ImportReport


def test_a_name_that_no_file_can_have(capsys: Capture) -> None:
    assert "cannot be read" in refused(capsys, ["classify", "a" * 300])


def test_a_folder_without_pictures(capsys: Capture, tmp_path: Path) -> None:
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / "notes.txt").write_text("no picture")
    assert f"{tmp_path}: a folder without pictures" in refused(capsys, ["classify", tmp_path])


def bad_models(folder: Path) -> dict[str, Path]:
    """Return invalid model files by defect."""
    paths = {
        name: folder / f"{name}.glslnn" for name in ("missing", "folder", "empty", "text", "foreign", "no manifest")
    }
    paths["folder"].mkdir()
    paths["empty"].write_bytes(b"")
    paths["text"].write_text("This is no model.\n")
    Image.new("RGB", (4, 4)).save(paths["foreign"], "PNG")
    with zipfile.ZipFile(paths["no manifest"], "w") as archive:
        archive.writestr("labels.txt", "a\nb\n")
    return paths


@pytest.mark.parametrize("kind", ["missing", "folder", "empty", "text", "foreign", "no manifest"])
def test_a_file_that_is_no_model(capsys: Capture, tmp_path: Path, picture: Path, kind: str) -> None:
    model = bad_models(tmp_path)[kind]
    message = refused(capsys, ["classify", picture, "--model", model])
    assert message.startswith(f"error: {model}: ")


@pytest.mark.parametrize("kept", [0.1, 0.5, 0.99])
def test_a_truncated_model(capsys: Capture, tmp_path: Path, picture: Path, kept: float) -> None:
    model = tmp_path / "cut.glslnn"
    with zipfile.ZipFile(model, "w") as archive:
        archive.writestr("manifest.json", json.dumps({"format": "glsl-infer"}))
        archive.writestr("labels.txt", "a\nb\n")
    model.write_bytes(model.read_bytes()[: int(model.stat().st_size * kept)])
    assert f"{model}: not a glsl-infer model, or cut off" in refused(capsys, ["classify", picture, "--model", model])


def export_refused(capsys: Capture, arguments: dict[str, Path], **changed: Path) -> str:
    given = {**arguments, **{{"out": "-o", "labels": "--labels"}.get(key, key): one for key, one in changed.items()}}
    options = [part for key, value in given.items() if key.startswith("-") for part in (key, value)]
    message = refused(capsys, ["export", given["model"], *options])
    assert not given["-o"].exists()
    return message


@pytest.mark.parametrize(
    "content", [None, b"", b"a\n\nb\n", b"\xff\xfe\n"], ids=["missing", "empty", "gap", "no UTF-8"]
)
def test_export_with_bad_labels(
    capsys: Capture,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    export_arguments: dict[str, Path],
    content: bytes | None,
) -> None:
    monkeypatch.setattr(keras, "survey", lambda path, *_: ImportReport((), tiny_graph()))
    labels = tmp_path / "bad.txt"
    if content is not None:
        labels.write_bytes(content)
    assert f"{labels}: " in export_refused(capsys, export_arguments, labels=labels)


def test_export_with_a_missing_calibration_folder(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, export_arguments: dict[str, Path]
) -> None:
    monkeypatch.setattr(keras, "survey", lambda path, *_: ImportReport((), tiny_graph()))
    export_arguments["--labels"].write_text("a\nb\nc\n")
    nowhere = tmp_path / "nowhere"
    given = {**export_arguments, "--calibrate": nowhere}
    assert f"{nowhere}: no such file" in export_refused(capsys, given)


def test_debug_shows_the_traceback(tmp_path: Path, export_arguments: dict[str, Path]) -> None:
    with pytest.raises(ImageError, match="no such file"):
        main(["classify", str(tmp_path / "no.jpg"), "--debug"])
    with pytest.raises(ImageError, match="no such file"):
        main_classify(["--debug", str(tmp_path / "no.jpg")])
    with pytest.raises(InputError, match="glslnn"):
        main(["export", "model.keras", "-o", "out.zip", "--labels", "labels.txt", "--debug"])
