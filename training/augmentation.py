"""Random variations of the training pictures, the same for the same seed, epoch and index."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from PIL import Image

MARGIN = 1.15
"""Pictures are read this much larger than the network's input; a random window of them is seen."""

SCALE, ROTATION, SHIFT = (0.85, 1.15), 15.0, 4.0
"""Side of the window relative to the input, degrees either way, pixels it may pass the picture's edge by."""

CONTRAST, BRIGHTNESS, TINT = (0.8, 1.25), 0.1, (0.92, 1.08)
"""Factor about middle grey, offset either way, factor of each channel."""


def margin_size(size: int) -> int:
    """Return the side at which training pictures are read for a network input of ``size``."""
    return round(size * MARGIN)


def augment(
    image: NDArray[np.uint8], size: int, rng: np.random.Generator, *, any_way_up: bool = False
) -> NDArray[np.float32]:
    """Vary the window, the reflection and the light of one picture.

    Args:
        image: uint8 ``(side, side, 3)`` with side >= size.
        size: side of the result.
        rng: source of all randomness.
        any_way_up: turn and mirror it every way, for things that lie on a table; else mirror left and right only.

    Returns:
        float32 ``(size, size, 3)`` in [0, 1].
    """
    window = _window(image, size, rng)
    if rng.random() < 0.5:
        window = window[:, ::-1]
    if any_way_up:
        window = np.rot90(window, int(rng.integers(4)))
    contrast, brightness = rng.uniform(*CONTRAST), rng.uniform(-BRIGHTNESS, BRIGHTNESS)
    tint = rng.uniform(*TINT, 3).astype(np.float32)
    pixels = window.astype(np.float32) / 255.0 * tint
    relit: NDArray[np.float32] = np.clip((pixels - 0.5) * np.float32(contrast) + np.float32(0.5 + brightness), 0, 1)
    return relit


def batch_rng(seed: int, epoch: int, index: int) -> np.random.Generator:
    """Return the generator of one batch: an interrupted run that resumes draws the same variations."""
    return np.random.default_rng([seed, epoch, index])


def _window(image: NDArray[np.uint8], size: int, rng: np.random.Generator) -> NDArray[np.uint8]:
    """Return a square window of random size, angle and place, resampled to ``size``; beyond its edge it is mirrored."""
    side = image.shape[0]
    span = size * rng.uniform(*SCALE)
    angle = math.radians(rng.uniform(-ROTATION, ROTATION))
    room = max(side - span, 0.0) / 2.0 + SHIFT
    border = min(side - 1, side // 3 + math.ceil(SHIFT))
    centre_x, centre_y = border + side / 2.0 + rng.uniform(-room, room, 2)
    cos, sin = math.cos(angle) * span / size, math.sin(angle) * span / size
    # Pillow maps output pixel centres: x = a * X + b * Y + c, y = d * X + e * Y + f.
    half = size / 2.0
    affine = (cos, -sin, centre_x - (cos - sin) * half, sin, cos, centre_y - (sin + cos) * half)
    mirrored = Image.fromarray(np.pad(image, ((border, border), (border, border), (0, 0)), mode="reflect"))
    return np.asarray(mirrored.transform((size, size), Image.Transform.AFFINE, affine, Image.Resampling.BILINEAR))
