"""glsl-infer collect: a key for each class, with image files and a pseudo terminal."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import av
import numpy as np
import pytest
from command_line import Capture, refused
from fake_picamera import Picamera
from PIL import Image

from glsl_infer.cli import main
from glsl_infer.cli.collect import CAMERA


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    folder = tmp_path / "pictures"
    folder.mkdir()
    for index in range(4):
        Image.new("RGB", (8, 8), (60 * index, 0, 0)).save(folder / f"{index}.png")
    return folder


def counts(folder: Path) -> dict[str, int]:
    return {path.name: len(list(path.glob("*.jpg"))) for path in sorted(folder.iterdir())}


@pytest.mark.parametrize(
    ("keys", "cats", "nones"), [("1221", 2, 2), ("1q", 1, 0), (" x2", 0, 1), ("", 0, 0), ("11111", 4, 0)]
)
def test_each_key_stores_an_image_of_its_class(
    pictures: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    keys: str,
    cats: int,
    nones: int,
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(keys))
    out = tmp_path / "photos"
    assert main(["collect", "--source", str(pictures), "--classes", "cat,none", "-o", str(out), "--json"]) == 0
    assert counts(out) == {"cat": cats, "none": nones} == json.loads(capsys.readouterr().out)


def test_a_film_stops_at_every_nth_frame(
    pictures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    film = tmp_path / "film.gif"
    frames = [Image.open(path) for path in sorted(pictures.iterdir())]
    frames[0].save(film, save_all=True, append_images=frames[1:])
    monkeypatch.setattr(sys, "stdin", io.StringIO("1111"))
    argv = ["collect", "--source", str(film), "--every", "3", "--classes", "cat", "-o", str(tmp_path / "photos")]
    assert main(argv) == 0 and counts(tmp_path / "photos") == {"cat": 2}
    assert capsys.readouterr().err.splitlines()[1:] == ["frame 1 of 4", "cat: 1", "frame 4 of 4", "cat: 2"]
    shades = sorted(Image.open(path).getpixel((4, 4))[0] for path in (tmp_path / "photos/cat").iterdir())
    assert shades == pytest.approx([0, 180], abs=3)


def test_the_terminal_shows_the_position_in_a_film(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    film = tmp_path / "film.mp4"
    with av.open(str(film), "w") as container:
        stream = container.add_stream("mpeg4", rate=10)
        stream.width = stream.height = 32
        for _ in range(700):
            frame = av.VideoFrame.from_ndarray(np.full((32, 32, 3), 90, np.uint8), format="rgb24")
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    monkeypatch.setattr(sys, "stdin", io.StringIO("   "))
    argv = ["collect", "--source", str(film), "--every", "320", "--classes", "cat", "-o", str(tmp_path / "photos")]
    assert main(argv) == 0
    assert capsys.readouterr().err.splitlines()[1:] == [
        "frame 1 of 700, 0:00 of 1:10",
        "frame 321 of 700, 0:32 of 1:10",
        "frame 641 of 700, 1:04 of 1:10",
    ]


def test_the_terminal_shows_the_position_in_a_folder(
    pictures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(" 1q"))
    assert main(["collect", "--source", str(pictures), "--classes", "cat", "-o", str(tmp_path / "photos")]) == 0
    assert capsys.readouterr().err.splitlines()[1:] == [
        f"image 1 of 4, {pictures}/0.png",
        f"image 2 of 4, {pictures}/1.png",
        "cat: 1",
        f"image 3 of 4, {pictures}/2.png",
    ]


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo terminals")
def test_a_terminal_gives_keys_without_enter(pictures: Path, tmp_path: Path) -> None:
    primary, terminal = os.openpty()
    out = tmp_path / "photos"
    argv = ["collect", "--source", str(pictures), "--classes", "cat,none", "-o", str(out)]
    command = [sys.executable, "-m", "glsl_infer", *argv]
    with subprocess.Popen(command, stdin=terminal, stderr=subprocess.PIPE) as process:
        try:
            assert process.stderr is not None
            assert b"press 1 for cat, 2 for none" in process.stderr.readline()
            os.write(primary, b"12q")
            assert process.wait(60) == 0
        finally:
            process.kill()
    os.close(primary)
    os.close(terminal)
    assert counts(out) == {"cat": 1, "none": 1}


@pytest.mark.parametrize("classes", ["", "a,a", "a/b", ".hidden,b", ",".join(f"c{n}" for n in range(40))])
def test_labels_that_cannot_be_folders_are_refused(
    pictures: Path, classes: str, capsys: pytest.CaptureFixture[str]
) -> None:
    argv = ["collect", "--source", str(pictures), f"--classes={classes}", "-o", str(pictures / "out")]
    assert main(argv) == 2
    assert "different names that can be folders" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("classes", "advice"),
    [("cat fox", "'cat fox' is one class; for 2 classes, give cat,fox"), ("a; b", "for 2 classes, give a,b")],
)
def test_spaces_do_not_separate_classes(
    pictures: Path, classes: str, advice: str, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("q"))
    argv = ["collect", "--source", str(pictures), "-o", str(pictures / "out")]
    assert main([*argv, "--classes", classes]) == 0
    assert advice in capsys.readouterr().err
    assert main([*argv, "--classes", f"{classes},none"]) == 0
    assert "warning" not in capsys.readouterr().err


def test_the_camera_is_a_pis_where_its_library_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    picamera2 = Picamera([np.full((480, 640, 3), 90, np.uint8)])
    monkeypatch.setitem(sys.modules, "picamera2", picamera2)
    monkeypatch.setattr(sys, "stdin", io.StringIO("1x21q"))
    assert main(["collect", "--camera", "--classes", "cat,none", "-o", str(tmp_path / "photos"), "--json"]) == 0
    assert counts(tmp_path / "photos") == {"cat": 2, "none": 1} == json.loads(capsys.readouterr().out)
    with Image.open(next((tmp_path / "photos/cat").iterdir())) as image:
        assert (image.size, image.getpixel((9, 9))) == ((640, 480), (90, 90, 90))
    assert picamera2.over() and len(picamera2.cameras) == 1
    picamera2.close()


def test_the_camera_is_a_laptops_where_it_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setitem(sys.modules, "picamera2", None)
    monkeypatch.setattr("glsl_infer.cli.collect.CAMERA", str(tmp_path / "video0"))
    assert CAMERA == "/dev/video0"
    message = refused(capsys, ["collect", "--camera", "--classes", "cat", "-o", tmp_path / "photos"])
    assert f"--source {tmp_path}/video0: no such file" in message
