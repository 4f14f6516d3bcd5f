"""Cuts: turned rectangles of a picture, as the next network reads them, and the way back of its points.

The CPU makes a photograph's: pixels are averaged in whole numbers where the cut shrinks them by two or more, then the
turned rectangle is read bilinearly. A shader makes those of a film's frames (``TurnedPicture``). Beyond the picture its
edge goes on.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Union

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from glsl_infer.gl.dma_buf import DmaBuf
from glsl_infer.runtime.pictures.picture_input import TexturePicture, TurnedPicture

Floats = NDArray[np.floating]

_LEAST = 1.0
"""Pixels: the least side of a cut."""


@dataclass(frozen=True)
class Cut:
    """A turned rectangle of a picture.

    Attributes:
        x: of the middle, in the picture's pixels.
        y: of the middle, downwards.
        width: along its own horizontal, in the picture's pixels.
        height: of it.
        angle: of its horizontal to the picture's, in radians, clockwise as one sees it.
    """

    x: float
    y: float
    width: float
    height: float
    angle: float = 0.0

    @property
    def usable(self) -> bool:
        """Whether it is a rectangle at all: finite, and of a pixel or more."""
        numbers = (self.x, self.y, self.width, self.height, self.angle)
        return all(math.isfinite(number) for number in numbers) and min(self.width, self.height) >= _LEAST

    @property
    def corners(self) -> Floats:
        """The corners in pixels, float64 (4, 2): from its own top left one clockwise."""
        return self.to_picture(np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]))

    def of(self, picture: Union[TexturePicture, DmaBuf]) -> TurnedPicture:
        """Return the cut of a picture on the GPU, as a session takes it."""
        (left, top), right, _, below = self.corners.tolist()
        return TurnedPicture(picture, ((left, top), (right[0], right[1]), (below[0], below[1])))

    def to_picture(self, points: Floats) -> Floats:
        """Return points (number, 2) in parts of the cut as pixels of the picture, float64."""
        across: Floats = (np.asarray(points, np.float64) - 0.5) * (self.width, self.height)
        turned: Floats = across @ self._turn
        placed: Floats = turned + np.array([self.x, self.y])
        return placed

    def from_picture(self, points: Floats) -> Floats:
        """Return pixels (number, 2) of the picture as points in parts of the cut, float64."""
        turned: Floats = (np.asarray(points, np.float64) - (self.x, self.y)) @ self._turn.T
        return turned / (self.width, self.height) + 0.5

    def overlap(self, other: Cut) -> float:
        """Return how much of the area that two cuts cover they share, 0 to 1, as if both stood upright."""
        wide = min(self.x + self.width / 2, other.x + other.width / 2) - max(
            self.x - self.width / 2, other.x - other.width / 2
        )
        high = min(self.y + self.height / 2, other.y + other.height / 2) - max(
            self.y - self.height / 2, other.y - other.height / 2
        )
        shared = max(0.0, wide) * max(0.0, high)
        return shared / (self.width * self.height + other.width * other.height - shared)

    @property
    def _turn(self) -> Floats:
        cosine, sine = math.cos(self.angle), math.sin(self.angle)
        return np.array([[cosine, sine], [-sine, cosine]])


def around(
    points: Floats,
    angle: float,
    *,
    scale: float = 1.0,
    shift: Sequence[float] = (0.0, 0.0),
    square: bool = True,
) -> Cut:
    """Return the cut around points, turned by an angle.

    Args:
        points: (number, 2) in pixels.
        angle: of the cut, in radians.
        scale: how many times as large as the rectangle around the points.
        shift: what the middle is moved by, to the right and down as the cut sees it, in parts of that rectangle.
        square: the longer side becomes both.
    """
    upright = Cut(0.0, 0.0, 1.0, 1.0, angle)
    turned = upright.from_picture(points)
    low, high = turned.min(axis=0), turned.max(axis=0)
    size = high - low
    middle = upright.to_picture(((low + high) / 2 + np.asarray(shift) * size)[None])[0]
    sides = np.full(2, size.max()) if square else size
    return Cut(float(middle[0]), float(middle[1]), float(sides[0] * scale), float(sides[1] * scale), angle)


def direction(begin: Floats, end: Floats, wanted: float) -> float:
    """Return the angle of a cut in which a line points where it should.

    Args:
        begin: (2,) in pixels.
        end: (2,) in pixels.
        wanted: its direction in the cut, in degrees: 0 to the right, 90 up.
    """
    across, down = (np.asarray(end, np.float64) - np.asarray(begin, np.float64)).tolist()
    angle = math.radians(wanted) + math.atan2(down, across)
    return math.remainder(angle, math.tau)


def pixels_of(picture: NDArray[np.uint8], cut: Cut, height: int, width: int) -> NDArray[np.uint8]:
    """Return what is in a cut, uint8 (height, width, channels).

    Args:
        picture: uint8 (rows, columns, channels), 1 or 3 channels.
        cut: a usable one.
        height: of the result.
        width: of the result.
    """
    rows, columns = picture.shape[:2]
    corners = cut.corners
    # What is read lies around the corners; where that is beyond the picture, its outermost pixels go on.
    shrink = max(1, math.floor(min(cut.width / width, cut.height / height)))
    low = np.floor(corners.min(axis=0)).astype(int) - 2 * shrink
    high = np.ceil(corners.max(axis=0)).astype(int) + 2 * shrink
    inside_low = np.clip(low, 0, (columns - 1, rows - 1))
    inside_high = np.clip(high, inside_low + 1, (columns, rows))
    part = picture[inside_low[1] : inside_high[1], inside_low[0] : inside_high[0]]
    image = Image.fromarray(part[..., 0] if part.shape[2] == 1 else np.ascontiguousarray(part))
    if shrink > 1:
        image = image.reduce(shrink)
    # From pixels of the result to those of ``image``, which are ``shrink`` of the picture's each.
    origin, right, down = cut.to_picture(np.array([[0.0, 0.0], [1.0 / width, 0.0], [0.0, 1.0 / height]]))
    along, below = (right - origin) / shrink, (down - origin) / shrink
    start = (origin - inside_low) / shrink
    # Pillow's transform fills with black beyond the picture: coordinates are held within it instead.
    across, downwards = np.meshgrid(np.arange(width) + 0.5, np.arange(height) + 0.5)
    places = start + across[..., None] * along + downwards[..., None] * below - 0.5
    return _bilinear(np.asarray(image).reshape(image.height, image.width, -1), places)


def _bilinear(pixels: NDArray[np.uint8], places: Floats) -> NDArray[np.uint8]:
    """Return pixels at places (..., 2), x and y; beyond the picture those of its edge."""
    rows, columns = pixels.shape[:2]
    x = np.clip(places[..., 0], 0.0, columns - 1.0).astype(np.float32)
    y = np.clip(places[..., 1], 0.0, rows - 1.0).astype(np.float32)
    left, top = x.astype(np.intp), y.astype(np.intp)
    right, bottom = np.minimum(left + 1, columns - 1), np.minimum(top + 1, rows - 1)
    across, down = (x - left)[..., None], (y - top)[..., None]
    flat = pixels.reshape(rows * columns, -1).astype(np.float32)
    upper = flat[top * columns + left] * (1 - across) + flat[top * columns + right] * across
    lower = flat[bottom * columns + left] * (1 - across) + flat[bottom * columns + right] * across
    return np.asarray(upper * (1 - down) + lower * down + 0.5, np.uint8)
