"""Random augmentation parameters in NumPy, determined by the seed, the epoch and the image.

A resumed run therefore draws the same parameters. ``training.variation`` applies them on the training device.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from training.recipe_augmentation import Augmentation

Floats = NDArray[np.float32]
Draws = dict[str, NDArray[np.generic]]

FIELDS: dict[str, tuple[int, ...]] = {
    "window": (3, 3),
    "blur": (),
    "gamma": (),
    "colour": (3, 4),
    "cutout": (4,),
    "cutmix": (4,),
    "keep": (),
}
"""Parameters of an augmentation and their shapes, in the order of ``packed``."""

FOCAL = 2.5
"""Distance of the virtual camera from a tilted image, in halves of its side."""

YIQ = np.array([[0.299, 0.587, 0.114], [0.5959, -0.2746, -0.3213], [0.2115, -0.5227, 0.3112]])
"""RGB to luma and two chroma axes. A rotation of the chroma changes the hue (NTSC, 1953)."""


def draw(chosen: Augmentation, count: int, seed: int, epoch: int, *, strength: float = 1.0) -> Draws:
    """Draw one augmentation for each of ``count`` images.

    Args:
        chosen: ranges and probabilities.
        count: images in the training split; row ``i`` belongs to image ``i`` in any training order.
        seed: of the run.
        epoch: index of the epoch, from 0.
        strength: factor of all ranges and probabilities, 0 to 1; 0 leaves the images unchanged.

    Returns:
        ``index`` int32 (count,), the image; all others are float32: ``window`` (count, 3, 3), homography from the
        result to the image, both in [-1, 1] with x to the right and y down; ``blur`` (count,), weight of the blurred
        image, 0 to 1; ``gamma`` (count,); ``colour`` (count, 3, 4), matrix and offset for RGB in [0, 1]; ``cutout`` and
        ``cutmix`` (count, 4), left, top, right and bottom in [-1, 1], empty if right = left; ``keep`` (count,), weight
        of the image itself if it is blended with another, else 1.
    """
    rng = np.random.default_rng([seed, epoch, 0])
    return {
        "index": np.arange(count, dtype=np.int32),
        "window": _windows(chosen, count, strength, rng),
        "blur": _blurs(chosen, count, strength, rng),
        "gamma": np.exp(_symmetric(chosen.gamma * strength, count, rng)).astype(np.float32),
        "colour": _colours(chosen, count, strength, rng),
        "cutout": _cutouts(chosen, count, strength, rng),
        **_mixes(chosen, count, strength, rng),
    }


def order(count: int, seed: int, epoch: int) -> NDArray[np.int64]:
    """Return the order of the images in ``epoch``."""
    return np.random.default_rng([seed, epoch, 1]).permutation(count)


def mixed_labels(draws: Draws, labels: Floats) -> Floats:
    """Return soft labels (batch, classes) of a batch, mixed with those of each image's partner, the previous one.

    An image's weight is ``keep`` if images are blended, and its visible area if its partner is pasted.
    """
    box = np.asarray(draws["cutmix"], np.float32)
    pasted = (box[:, 2] - box[:, 0]) * (box[:, 3] - box[:, 1]) / 4.0
    share = (np.asarray(draws["keep"], np.float32) * (1.0 - pasted))[:, None]
    return np.asarray(share * labels + (1.0 - share) * np.roll(labels, 1, axis=0), np.float32)


def packed(draws: Draws) -> dict[str, NDArray[np.generic]]:
    """Pack the parameters into two arrays: ``index`` int32 (n,) and ``numbers`` float32 (n, 32).

    Two arrays transfer faster to a device than seven.
    """
    count = len(draws["index"])
    columns = [np.asarray(draws[name], np.float32).reshape(count, -1) for name in FIELDS]
    return {"index": draws["index"], "numbers": np.concatenate(columns, axis=1)}


def plain(count: int) -> Draws:
    """Return parameters that leave the images unchanged."""
    nothing = np.zeros((count, 4), np.float32)
    return {
        "index": np.arange(count, dtype=np.int32),
        "window": np.tile(np.eye(3, dtype=np.float32), (count, 1, 1)),
        "blur": np.zeros(count, np.float32),
        "gamma": np.ones(count, np.float32),
        "colour": np.tile(np.eye(3, 4, dtype=np.float32), (count, 1, 1)),
        "cutout": nothing,
        "cutmix": nothing,
        "keep": np.ones(count, np.float32),
    }


def _symmetric(most: float, count: int, rng: np.random.Generator) -> NDArray[np.float64]:
    return rng.uniform(-1.0, 1.0, count) * most


def _windows(chosen: Augmentation, count: int, strength: float, rng: np.random.Generator) -> Floats:
    """Compose all geometric changes into one homography, so that an image is resampled once."""
    smallest, largest = (math.log(end) * strength for end in chosen.scale)
    side = np.exp(rng.uniform(smallest, largest, count))
    angle = np.radians(_symmetric(chosen.rotation * strength, count, rng))
    quarter = np.zeros(count)
    if chosen.quarter_turns:
        quarter = np.where(rng.random(count) < strength, rng.integers(4, size=count), 0)
    mirror = np.where(rng.random(count) < chosen.flip * strength, -1.0, 1.0)
    tilt_x, tilt_y = (np.radians(_symmetric(chosen.perspective * strength, count, rng)) for _ in range(2))
    # A window smaller than the image can be anywhere within the image; translation moves it farther.
    freedom = np.maximum(1.0 - side, 0.0) + 2.0 * chosen.translation * strength
    shift = rng.uniform(-1.0, 1.0, (2, count)) * freedom

    windows = _stack([[mirror * side, 0, 0], [0, side, 0], [0, 0, 1]], count)
    total_angle = angle + quarter * (math.pi / 2.0)
    cos, sin = np.cos(total_angle), np.sin(total_angle)
    windows = _stack([[cos, -sin, 0], [sin, cos, 0], [0, 0, 1]], count) @ windows
    # The image plane, rotated about both axes before a camera.
    sx, cx, sy, cy = np.sin(tilt_x), np.cos(tilt_x), np.sin(tilt_y), np.cos(tilt_y)
    tilted = _stack([[cy, sx * sy, 0], [0, cx, 0], [sy / FOCAL, -sx * cy / FOCAL, 1]], count)
    translation = _stack([[1, 0, shift[0]], [0, 1, shift[1]], [0, 0, 1]], count)
    return np.asarray(translation @ tilted @ windows, np.float32)


def _stack(rows: list[list[NDArray[np.float64] | float]], count: int) -> NDArray[np.float64]:
    """Return (count, 3, 3) from a matrix whose entries are scalars or have an element for each image."""
    stacked = [np.stack([np.broadcast_to(value, count) for value in row], -1) for row in rows]
    return np.asarray(np.stack(stacked, -2), np.float64)


def _colours(chosen: Augmentation, count: int, strength: float, rng: np.random.Generator) -> Floats:
    """Compose tint, hue, saturation, contrast and brightness into one affine map of RGB."""
    tint = np.exp(rng.uniform(-1.0, 1.0, (count, 3)) * chosen.tint * strength)
    hue = np.radians(_symmetric(chosen.hue * strength, count, rng))
    saturation = 1.0 + _symmetric(chosen.saturation * strength, count, rng)
    contrast = 1.0 + _symmetric(chosen.contrast * strength, count, rng)
    brightness = _symmetric(chosen.brightness * strength, count, rng)
    cos, sin = saturation * np.cos(hue), saturation * np.sin(hue)
    matrix = np.linalg.inv(YIQ) @ _stack([[1, 0, 0], [0, cos, -sin], [0, sin, cos]], count) @ YIQ
    offset = np.broadcast_to((0.5 * (1.0 - contrast) + brightness)[:, None, None], (count, 3, 1))
    matrix = contrast[:, None, None] * matrix * tint[:, None, :]
    return np.concatenate([matrix, offset], axis=2).astype(np.float32)


def _blurs(chosen: Augmentation, count: int, strength: float, rng: np.random.Generator) -> Floats:
    blurred = rng.random(count) < chosen.blur * strength
    return np.where(blurred, rng.random(count), 0.0).astype(np.float32)


def _boxes(present: NDArray[np.bool_], sides: NDArray[np.float64], rng: np.random.Generator) -> Floats:
    """Return random squares with these sides (relative to the image), clipped to the image; empty if absent."""
    centre = rng.uniform(-1.0, 1.0, (len(sides), 2))
    half = np.where(present, sides, 0.0)[:, None]
    return np.asarray(np.clip(np.concatenate([centre - half, centre + half], axis=1), -1.0, 1.0), np.float32)


def _cutouts(chosen: Augmentation, count: int, strength: float, rng: np.random.Generator) -> Floats:
    present = rng.random(count) < chosen.cutout.share * strength
    return _boxes(present, rng.uniform(*chosen.cutout.size, count), rng)


def _mixes(chosen: Augmentation, count: int, strength: float, rng: np.random.Generator) -> Draws:
    """Choose for each image blending, pasting or neither."""
    choice = rng.random(count)
    blend = choice < chosen.mixup.share * strength
    paste = ~blend & (choice > 1.0 - chosen.cutmix.share * strength)
    keep = rng.beta(chosen.mixup.alpha, chosen.mixup.alpha, count)
    area = 1.0 - rng.beta(chosen.cutmix.alpha, chosen.cutmix.alpha, count)
    return {
        # The image itself remains the larger part. Otherwise two mixtures of a batch could be equal.
        "keep": np.where(blend, np.maximum(keep, 1.0 - keep), 1.0).astype(np.float32),
        "cutmix": _boxes(paste, np.sqrt(area), rng),
    }
