"""Application of drawn variations in tests."""

from __future__ import annotations

from typing import Any

import numpy as np
from keras import ops

from training import augmentation
from training.recipe_augmentation import Augmentation
from training.variation import PicturesOnDevice

NO_VARIATION = Augmentation(
    flip=0.0, rotation=0.0, scale=(1.0, 1.0), translation=0.0, saturation=0.0, brightness=0.0, contrast=0.0
)
"""No variation. A test adds its own with ``dataclasses.replace``."""


def pictures(count: int, side: int, seed: int = 0) -> np.ndarray:
    """Return random images, uint8 (count, side, side, 3)."""
    return np.random.default_rng(seed).integers(0, 256, (count, side, side, 3), np.uint8)


def apply(pixels: np.ndarray, draws: augmentation.Draws, size: int) -> np.ndarray:
    """Return the varied images, float32 (n, size, size, 3)."""
    tensors = {name: ops.convert_to_tensor(values) for name, values in augmentation.packed(draws).items()}
    return np.asarray(ops.convert_to_numpy(PicturesOnDevice(pixels)(tensors, size=size)))


def plain(count: int, **changed: Any) -> augmentation.Draws:
    """Return draws without variation except the given ones, each an array or one value for all images."""
    draws = augmentation.plain(count)
    for name, value in changed.items():
        draws[name] = np.broadcast_to(np.asarray(value, np.float32), draws[name].shape)
    return draws
