"""Calibration images for published networks: variations of one photograph, and drawn hands.

``person.jpg`` is NASA's portrait of Eileen Collins, in the public domain.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glsl_infer.runtime.pictures import preprocess
from glsl_infer.tasks.cuts import Cut, pixels_of

KINDS = PEOPLE, FACES, FACE, HANDS, HAND = "people", "faces", "face", "hands", "hand"
"""Scenes with people, with faces and with hands; and regions around one face or one hand."""

NUMBER = 24
"""Images of a kind."""

SIZE = 256
"""Side of an image in pixels."""

PERSON = Path(__file__).with_name("person.jpg")

_FACE = (169.0, 88.0, 132.0)
"""Face in ``PERSON``: its centre, and the side of a region around it, in pixels."""

_HAND = (172.0, 200.0, 330.0)
"""The same of a drawn hand."""


def pictures(subject: str) -> Iterator[NDArray[np.uint8]]:
    """Yield the images of a kind, uint8 (SIZE, SIZE, 3); the same at every call."""
    random = np.random.default_rng(26)
    person = np.asarray(preprocess.open_image(PERSON))
    for index in range(NUMBER):
        picture = hand(random, background=person if index % 2 else None) if subject in (HANDS, HAND) else person
        height, width = picture.shape[:2]
        if subject in (FACE, HAND):
            x, y, side = _FACE if subject == FACE else _HAND
            scale, largest_shift, turn = random.uniform(0.85, 1.25), 0.06, 0.12
        else:
            x, y, side = width / 2, height / 2, float(max(width, height))
            scale, largest_shift, turn = random.uniform(0.6, 1.8), 0.15, 0.25
            if subject == FACES and index % 2:  # from far away to so near that the face fills the image
                x, y, side = _FACE[0], _FACE[1], _FACE[2]
                scale = random.uniform(0.8, 2.0)
        across, down = random.uniform(-largest_shift, largest_shift, 2) * side
        if subject in (FACE, HAND) and index % 4 == 3:  # not a face or hand: the network runs on those too
            across, down = 0.9 * side * random.choice((-1, 1), 2)
        if index % 8 == 7:
            picture = np.full_like(picture, random.integers(20, 236, 3))
        region = Cut(x + across, y + down, side * scale, side * scale, random.uniform(-turn, turn))
        pixels = pixels_of(picture, region, SIZE, SIZE)
        if random.random() < 0.5:
            pixels = pixels[:, ::-1]
        light = random.uniform(0.6, 1.25) * random.uniform(0.92, 1.08, 3)
        yield np.clip(pixels * light + random.normal(0.0, 3.0, pixels.shape), 0, 255).astype(np.uint8)


_FINGERS = (
    ((150, 215), (128, 95), 15.0),
    ((178, 203), (172, 68), 16.0),
    ((207, 206), (218, 82), 15.0),
    ((234, 222), (268, 125), 13.0),
)
"""Root, tip and half the width of four fingers, in an image of 384 pixels a side."""

_THUMB = ((165, 300), (118, 255), (85, 205), (75, 175))
_WRIST = (192, 330)
HAND_SIDE = 384
HAND_TIPS = ((75, 175), *(tip for _, tip, _ in _FINGERS))
"""Fingertips of a drawn hand before they are moved, thumb first."""


def hand(
    random: np.random.Generator, jitter: float = 12.0, background: NDArray[np.uint8] | None = None
) -> NDArray[np.uint8]:
    """Return a drawn open hand, uint8 (384, 384, 3): rounded limbs in skin colours in front of a plain wall.

    Args:
        random: generator for colours and positions.
        jitter: largest displacement of fingertips in pixels.
        background: image to use instead of the wall, uint8 (rows, columns, 3). Photographs cause larger activations.
    """
    tips = [(x + random.uniform(-jitter, jitter), y + random.uniform(-jitter, jitter)) for _, (x, y), _ in _FINGERS]
    bulge = np.maximum.reduce(_limbs(tips))
    rise_down, rise_across = np.gradient(bulge)
    light = (0.9 - 0.12 * rise_across - 0.15 * rise_down) / np.sqrt(1.0 + 0.5 * (rise_across**2 + rise_down**2))
    skin = np.array([224.0, 172.0, 140.0]) * random.uniform(0.55, 1.08) * np.clip(light, 0.3, 1.15)[..., None]
    wall: NDArray[Any] = np.array([90.0, 110.0, 130.0]) * random.uniform(0.5, 1.7, 3)
    if background is not None:
        rows, columns = background.shape[:2]
        x, y = random.uniform(0.3, 0.7, 2)
        side = min(rows, columns) * random.uniform(0.5, 1.0)
        wall = pixels_of(background, Cut(x * columns, y * rows, side, side), HAND_SIDE, HAND_SIDE)
    return np.clip(np.where(bulge[..., None] > 0.0, skin, wall), 0, 255).astype(np.uint8)


def _limbs(tips: Sequence[tuple[float, float]]) -> list[NDArray[np.float32]]:
    """Return the heights of a hand's limbs above the wall, each of (384, 384). ``tips`` are those of ``_FINGERS``."""
    limbs = []
    for (root, _, width), tip in zip(_FINGERS, tips):
        limbs.append(_limb(root, tip, (width, 0.8 * width), 1.0))
        limbs.append(_limb(root, _WRIST, (20.0, 34.0), 0.8))
    for begin, end, widths in zip(_THUMB, _THUMB[1:], ((26.0, 20.0), (20.0, 16.0), (16.0, 13.0))):
        limbs.append(_limb(begin, end, widths, 1.0))
    return [*limbs, _limb(_WRIST, (192, 420), (34.0, 34.0), 0.8)]


def _limb(
    begin: tuple[float, float], end: tuple[float, float], widths: tuple[float, float], lift: float
) -> NDArray[np.float32]:
    """Return the height of one limb: ``lift`` times a half circle around the line from one point to another.

    Args:
        begin: first point of the line, (x, y).
        end: last point of the line.
        widths: half the width at both points.
        lift: height in the middle, relative to half the width.
    """
    across, down = np.meshgrid(np.arange(HAND_SIDE, dtype=np.float32), np.arange(HAND_SIDE, dtype=np.float32))
    x, y = end[0] - begin[0], end[1] - begin[1]
    along = np.clip(((across - begin[0]) * x + (down - begin[1]) * y) / (x * x + y * y), 0.0, 1.0)
    width = widths[0] + (widths[1] - widths[0]) * along
    distance = np.hypot(across - begin[0] - along * x, down - begin[1] - along * y) / width
    height: NDArray[Any] = np.sqrt(np.maximum(0.0, 1.0 - distance * distance)) * width * lift
    return height
