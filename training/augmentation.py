"""Random variations of the training pictures, the same for the same seed, epoch and index."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

MARGIN = 1.15
"""Pictures are read this much larger than the network's input, and a random part is cut out."""


def margin_size(size: int) -> int:
    """Return the side at which training pictures are read for a network input of ``size``."""
    return round(size * MARGIN)


def augment(image: NDArray[np.uint8], size: int, rng: np.random.Generator) -> NDArray[np.float32]:
    """Cut, flip and re-light one picture.

    Args:
        image: uint8 ``(side, side, 3)`` with side >= size.
        size: side of the result.
        rng: source of all randomness.

    Returns:
        float32 ``(size, size, 3)`` in [0, 1].
    """
    room = image.shape[0] - size
    top, left = rng.integers(0, room + 1, 2)
    cut = image[top : top + size, left : left + size]
    if rng.random() < 0.5:
        cut = cut[:, ::-1]
    contrast, brightness = rng.uniform(0.8, 1.25), rng.uniform(-0.1, 0.1)
    tint = rng.uniform(0.92, 1.08, 3).astype(np.float32)
    pixels = cut.astype(np.float32) / 255.0 * tint
    relit: NDArray[np.float32] = np.clip((pixels - 0.5) * np.float32(contrast) + np.float32(0.5 + brightness), 0, 1)
    return relit


def batch_rng(seed: int, epoch: int, index: int) -> np.random.Generator:
    """Return the generator of one batch: an interrupted run that resumes draws the same variations."""
    return np.random.default_rng([seed, epoch, index])
