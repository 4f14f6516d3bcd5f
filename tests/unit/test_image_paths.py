"""The rule for images in folders, which all commands follow."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import Capture, refused
from PIL import Image
from tiny import LABELS, write_tiny

from glsl_infer.cli import main
from glsl_infer.errors import ImageError, InputError
from glsl_infer.runtime.pictures import decoding, paths, preprocess
from glsl_infer.tools.train import photographs

NO = "Pillow cannot read .heic images"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder of images, hidden data of macOS, Jupyter and a network disk, and other files."""
    photos = tmp_path / "photos"
    for name in (
        "a.JPG",
        "b.jfif",
        "c.jpe",
        "deep/d.png",
        ".ipynb_checkpoints/a.jpg",
        "__MACOSX/a.jpg",
        "@eaDir/a.jpg",
    ):
        (photos / name).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (8, 8), "red").save(photos / name, "JPEG")
    for name in ("._a.JPG", "deep/._d.png", ".DS_Store", "notes.txt", "e.heic"):
        (photos / name).write_bytes(b"\0\5\x16\7Mac OS X")
    return photos


def names(files: list[Path], folder: Path) -> list[str]:
    return [path.relative_to(folder).as_posix() for path in files]


def test_hidden_files_and_folders_are_not_images(folder: Path) -> None:
    assert names(paths.find([folder]), folder) == ["a.JPG", "b.jfif", "c.jpe", "deep/d.png", "e.heic"]
    hidden = folder / ".ipynb_checkpoints"
    assert names(paths.find([hidden]), hidden) == ["a.jpg"], "a folder that is named is not hidden"
    assert paths.find([folder / "._a.JPG"]) == [folder / "._a.JPG"], "nor is a file"
    (folder / "only").mkdir()
    (folder / "only/._x.jpg").write_bytes(b"")
    with pytest.raises(ImageError, match="no images in this folder"):
        paths.find([folder / "only"])


def test_formats_that_pillow_does_not_decode_are_counted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(decoding._PLUGINS, ".heic", ("no_such_plugin", "some-plugin"))
    messages: list[str] = []
    result = paths.find([folder], warn=messages.append)
    assert names(result, folder) == ["a.JPG", "b.jfif", "c.jpe", "deep/d.png"]
    assert len(messages) == 1 and messages[0].startswith(f"{folder}: 1 file is left out; {NO}")
    assert messages[0].endswith("-m pip install some-plugin")
    with pytest.raises(ImageError, match=NO):
        preprocess.open_image(folder / "e.heic")


def test_training_explains_formats_that_pillow_does_not_decode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(decoding._PLUGINS, ".heic", ("no_such_plugin", "some-plugin"))
    cat = tmp_path / "cat"
    cat.mkdir()
    for index in range(photographs.LEAST):
        (cat / f"{index}.heic").write_bytes(b"")
    with pytest.raises(InputError) as caught:
        photographs.find(tmp_path)
    message = str(caught.value)
    assert message.startswith(
        f"{cat}: 0 readable images; a class needs 5, better 30; {cat}: 5 files are left out; {NO}"
    )
    assert message.endswith("-m pip install some-plugin")


def test_training_follows_the_rule(folder: Path) -> None:
    (folder / "deep/d.png").unlink()
    for name in ("class", "__MACOSX/class", "@eaDir/class"):
        (folder / name).mkdir(parents=True, exist_ok=True)
        for index in range(photographs.LEAST):
            Image.new("RGB", (8, 8)).save(folder / name / f"{index}.jfif", "JPEG")
            (folder / name / f"._{index}.jfif").write_bytes(b"")
    (folder / "deep/._d.png").unlink()
    (folder / "deep").rmdir()
    result = photographs.find(folder)
    assert result.classes == ("class",) and len(result.files) == photographs.LEAST
    loose = len(paths.in_folder(folder)) - len(result.files)
    left_out = [warning for warning in result.warnings if "left out" in warning]
    assert left_out == [f"{folder}: {loose} images are left out, because they are not in the folder of a class"]


def test_a_folder_for_results_has_no_images(folder: Path, tmp_path: Path, capsys: Capture) -> None:
    model = write_tiny(tmp_path)
    for out in (folder, Path(f"{folder}/../photos")):
        assert "is the folder of the images" in refused(capsys, ["run", model, folder, "--out-dir", out])
    assert "is for one image" in refused(capsys, ["run", model, folder, "-o", tmp_path / "o.npz"])
    assert "cannot be used together" in refused(
        capsys, ["run", model, folder / "a.JPG", "-o", tmp_path / "o.npz", "--out-dir", tmp_path / "out"]
    )
    assert "is not a folder" in refused(capsys, ["run", model, folder, "--out-dir", model])
    assert not (tmp_path / "out").exists()


def test_labels_of_a_model(tmp_path: Path, capsys: Capture) -> None:
    assert main(["labels", str(write_tiny(tmp_path))]) == 0
    assert capsys.readouterr().out.splitlines() == list(LABELS)
    assert main(["labels"]) == 0
    assert len(capsys.readouterr().out.splitlines()) >= 81
