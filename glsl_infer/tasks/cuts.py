"""Rotated rectangles of an image: the input of a network, and the conversion of its points.

The CPU cuts photographs: it averages pixels by an integer factor if the cut is reduced by two or more, then samples the
rotated rectangle bilinearly. A shader cuts the frames of a film (``TurnedPicture``). The edge of the image is extended
beyond its border.
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

_SMALLEST_SIDE = 1.0
"""Smallest side of a cut in pixels."""


@dataclass(frozen=True)
class Cut:
    """A rotated rectangle of an image.

    Attributes:
        x: of the centre, in pixels of the image.
        y: of the centre, downwards.
        width: along its own horizontal axis, in pixels of the image.
        height: along its own vertical axis, in pixels of the image.
        angle: of its horizontal axis to the image's, in radians, clockwise as seen.
    """

    x: float
    y: float
    width: float
    height: float
    angle: float = 0.0

    @property
    def usable(self) -> bool:
        """True if all values are finite and both sides have at least a pixel."""
        values = (self.x, self.y, self.width, self.height, self.angle)
        return all(math.isfinite(value) for value in values) and min(self.width, self.height) >= _SMALLEST_SIDE

    @property
    def corners(self) -> Floats:
        """Corners in pixels, float64 (4, 2), clockwise from its own top left."""
        return self.to_picture(np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]))

    def of(self, picture: Union[TexturePicture, DmaBuf]) -> TurnedPicture:
        """Return the cut of an image on the GPU, as an input for sessions."""
        (left, top), right, _, below = self.corners.tolist()
        return TurnedPicture(picture, ((left, top), (right[0], right[1]), (below[0], below[1])))

    def to_picture(self, points: Floats) -> Floats:
        """Convert points (count, 2) relative to the cut to pixels of the image, float64."""
        centred: Floats = (np.asarray(points, np.float64) - 0.5) * (self.width, self.height)
        rotated: Floats = centred @ self._turn
        pixels: Floats = rotated + np.array([self.x, self.y])
        return pixels

    def from_picture(self, points: Floats) -> Floats:
        """Convert pixels (count, 2) of the image to points relative to the cut, float64."""
        rotated: Floats = (np.asarray(points, np.float64) - (self.x, self.y)) @ self._turn.T
        return rotated / (self.width, self.height) + 0.5

    def overlap(self, other: Cut) -> float:
        """Return intersection over union of two cuts, 0 to 1, ignoring their angles."""
        shared_width = min(self.x + self.width / 2, other.x + other.width / 2) - max(
            self.x - self.width / 2, other.x - other.width / 2
        )
        shared_height = min(self.y + self.height / 2, other.y + other.height / 2) - max(
            self.y - self.height / 2, other.y - other.height / 2
        )
        shared = max(0.0, shared_width) * max(0.0, shared_height)
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
    """Return the cut around points, rotated by an angle.

    Args:
        points: (count, 2) in pixels.
        angle: of the cut, in radians.
        scale: size relative to the rectangle around the points.
        shift: offset of the centre, to the right and down in the cut, relative to that rectangle.
        square: use the longer side for both.
    """
    unit_cut = Cut(0.0, 0.0, 1.0, 1.0, angle)
    points_in_cut = unit_cut.from_picture(points)
    low, high = points_in_cut.min(axis=0), points_in_cut.max(axis=0)
    size = high - low
    middle = unit_cut.to_picture(((low + high) / 2 + np.asarray(shift) * size)[None])[0]
    sides = np.full(2, size.max()) if square else size
    return Cut(float(middle[0]), float(middle[1]), float(sides[0] * scale), float(sides[1] * scale), angle)


def direction(begin: Floats, end: Floats, target_degrees: float) -> float:
    """Return the angle of a cut in which a line has a given direction.

    Args:
        begin: (2,) in pixels.
        end: (2,) in pixels.
        target_degrees: direction in the cut, in degrees: 0 to the right, 90 up.
    """
    across, down = (np.asarray(end, np.float64) - np.asarray(begin, np.float64)).tolist()
    angle = math.radians(target_degrees) + math.atan2(down, across)
    return math.remainder(angle, math.tau)


def pixels_of(picture: NDArray[np.uint8], cut: Cut, height: int, width: int) -> NDArray[np.uint8]:
    """Return the pixels of a cut, uint8 (height, width, channels).

    Args:
        picture: uint8 (rows, columns, channels), 1 or 3 channels.
        cut: a usable cut.
        height: of the result.
        width: of the result.
    """
    rows, columns = picture.shape[:2]
    corners = cut.corners
    # The region to read surrounds the corners. Beyond the image, its outermost pixels are extended.
    shrink = max(1, math.floor(min(cut.width / width, cut.height / height)))
    low = np.floor(corners.min(axis=0)).astype(int) - 2 * shrink
    high = np.ceil(corners.max(axis=0)).astype(int) + 2 * shrink
    inside_low = np.clip(low, 0, (columns - 1, rows - 1))
    inside_high = np.clip(high, inside_low + 1, (columns, rows))
    crop = picture[inside_low[1] : inside_high[1], inside_low[0] : inside_high[0]]
    image = Image.fromarray(crop[..., 0] if crop.shape[2] == 1 else np.ascontiguousarray(crop))
    if shrink > 1:
        image = image.reduce(shrink)
    # Convert pixels of the result to those of ``image``, each of which has ``shrink`` pixels of the picture.
    origin, right, down = cut.to_picture(np.array([[0.0, 0.0], [1.0 / width, 0.0], [0.0, 1.0 / height]]))
    along, below = (right - origin) / shrink, (down - origin) / shrink
    start = (origin - inside_low) / shrink
    # Pillow's transform is black beyond the image, so coordinates are clamped instead.
    across, downwards = np.meshgrid(np.arange(width) + 0.5, np.arange(height) + 0.5)
    coordinates = start + across[..., None] * along + downwards[..., None] * below - 0.5
    return _bilinear(np.asarray(image).reshape(image.height, image.width, -1), coordinates)


def _bilinear(pixels: NDArray[np.uint8], coordinates: Floats) -> NDArray[np.uint8]:
    """Sample pixels at coordinates (..., 2), x and y, clamped to the image."""
    rows, columns = pixels.shape[:2]
    x = np.clip(coordinates[..., 0], 0.0, columns - 1.0).astype(np.float32)
    y = np.clip(coordinates[..., 1], 0.0, rows - 1.0).astype(np.float32)
    left, top = x.astype(np.intp), y.astype(np.intp)
    right, bottom = np.minimum(left + 1, columns - 1), np.minimum(top + 1, rows - 1)
    across, down = (x - left)[..., None], (y - top)[..., None]
    flat = pixels.reshape(rows * columns, -1).astype(np.float32)
    upper = flat[top * columns + left] * (1 - across) + flat[top * columns + right] * across
    lower = flat[bottom * columns + left] * (1 - across) + flat[bottom * columns + right] * across
    return np.asarray(upper * (1 - down) + lower * down + 0.5, np.uint8)
