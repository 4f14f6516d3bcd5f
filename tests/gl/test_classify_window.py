"""``classify --window``: one image after the other, screenshots, and refused arguments."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import glfw
import numpy as np
import pytest
from PIL import Image
from tiny import tiny_bundle

from glsl_infer import bundle
from glsl_infer.cli import main
from glsl_infer.tools.window.window import PictureWindow

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def folder(tmp_path: Path, screen: str) -> Path:
    """A model, and three images, the second of which is unreadable."""
    bundle.write(tiny_bundle(), tmp_path / "tiny.glslnn")
    for name, colours in (("a.png", ((255, 0, 0), (0, 0, 255))), ("c.png", ((0, 255, 0), (255, 255, 255)))):
        pixels = np.zeros((40, 60, 3), np.uint8)
        pixels[:, :30], pixels[:, 30:] = colours
        Image.fromarray(pixels).save(tmp_path / name)
    (tmp_path / "b.png").write_bytes(b"no picture")
    return tmp_path


@pytest.fixture
def press(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """A function that presses one key each time the window waits, and returns the window's titles at these times."""

    def keys(*pressed: int) -> list[str]:
        titles: list[str] = []
        left = list(pressed)

        def wait(window: PictureWindow) -> None:
            titles.append(glfw.get_window_title(window._handle).split(" - ")[0])
            window.key(window._handle, left.pop(0), 0, glfw.PRESS, 0)

        monkeypatch.setattr(PictureWindow, "wait", wait)
        return titles

    return keys


def classify(folder: Path, *arguments: str) -> int:
    return main(["classify", "--model", str(folder / "tiny.glslnn"), *arguments])


def test_screenshot(folder: Path, capsys: Capture) -> None:
    target = folder / "shot.PNG"
    assert classify(folder, "--window", "--screenshot", str(target), str(folder / "a.png")) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert len(printed.out.splitlines()) == len(tiny_bundle().labels)
    with Image.open(target) as shot:
        pixels = np.asarray(shot)
    assert pixels.shape == (480, 640, 3)
    assert tuple(pixels[150, 250]) == (255, 0, 0)
    assert tuple(pixels[150, 390]) == (0, 0, 255)
    assert (pixels[-100:, :200] > 200).any()


def test_keys_go_through_the_pictures(folder: Path, press: Callable[..., list[str]], capsys: Capture) -> None:
    titles = press(glfw.KEY_RIGHT, glfw.KEY_SPACE, glfw.KEY_LEFT, glfw.KEY_LEFT, glfw.KEY_ESCAPE)
    assert classify(folder, "--window", "--top", "1", str(folder)) == 2  # for the unreadable image
    assert titles == ["a.png", "c.png", "a.png", "c.png", "a.png"]
    printed = capsys.readouterr()
    assert [Path(line[:-1]).name for line in printed.out.splitlines()[::2]] == ["a.png", "c.png"]  # each once
    assert len(printed.err.splitlines()) == 1
    assert "b.png" in printed.err


def test_one_picture_stays(folder: Path, press: Callable[..., list[str]]) -> None:
    titles = press(glfw.KEY_RIGHT, glfw.KEY_LEFT, glfw.KEY_Q)
    assert classify(folder, "--window", "--context", "glfw", str(folder / "c.png")) == 0
    assert titles == ["c.png"] * 3


def test_nothing_readable_ends_at_once(folder: Path, capsys: Capture) -> None:
    assert classify(folder, "--window", str(folder / "b.png")) == 2
    assert capsys.readouterr().err.count("error:") == 1
    assert classify(folder, "--window", "--screenshot", str(folder / "x.png"), str(folder / "b.png")) == 2
    assert not (folder / "x.png").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--window", "--json"], "--window and --json cannot be used together"),
        (["--window", "--context", "device"], "leave --context device out"),
        (["--screenshot", "x.png"], "needs --window"),
        (["--window", "--screenshot", "x.jpg"], "name the file *.png"),
        (["--window", "--screenshot", "nowhere/x.png"], "no such folder"),
        (["--window", "--screenshot", "x.png", "{folder}"], "takes one picture, 4 were given"),
    ],
)
def test_refusals(folder: Path, capsys: Capture, arguments: list[str], said: str) -> None:
    given = [one.format(folder=folder) for one in arguments]
    assert classify(folder, *given, str(folder / "a.png")) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert len(printed.err.splitlines()) == 1
    assert said in printed.err


def test_no_screen(folder: Path, no_screen: None, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.delenv("DISPLAY", raising=False)
    assert classify(folder, "--window", str(folder / "a.png")) == 2
    assert capsys.readouterr().err.startswith("error: glfw has no screen: neither DISPLAY nor")


def test_a_screenshot_that_cannot_be_written(folder: Path, capsys: Capture) -> None:
    (folder / "taken.png").mkdir()
    assert classify(folder, "--window", "--screenshot", str(folder / "taken.png"), str(folder / "a.png")) == 2
    assert "taken.png: is a folder; name a file" in capsys.readouterr().err
