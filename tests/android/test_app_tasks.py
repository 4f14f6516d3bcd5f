"""Tasks in the app: selection from the list, moving images, turned and mirrored ones, and photographs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import build_apk
import numpy as np
import pytest
from app import command_of_app
from phone import CAMERA, MODEL, Phone, Pixels
from PIL import Image
from red_squares import picture
from toolchain import Tools

from glsl_infer.tasks import models

pytestmark = pytest.mark.exhaustive

ROOT = Path(__file__).resolve().parents[2]
SHOTS = ROOT / "tests/android/shots"
CELL = 171 / 8
"""Cell size of the detector, which divides the longer side into 8 cells; it finds a square of this size exactly."""

YELLOW, BLUE = (255, 196, 0), (0, 200, 255)
PERSON = ROOT / "glsl_infer/tools/get/person.jpg"


@pytest.fixture
def phone(app: list[str], apk: Path, tmp_path: Path) -> Iterator[Phone]:
    phone = Phone(app, apk, tmp_path)
    yield phone
    phone.close()


def choose(phone: Phone, title: str) -> Any:
    phone.command("press", "Model")
    phone.command("choose", title)
    return phone.ready()


def scene(*squares: tuple[float, float, float], wide: bool = False) -> Pixels:
    """Return a camera scene of red squares, in units of 1/128 of the short side."""
    small = picture(171, 128, *squares) if wide else picture(128, 171, *squares)
    size = CAMERA if wide else CAMERA[::-1]
    return np.asarray(Image.fromarray(small).resize(size, Image.Resampling.NEAREST))


def coloured(screen: Pixels, colour: tuple[int, int, int]) -> tuple[float, float, int]:
    """Return the mean position (x, y) of all pixels with a colour, and their count."""
    rows, columns = np.nonzero(np.abs(screen[:380].astype(int) - colour).max(axis=2) <= 12)
    return float(columns.mean()), float(rows.mean()), len(rows)


def on_screen(x: float, y: float, wide: bool = False) -> tuple[float, float]:
    """Return the screen position of a point in a scene, which the screen crops."""
    high, across = (270, 480) if wide else (480, 270)
    scale = high / 128 if wide else high / 171
    scale = max(scale, across / (171 if wide else 128))
    return (x - (171 if wide else 128) / 2) * scale + across / 2, (y - (128 if wide else 171) / 2) * scale + high / 2


def test_a_film_of_a_moving_square_is_followed(phone: Phone) -> None:
    phone.start()
    choose(phone, "Sides")
    for step in range(5):
        x, y = 64 - 1.5 * CELL + 2 * step, 85.5 - 1.5 * CELL + 3 * step
        state = phone.look(scene((x, y, CELL)))
        assert "Sides: 1 found" in state["texts"]
        middle = coloured(phone.shot(), YELLOW)
        assert middle[:2] == pytest.approx(on_screen(x, y), abs=5)
        assert state["gl_error"] == 0
    Image.fromarray(phone.shot()).save(_shots() / "sides.png")
    assert "Sides: none" in phone.look(scene())["texts"]
    phone.command("press", "Times")
    assert any(text.startswith("network ") for text in phone.command("idle")["texts"])
    choose(phone, MODEL.stem)  # back to labels
    assert any(text.endswith(" %") for text in phone.look(scene())["texts"])


def test_two_boxes_and_a_turned_phone(phone: Phone) -> None:
    phone.start("model", "squares")
    left, right = (64 - 1.5 * CELL, 85.5 - 1.5 * CELL), (64 + 1.5 * CELL, 85.5 + 0.5 * CELL)
    state = phone.look(scene((*left, CELL), (*right, CELL)))
    assert "Squares: 2 found" in state["texts"]
    screen = phone.shot()
    middles = sorted(coloured(screen, colour)[:2] for colour in (YELLOW, BLUE))
    assert middles[0][0] == pytest.approx(on_screen(*left)[0], abs=12)  # its score is written next to it
    assert middles[1][0] == pytest.approx(on_screen(*right)[0], abs=12)
    Image.fromarray(screen).save(_shots() / "squares.png")
    phone.rotate(1)
    state = phone.look(scene((85.5 - 1.5 * CELL, 64 + 0.5 * CELL, CELL), wide=True))
    assert "Squares: 1 found" in state["texts"]
    result = coloured(phone.shot(), YELLOW)
    assert result[0] == pytest.approx(on_screen(85.5 - 1.5 * CELL, 0, wide=True)[0], abs=12)


def test_a_front_camera_shows_a_mirror_image(phone: Phone) -> None:
    phone.start("model", "sides")
    phone.command("press", "Turn")
    phone.command("idle")
    x, y = 64 - 1.5 * CELL, 85.5 - 1.5 * CELL
    state = phone.look(scene((x, y, CELL)), front=True)
    assert "Sides: 1 found" in state["texts"]
    assert coloured(phone.shot(), YELLOW)[:2] == pytest.approx(on_screen(128 - x, y), abs=5)


def test_a_mask_on_the_gpu_and_on_a_photograph(phone: Phone, tmp_path: Path) -> None:
    phone.start("model", "mask")
    grey = np.maximum(scene((64, 85, 60)), np.uint8([0, 0, 0]))
    ground = np.full_like(grey, 100)
    ground[::16] = 180  # lines for the blur to smear
    picture_ = np.where(grey.max(axis=2, keepdims=True) > 100, grey, ground)
    state = phone.look(picture_)
    (words,) = [text for text in state["texts"] if text.startswith("Mask: ")]
    assert int(re.findall(r"\d+", words)[0]) == pytest.approx(100 * 60**2 / 128 / 171, abs=5)
    screen = phone.shot().astype(int)
    x, y = (round(coordinate) for coordinate in on_screen(64, 85))
    assert np.abs(screen[y - 40 : y + 40, x - 40 : x + 40] - [255, 0, 0]).max() <= 3
    beside = screen[120:340, 10:30].mean(axis=(1, 2))
    assert 60 < beside.mean() < 85 and beside.std() < 12  # darker, and smooth: the deviation of the lines is 17
    Image.fromarray(phone.shot()).save(_shots() / "mask.png")
    file = tmp_path / "photograph.png"
    Image.fromarray(picture_).save(file)
    state = phone.photograph(file)
    assert words in state["texts"]
    screen = phone.shot().astype(int)
    middle = screen[screen.shape[0] // 2, screen.shape[1] // 2]
    assert middle.tolist() == pytest.approx([127, 100, 127], abs=3)  # half of the red, and half blue
    phone.command("press", "Camera")
    phone.command("pause")
    phone.command("lose")
    phone.command("resume")
    phone.command("idle")
    assert words in phone.look(picture_)["texts"]


def test_published_faces(tools: Tools, tmp_path: Path) -> None:
    """The app draws the mesh and the mask of a portrait; screenshots are kept for review."""
    for name in ("face-detection", "face-mesh", "selfie-segmentation"):
        if not (models.folder() / f"{name}.glslnn").is_file():
            pytest.skip(f"not fetched: glsl-infer get {name}")
    selected_models = tmp_path / "models"
    selected_models.mkdir()
    for name in ("face-detection", "face-mesh", "selfie-segmentation"):
        (selected_models / f"{name}.glslnn").symlink_to(models.folder() / f"{name}.glslnn")
    facts = build_apk.build(
        tools, [MODEL], tmp_path / "demo.apk", tmp_path / "key" / "debug.keystore", [selected_models]
    )
    assert facts["tasks"] == ["face-mesh", "faces", "selfie"]
    person = np.asarray(Image.open(PERSON).convert("RGB").resize((480, 640), Image.Resampling.LANCZOS))
    phone = Phone(command_of_app(tools, tmp_path / "demo.apk", tmp_path), tmp_path / "demo.apk", tmp_path)
    try:
        phone.start("model", "face-mesh")
        for shift in (0, 6, 12):
            state = phone.look(np.roll(person, shift, axis=1))
            assert "Face mesh: 1 found" in state["texts"]
        Image.fromarray(phone.shot()).save(_shots() / "face-mesh.png")
        choose(phone, "Selfie")
        (words,) = [text for text in phone.look(person)["texts"] if text.startswith("Selfie: ")]
        assert 20 < int(re.findall(r"\d+", words)[0]) < 80
        Image.fromarray(phone.shot()).save(_shots() / "selfie.png")
    finally:
        phone.close()


def _shots() -> Path:
    SHOTS.mkdir(exist_ok=True)
    return SHOTS
