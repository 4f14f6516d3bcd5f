"""Panels of labels with bars, and output values as images and image files."""

from __future__ import annotations

from pathlib import Path

import image_models
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pairwise import each_of
from PIL import Image, ImageFont
from preprocessing_images import noise
from tiny import tiny_bundle

from glsl_infer.errors import InputError
from glsl_infer.runtime import images
from glsl_infer.runtime.classifier import Prediction
from glsl_infer.tools.window import label_panel

TEXTS = st.text(st.characters(exclude_categories=()), max_size=80)


@pytest.fixture(params=["this Pillow", "Pillow before 10.1"])
def pillow(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run the test with this Pillow's font, and with the bitmap font of older ones."""
    if request.param != "this Pillow":
        bitmap = ImageFont.load_default_imagefont()

        def load_default() -> ImageFont.ImageFont:
            return bitmap

        monkeypatch.setattr(ImageFont, "load_default", load_default)
    return request.param


def bar(panel: Image.Image, row: int, rows: int) -> int:
    """Return the number of filled pixels in a row's bar."""
    pixels = np.asarray(panel)
    section = pixels[len(pixels) * row // rows : len(pixels) * (row + 1) // rows]
    return int((section == label_panel.BAR).all(axis=2).sum(axis=1).max())


@pytest.mark.parametrize("scale", [1.0, 1.5, 3.0])
def test_bars_are_as_long_as_probabilities(pillow: str, scale: float) -> None:
    width = round(640 * scale)
    values = [1.0, 0.5, 0.25, 0.0]
    panel = label_panel.draw([Prediction("a", value, 0) for value in values], width, 1000, scale)
    assert panel is not None
    assert panel.width == width
    lengths = [bar(panel, row, 4) for row in range(4)]
    assert lengths[0] > width / 4
    for value, length in zip(values, lengths):
        assert abs(length - value * lengths[0]) <= 4


def test_the_panel_is_within_the_height(pillow: str) -> None:
    many = [Prediction("label", 0.1, index) for index in range(100)]
    for height in (30, 50, 100, 500):
        panel = label_panel.draw(many, 300, height)
        assert panel is None or panel.height <= height
    assert label_panel.draw(many, 300, 10) is None
    assert label_panel.draw([], 300, 100) is None


@pytest.mark.parametrize("label", ["x" * 3000, "wide " * 200])
def test_long_labels_end_in_dots_before_their_bars(pillow: str, label: str) -> None:
    panel = label_panel.draw([Prediction(label, 1.0, 0)], 640, 100)
    short = label_panel.draw([Prediction("x", 1.0, 0)], 640, 100)
    assert panel is not None
    assert short is not None
    # From the bar on, both are equal.
    left = int(np.nonzero((np.asarray(panel) == label_panel.BAR).all(axis=2).any(axis=0))[0].min())
    np.testing.assert_array_equal(np.asarray(panel)[:, left:], np.asarray(short)[:, left:])
    assert (np.asarray(panel)[:, left // 2 : left] > 200).any()


@given(TEXTS, st.integers(1, 700), st.sampled_from([0.5, 1.0, 2.0]))
def test_any_text_at_any_width(text: str, width: int, scale: float) -> None:
    label_panel.draw([Prediction(text, 0.5, 0)], width, 200, scale)


def test_odd_text_in_older_pillows(monkeypatch: pytest.MonkeyPatch) -> None:
    bitmap = ImageFont.load_default_imagefont()
    monkeypatch.setattr(ImageFont, "load_default", lambda: bitmap)
    for text in ("日本語", "größte", "\ud800", "a\nb", ""):
        assert label_panel.draw([Prediction(text, 0.5, 0)], 300, 100) is not None


def test_accents_are_dropped_for_fonts_without_them() -> None:
    with_accents, without = (label_panel.draw([Prediction(text, 0.5, 0)], 300, 100) for text in ("café", "cafe"))
    assert with_accents is not None
    assert with_accents == without


@pytest.mark.parametrize(
    ("text", "expected"),
    [("a\nb\t c", "a b c"), ("\0x", "�x"), ("\ud800", "�"), ("größte 日本", "größte 日本"), ("  ", "")],
)
def test_printable(text: str, expected: str) -> None:
    assert label_panel.printable(text) == expected


def test_values_from_0_to_1_become_bytes() -> None:
    values = np.array([-0.1, 0.0, 0.49, 0.5, 0.51, 254.5, 255.0, 1e9], np.float32)[:, None, None] / 255
    pixels = images.to_picture(np.repeat(values, 3, 2), image_models.filtered())
    assert pixels.dtype == np.uint8
    assert pixels.shape == (8, 1, 3)
    assert pixels[:, 0, 0].tolist() == [0, 0, 0, 1, 1, 255, 255, 255]


def test_a_value_becomes_the_byte_of_its_input() -> None:
    bundle = image_models.filtered(low=(-1.0, 0.0, 1.0), high=(1.0, 255.0, -2.0))
    byte = np.arange(256)[:, None, None]
    values = np.concatenate([byte / 127.5 - 1, byte + 0.0, 1 - 3 * byte / 255], axis=2).astype(np.float32)
    np.testing.assert_array_equal(images.to_picture(values, bundle), np.repeat(byte, 3, 2))


def test_one_channel_is_grey() -> None:
    bundle = image_models.filtered(1, low=(-1.0,), high=(1.0,))
    pixels = images.to_picture(np.array([[[-1.0], [0.0], [1.0]]], np.float32), bundle)
    assert pixels.tolist() == [[0, 0, 255]]


def test_halves_round_up_despite_float32() -> None:
    values = (np.arange(256) / 255.0).astype(np.float32)[:, None, None]
    pixels = images.to_picture(np.repeat(values, 3, 2), image_models.filtered(low=(-1.0,), high=(1.0,)))
    assert pixels[:, 0, 0].tolist() == [128 + byte // 2 for byte in range(256)]


def test_outputs_of_other_shapes_are_refused() -> None:
    for shape, result, message in (
        ((6,), tiny_bundle(), "the model ends in a vector of 6 values"),
        ((4, 4, 2), image_models.filtered(2), "has 2 channels; an image has 1 or 3"),
        ((4, 4), tiny_bundle(), r"numbers of shape \(4, 4\), which is not an image"),
    ):
        with pytest.raises(InputError, match=message):
            images.to_picture(np.zeros(shape, np.float32), result)


@each_of(("suffix", ["png", "PNG", "bmp", "tif", "webp", "ppm", "jpg"]), ("grey", [False, True]))
def test_a_saved_picture_has_its_pixels_and_mode(tmp_path: Path, suffix: str, grey: bool) -> None:
    pixels = np.full((5, 9, 3), 77, np.uint8) if suffix == "jpg" else noise(9, 5)
    pixels = pixels[..., 0] if grey else pixels
    path = tmp_path / f"out.{suffix}"
    images.save(pixels, path)
    assert [path.name for path in tmp_path.iterdir()] == [path.name]
    with Image.open(path) as picture:
        assert picture.size == (9, 5)
        if suffix != "webp":
            assert picture.mode == ("L" if grey else "RGB")
            np.testing.assert_array_equal(np.asarray(picture), pixels)


@pytest.mark.parametrize("name", ["out", "out.txt", "out.psd", ".png", "out.keras"])
def test_unknown_suffixes_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=r"no image format that can be written has this suffix; name the file \*"):
        images.save(noise(4, 4), tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_written_is_left_as_it_was(tmp_path: Path) -> None:
    images.save(noise(4, 4), tmp_path / "out.png")
    before = (tmp_path / "out.png").read_bytes()
    (tmp_path / "folder.png").mkdir()
    with pytest.raises(InputError, match=r"folder.png: is a folder"):
        images.save(noise(4, 4), tmp_path / "folder.png")
    with pytest.raises(InputError, match=r"nowhere/out\.png"):
        images.save(noise(4, 4), tmp_path / "nowhere" / "out.png")
    with pytest.raises(InputError, match=r"out\.xbm"):
        images.save(noise(4, 4), tmp_path / "out.xbm")
    assert {path.name for path in tmp_path.iterdir()} == {"out.png", "folder.png"}
    assert (tmp_path / "out.png").read_bytes() == before
