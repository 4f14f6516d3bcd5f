"""What results draw with: boxes, points and lines on a copy of a picture, their strength by its size."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from glsl_infer.errors import InputError
from glsl_infer.runtime.pictures import preprocess
from glsl_infer.runtime.pictures.preprocess import ImageSource

COLOURS = ((255, 196, 0), (0, 200, 255), (255, 96, 144), (120, 230, 100), (190, 140, 255), (255, 140, 60))
"""One for each class or thing, again and again."""

FINE = (190, 225, 235)
_SHADOW = (0, 0, 0)
_FAR = 1e6
"""Pillow's lines take longer the farther they reach: what is beyond is drawn as if it lay there."""

Points = NDArray[np.floating]


def colour(index: int) -> tuple[int, int, int]:
    """Return the colour of a class or of a thing."""
    return COLOURS[index % len(COLOURS)]


def copy_of(picture: ImageSource, size: tuple[int, int]) -> Image.Image:
    """Return a picture to draw on, RGB and upright; what was given stays as it is.

    Args:
        picture: the one that a result is about.
        size: width and height of that.

    Raises:
        ImageError: it cannot be read.
        InputError: it has another size.
    """
    image = preprocess.open_image(picture)
    if image.size != size:
        raise InputError(
            f"the result is about a picture of {size[0]} x {size[1]} pixels, not {image.width} x {image.height}; "
            "draw it on that one"
        )
    return image


class Canvas:
    """Draws on ``image``."""

    def __init__(self, image: Image.Image) -> None:
        self._draw = ImageDraw.Draw(image)
        self._size = image.size
        self.stroke = max(1, round(max(image.size) / 400))

    def box(self, corners: Points, ink: tuple[int, int, int]) -> None:
        """Draw a closed line through corners (number, 2), along the picture's edge where they lie beyond it."""
        inside = np.clip(corners, 0.0, np.subtract(self._size, 1.0))
        self.line([*inside, inside[0]], ink, self.stroke)

    def line(self, points: Iterable[Sequence[float]] | Points, ink: tuple[int, int, int], width: int) -> None:
        """Draw a line through points."""
        self._draw.line(_flat(points), fill=ink, width=width, joint="curve" if width > 1 else None)

    def dots(self, points: Points, ink: tuple[int, int, int], radius: float) -> None:
        """Draw a dot at each of points (number, 2)."""
        for x, y in _flat(points):
            self._draw.ellipse((x - radius, y - radius, x + radius, y + radius), fill=ink)

    def label(self, words: str, place: Sequence[float], ink: tuple[int, int, int]) -> None:
        """Write above a place, or below it where there is no room, on a ground of its own."""
        font = _font(max(11, 5 * self.stroke))
        left, top, right, bottom = self._draw.textbbox((0, 0), words, font=font)
        wide, high, edge = right - left, bottom - top, 2 * self.stroke
        x = min(max(0.0, place[0]), max(0.0, self._size[0] - wide - 2 * edge))
        y = place[1] - high - 2 * edge
        y = min(max(0.0, place[1] if y < 0 else y), max(0.0, self._size[1] - high - 2 * edge))
        self._draw.rectangle((x, y, x + wide + 2 * edge, y + high + 2 * edge), fill=ink)
        self._draw.text((x + edge - left, y + edge - top), words, font=font, fill=_SHADOW)


def _flat(points: Iterable[Sequence[float]] | Points) -> list[tuple[float, float]]:
    given = [tuple(point)[:2] for point in points]
    array = np.clip(np.asarray(given, np.float64).reshape(-1, 2), -_FAR, _FAR)
    return [(float(x), float(y)) for x, y in array]


def _font(size: int) -> Any:
    """Return Pillow's own font; one built without FreeType has a single small one."""
    try:
        return ImageFont.load_default(size)
    except (TypeError, ImportError, OSError):
        return ImageFont.load_default()
