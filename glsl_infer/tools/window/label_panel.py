"""Panel of the most probable labels with bars, as a Pillow image, for a window below an image."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Any

from PIL import Image, ImageDraw, ImageFont

from glsl_infer.runtime.classifier import Prediction

TEXT_SIZE = 16
"""Height of the text in pixels, at a content scale of 1."""

BACKGROUND, TRACK, BAR, TEXT = (24, 24, 24), (60, 60, 60), (86, 156, 232), (240, 240, 240)
_BITMAP_SIZE = 11
_LINE, _MARGIN = 1.5, 0.75
"""Height of a line, and the space around and between columns, in heights of the text."""


def printable(text: str) -> str:
    """Return ``text`` on one line, with a mark for unprintable characters: control characters, halves of surrogates."""
    return "".join(
        character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in " ".join(text.split())
    )


def draw(predictions: Sequence[Prediction], width: int, max_height: int, scale: float = 1.0) -> Image.Image | None:
    """Return the panel: a line for each prediction, best first, limited to those that fit; None without space for one.

    Args:
        predictions: the predictions.
        width: width of the panel in pixels.
        max_height: largest height in pixels.
        scale: the content scale of the screen, such as 2 for text of twice the size.
    """
    size = max(1, round(TEXT_SIZE * scale))
    font, times = _font(size)
    if times > 1:
        size = _BITMAP_SIZE
    line, margin = round(_LINE * size), round(_MARGIN * size)
    rows = min(len(predictions), (max_height // times - margin) // line)
    if rows < 1 or width < 1:
        return None
    image = Image.new("RGB", (max(1, width // times), rows * line + margin), BACKGROUND)
    _draw_rows(ImageDraw.Draw(image), predictions[:rows], font, line, margin)
    return image if times == 1 else image.resize((width, image.height * times), Image.Resampling.NEAREST)


def _font(size: int) -> tuple[Any, int]:
    """Return Pillow's own font and the factor to enlarge its pixels by.

    Pillow before 10.1, and one built without FreeType, has a single small bitmap font.
    """
    try:
        font: Any = ImageFont.load_default(size)
    except (TypeError, ImportError, OSError):
        return ImageFont.load_default(), max(1, round(size / _BITMAP_SIZE))
    if isinstance(font, ImageFont.ImageFont):
        return font, max(1, round(size / _BITMAP_SIZE))
    return font, 1


def _draw_rows(
    canvas: ImageDraw.ImageDraw, predictions: Sequence[Prediction], font: Any, line: int, margin: int
) -> None:
    width = canvas.im.size[0]
    percent_width = round(canvas.textlength("100.0 %", font=font))
    bar_width = max(0, round(0.35 * width) - margin)
    label_width = width - bar_width - percent_width - 4 * margin
    _, top, _, bottom = canvas.textbbox((0, 0), "A", font=font)  # centres capitals in the height of their bars
    for row, prediction in enumerate(predictions):
        y = margin // 2 + row * line
        text_y = y + (line - (bottom - top)) // 2 - top
        canvas.text((margin, text_y), _clipped(canvas, prediction.label, font, label_width), font=font, fill=TEXT)
        left, bar_top, bar_bottom = 2 * margin + max(0, label_width), y + line // 4, y + line - line // 4
        if bar_width > 0:
            canvas.rectangle((left, bar_top, left + bar_width - 1, bar_bottom), fill=TRACK)
            filled = round(bar_width * min(1.0, max(0.0, prediction.probability)))
            if filled > 0:
                canvas.rectangle((left, bar_top, left + filled - 1, bar_bottom), fill=BAR)
        percent = f"{100 * prediction.probability:.1f} %"
        x = width - margin - round(canvas.textlength(percent, font=font))
        canvas.text((x, text_y), percent, font=font, fill=TEXT)


def _printable(text: str, font: Any) -> str:
    """Return ``text`` in the characters of Pillow's own fonts: the bitmap font has Latin-1, the other one ASCII."""
    if isinstance(font, ImageFont.ImageFont):
        return text.encode("latin-1", "replace").decode("latin-1")
    # Text stays readable without accents; remaining characters become the font's box.
    return "".join(
        character for character in unicodedata.normalize("NFKD", text) if not unicodedata.combining(character)
    )


def _clipped(canvas: ImageDraw.ImageDraw, text: str, font: Any, width: int) -> str:
    """Return ``text`` shortened to ``width`` pixels, with dots at the end if characters are omitted."""
    text = _printable(printable(text), font)
    if canvas.textlength(text, font=font) <= width:
        return text
    fits, fails = 0, min(len(text), max(0, width) + 1)  # a character is at least a pixel wide
    while fits + 1 < fails:
        middle = (fits + fails) // 2
        if canvas.textlength(text[:middle].rstrip() + "...", font=font) <= width:
            fits = middle
        else:
            fails = middle
    return text[:fits].rstrip() + "..." if fits else ""
