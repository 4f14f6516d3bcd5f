"""Drawing of results on a copy of an image: boxes, points and lines with a width that depends on the image's size."""

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
"""Colours of classes or objects, used cyclically."""

FINE = (190, 225, 235)
_SHADOW = (0, 0, 0)
_LARGEST_COORDINATE = 1e6
"""Limit of coordinates. Pillow's lines take longer the farther they extend."""

Points = NDArray[np.floating]


def colour(index: int) -> tuple[int, int, int]:
    """Return the colour of a class or object."""
    return COLOURS[index % len(COLOURS)]


def copy_of(picture: ImageSource, size: tuple[int, int]) -> Image.Image:
    """Return a copy of an image to draw on, RGB and upright.

    Args:
        picture: the image of a result.
        size: width and height in pixels of the result's image.

    Raises:
        ImageError: the image cannot be read.
        InputError: the image has another size.
    """
    image = preprocess.open_image(picture)
    if image.size != size:
        raise InputError(
            f"the result is about an image of {size[0]} x {size[1]} pixels, not {image.width} x {image.height}; "
            "draw it on that one"
        )
    return image


class Canvas:
    """Drawing functions for ``image``."""

    def __init__(self, image: Image.Image) -> None:
        self._draw = ImageDraw.Draw(image)
        self._size = image.size
        self.stroke = max(1, round(max(image.size) / 400))

    def box(self, corners: Points, ink: tuple[int, int, int]) -> None:
        """Draw a closed line through corners (count, 2), clamped to the image."""
        inside = np.clip(corners, 0.0, np.subtract(self._size, 1.0))
        self.line([*inside, inside[0]], ink, self.stroke)

    def line(self, points: Iterable[Sequence[float]] | Points, ink: tuple[int, int, int], width: int) -> None:
        """Draw a line through points."""
        self._draw.line(_flat(points), fill=ink, width=width, joint="curve" if width > 1 else None)

    def dots(self, points: Points, ink: tuple[int, int, int], radius: float) -> None:
        """Draw a dot at each of the points (count, 2)."""
        for x, y in _flat(points):
            self._draw.ellipse((x - radius, y - radius, x + radius, y + radius), fill=ink)

    def label(self, text: str, anchor: Sequence[float], ink: tuple[int, int, int]) -> None:
        """Write text above a point, or below it at the top of the image, on a filled rectangle."""
        font = _font(max(11, 5 * self.stroke))
        left, top, right, bottom = self._draw.textbbox((0, 0), text, font=font)
        edge = 2 * self.stroke
        width, height = right - left + 2 * edge, bottom - top + 2 * edge
        x, y = anchor[0], anchor[1] - height
        if y < 0:
            y = anchor[1]
        x = min(max(0.0, x), max(0.0, self._size[0] - width))
        y = min(max(0.0, y), max(0.0, self._size[1] - height))
        self._draw.rectangle((x, y, x + width, y + height), fill=ink)
        self._draw.text((x + edge - left, y + edge - top), text, font=font, fill=_SHADOW)


def _flat(points: Iterable[Sequence[float]] | Points) -> list[tuple[float, float]]:
    """Return (x, y) of points as Pillow takes them, within ``_LARGEST_COORDINATE``, without further coordinates."""
    coordinates = [tuple(point)[:2] for point in points]
    array = np.clip(np.asarray(coordinates, np.float64).reshape(-1, 2), -_LARGEST_COORDINATE, _LARGEST_COORDINATE)
    return [(float(x), float(y)) for x, y in array]


def _font(size: int) -> Any:
    """Return Pillow's default font; without FreeType it has one small size."""
    try:
        return ImageFont.load_default(size)
    except (TypeError, ImportError, OSError):
        return ImageFont.load_default()
