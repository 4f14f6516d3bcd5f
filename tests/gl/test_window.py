"""Windows of camera and classify: contents, keys, screenshots, and refused arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import glfw
import numpy as np
import pytest
from PIL import Image
from tiny import tiny_bundle, tiny_picture

from glsl_infer import bundle
from glsl_infer.cli import main
from glsl_infer.gl import glfw_window
from glsl_infer.gl.context import Context
from glsl_infer.runtime.classifier import Prediction
from glsl_infer.runtime.session import Session
from glsl_infer.tools.window import label_panel
from glsl_infer.tools.window.window import PictureWindow

RED, GREEN, BLUE = (255, 0, 0), (0, 255, 0), (0, 0, 255)
THREE = [Prediction("größte", 0.75, 2), Prediction("second", 0.25, 0), Prediction("none", 0.0, 1)]


@pytest.fixture
def window(screen: str) -> Iterator[PictureWindow]:
    with PictureWindow() as window:
        yield window
        window.context.gl.check("in the window")


def quarters(width: int, height: int) -> Image.Image:
    """Return an image with red and blue above, green and black below."""
    pixels = np.zeros((height, width, 3), np.uint8)
    pixels[: height // 2, : width // 2] = RED
    pixels[: height // 2, width // 2 :] = BLUE
    pixels[height // 2 :, : width // 2] = GREEN
    return Image.fromarray(pixels)


def shot(window: PictureWindow) -> np.ndarray:
    return np.asarray(window.screenshot())


def resize(window: PictureWindow, width: int, height: int) -> None:
    glfw.set_window_size(window._handle, width, height)
    for _ in range(40):
        window.wait()
        if glfw.get_framebuffer_size(window._handle) == (width, height):
            return
    raise AssertionError("the window does not take its new size")


def box_of(pixels: np.ndarray, colour: tuple[int, int, int]) -> tuple[int, int, int, int]:
    """Return left, top, right and bottom (exclusive) of the pixels with exactly a colour."""
    rows, columns = np.nonzero((pixels == colour).all(axis=2))
    return int(columns.min()), int(rows.min()), int(columns.max()) + 1, int(rows.max()) + 1


def test_the_image_is_upright_and_centred(window: PictureWindow) -> None:
    window.show(quarters(300, 200), [], "quarters")
    pixels = shot(window)
    assert pixels.shape == (480, 640, 3)
    left, top, right, bottom = 0, (480 - 427) // 2, 640, (480 - 427) // 2 + 427
    assert tuple(pixels[top + 20, left + 20]) == RED
    assert tuple(pixels[top + 20, right - 20]) == BLUE
    assert tuple(pixels[bottom - 20, left + 20]) == GREEN
    assert tuple(pixels[bottom - 20, right - 20]) == (0, 0, 0)
    assert tuple(pixels[5, 5]) == tuple(pixels[475, 5]) == label_panel.BACKGROUND


def test_labels_and_bars_are_below_the_picture(window: PictureWindow) -> None:
    window.show(quarters(100, 100), THREE, "labels")
    pixels = shot(window)
    panel = np.asarray(label_panel.draw(THREE, 640, 240))
    np.testing.assert_array_equal(pixels[-len(panel) :], panel)  # to the pixel, for sharp text
    assert (panel[:, :200] > 200).any()
    assert box_of(pixels, RED)[1] == 0
    assert box_of(pixels, GREEN)[3] == 480 - len(panel)


def test_a_new_size_keeps_the_aspect(window: PictureWindow) -> None:
    window.show(quarters(100, 100), THREE, "square")
    for size in ((900, 700), (300, 900), (200, 150)):
        resize(window, *size)
        pixels = shot(window)
        assert pixels.shape == (size[1], size[0], 3)
        left, top, right, bottom = (*box_of(pixels, RED)[:2], box_of(pixels, BLUE)[2], box_of(pixels, GREEN)[3])
        assert abs((right - left) - (bottom - top)) <= 4
        assert abs(left - (size[0] - right)) <= 2


def test_text_is_larger_on_a_screen_of_twice_the_density(
    window: PictureWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    resize(window, 1280, 960)
    monkeypatch.setattr(window._glfw, "get_window_content_scale", lambda _: (2.0, 2.0))
    window.show(quarters(100, 100), THREE, "large")
    panel = np.asarray(label_panel.draw(THREE, 1280, 480, 2.0))
    assert len(panel) == 2 * len(np.asarray(label_panel.draw(THREE, 640, 240)))
    np.testing.assert_array_equal(shot(window)[-len(panel) :], panel)


def test_large_pictures_are_reduced_before_they_are_uploaded(window: PictureWindow) -> None:
    window._max_size = 512
    checks = np.indices((2000, 3000)).sum(axis=0) % 2 * 255  # grey from a distance
    window.show(Image.fromarray(checks.astype(np.uint8)).convert("RGB"), [], "large")
    middle = shot(window)[200:280, 200:440]
    assert abs(middle.astype(int) - 127).max() <= 2


@pytest.mark.parametrize("size", [(1, 1), (5000, 1), (1, 5000)])
def test_pictures_of_any_shape_are_visible(window: PictureWindow, size: tuple[int, int]) -> None:
    window.show(Image.new("RGB", size, RED), THREE, "thin")
    assert (shot(window) == RED).all(axis=2).any()


@pytest.mark.parametrize(
    "text", ["", "x" * 5000, "two\nlines\0", "\ud800", "日本語 🦊", "\u202eright to left", "é" * 500]
)
def test_odd_labels_and_titles_are_drawn(window: PictureWindow, text: str) -> None:
    window.show(quarters(10, 10), [Prediction(text, 0.5, 0)], text)
    assert (shot(window) == label_panel.BAR).all(axis=2).any()


def test_a_session_on_its_context_is_not_disturbed(window: PictureWindow) -> None:
    with Session(tiny_bundle(), context=window.context) as session, Session(tiny_bundle()) as other:
        for seed in range(3):
            logits = session.run(tiny_picture(seed))
            window.show(quarters(30, 20), THREE, "between")
            assert tuple(shot(window)[5, 60]) == RED
            np.testing.assert_array_equal(session.run(tiny_picture(seed)), logits)
            np.testing.assert_array_equal(other.run(tiny_picture(seed)), logits)


def test_a_window_opens_without_egl_in_glfw(context: Context, screen: str, monkeypatch: pytest.MonkeyPatch) -> None:
    create = glfw_window._create
    monkeypatch.setattr(
        glfw_window, "_create", lambda g, api, *more: None if api == g.EGL_CONTEXT_API else create(g, api, *more)
    )
    context.make_current()
    with PictureWindow() as window:
        assert "native" in window.context.how
        window.show(quarters(30, 20), THREE, "GLX")
        context.make_current()
        context.gl.check("beside a window")
        assert tuple(shot(window)[5, 60]) == RED


def test_a_closed_window_can_be_closed_again(screen: str) -> None:
    window = PictureWindow()
    assert window.is_open
    window.quit()
    assert not window.is_open
    window.close()
    window.close()
    assert not window.is_open


@pytest.mark.parametrize(
    ("key", "meaning"),
    [
        (glfw.KEY_RIGHT, "next"),
        (glfw.KEY_SPACE, "next"),
        (glfw.KEY_N, "next"),
        (glfw.KEY_LEFT, "previous"),
        (glfw.KEY_BACKSPACE, "previous"),
        (glfw.KEY_P, "previous"),
        (glfw.KEY_Q, "quit"),
        (glfw.KEY_ESCAPE, "quit"),
        (glfw.KEY_X, None),
        (glfw.KEY_F1, None),
        (glfw.KEY_UNKNOWN, None),
    ],
)
def test_a_key_is_reported_when_pressed_or_repeated(window: PictureWindow, key: int, meaning: str | None) -> None:
    messages: list[str] = []
    window.on_key = messages.append
    for action in (glfw.PRESS, glfw.REPEAT, glfw.RELEASE):
        window.key(window._handle, key, 0, action, 0)
    assert messages == ([] if meaning is None else [meaning] * 2)


def test_the_screenshot_is_an_ordinary_picture(window: PictureWindow, tmp_path: Path) -> None:
    window.show(quarters(30, 20), THREE, "saved")
    picture = window.screenshot()
    picture.save(tmp_path / "shot.png")
    with Image.open(tmp_path / "shot.png") as saved:
        assert (saved.mode, saved.size) == ("RGB", (640, 480))


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


def test_a_screenshot_has_the_picture_and_its_labels(folder: Path, capsys: Capture) -> None:
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


def test_a_window_without_readable_pictures_ends_at_once(folder: Path, capsys: Capture) -> None:
    assert classify(folder, "--window", str(folder / "b.png")) == 2
    assert capsys.readouterr().err.count("error:") == 1
    assert classify(folder, "--window", "--screenshot", str(folder / "x.png"), str(folder / "b.png")) == 2
    assert not (folder / "x.png").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--window", "--json"], "--window and --json cannot be used together"),
        (["--window", "--context", "device"], "leave --context device out"),
        (["--screenshot", "x.png"], "needs --window"),
        (["--window", "--screenshot", "x.jpg"], "name the file *.png"),
        (["--window", "--screenshot", "nowhere/x.png"], "no such folder"),
        (["--window", "--screenshot", "x.png", "{folder}"], "is for one image; 4 were given"),
    ],
)
def test_impossible_arguments_are_refused(folder: Path, capsys: Capture, arguments: list[str], message: str) -> None:
    words = [argument.format(folder=folder) for argument in arguments]
    assert classify(folder, *words, str(folder / "a.png")) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert len(printed.err.splitlines()) == 1
    assert message in printed.err


def test_without_a_screen_the_message_names_display(
    folder: Path, no_screen: None, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.delenv("DISPLAY", raising=False)
    assert classify(folder, "--window", str(folder / "a.png")) == 2
    assert capsys.readouterr().err.startswith("error: glfw has no screen: neither DISPLAY nor")


def test_an_unwritable_screenshot_is_reported(folder: Path, capsys: Capture) -> None:
    (folder / "taken.png").mkdir()
    assert classify(folder, "--window", "--screenshot", str(folder / "taken.png"), str(folder / "a.png")) == 2
    assert "taken.png: is a folder; name a file" in capsys.readouterr().err
