"""Labels with bars: positions, clipping, and older versions of Pillow."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageFont

from glsl_infer.runtime.classifier import Prediction
from glsl_infer.tools.window import label_panel

TEXTS = st.text(st.characters(exclude_categories=()), max_size=80)


@pytest.fixture(params=["this Pillow", "Pillow before 10.1"])
def pillow(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param != "this Pillow":
        bitmap = ImageFont.load_default_imagefont()

        def load_default() -> ImageFont.ImageFont:
            return bitmap

        monkeypatch.setattr(ImageFont, "load_default", load_default)
    return request.param


def bar(panel: Image.Image, row: int, rows: int) -> int:
    """Return the number of filled pixels in a row's bar."""
    pixels = np.asarray(panel)
    part = pixels[len(pixels) * row // rows : len(pixels) * (row + 1) // rows]
    return int((part == label_panel.BAR).all(axis=2).sum(axis=1).max())


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
