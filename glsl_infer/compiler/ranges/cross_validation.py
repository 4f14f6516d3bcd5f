"""Cross-validation of ranges: the method to choose a layer's range, and ranges without each part of the images.

The method is selected by the error on held-out calibration images: rounding and clipping. Each method chooses a range
from a part of the images. The error of a layer is the mean over its channels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from glsl_infer.compiler.ranges.expected_error import SATURATION, ClippedEnergy, clipped_energy, clipped_energy_of
from glsl_infer.compiler.ranges.observed import Observation
from glsl_infer.program.layout import Range, per_channel

FOLDS = 2
"""Number of parts of the images in a comparison of methods."""
FEWEST = 16
"""Least number of images for a comparison.

With fewer, a half of them is too few, and wide ranges would seem better than they are with all images.
"""
CLEAR = 0.3
"""Least decrease of the error's logarithm for a method to replace the first: about 1.3 dB."""
PARTS = 4
"""Number of parts of the images; ranges are chosen without each of them in turn."""
GROWTH = 1.35
"""Assumed ratio of the values of another image to those of a single calibration image."""

RangeMethod = Callable[[Sequence[Observation]], Range]
"""Function that chooses the range of a layer by the observations of some images."""


@dataclass(frozen=True)
class Fold:
    """Ranges chosen without a part of the calibration images.

    Attributes:
        maps: ranges of feature maps in 8 bits, by layer.
        wider: ranges of the same maps in 16 bits; see ``headroom``.
    """

    maps: dict[str, Range] = field(default_factory=dict)
    wider: dict[str, Range] = field(default_factory=dict)


def part_of(index: int, pictures: int, parts: int) -> int:
    """Return the part of an image. Neighbouring images are often similar, so they are in the same part."""
    return index * parts // pictures


def leave_one_part_out(observations: Sequence[Observation], parts: int) -> list[Sequence[Observation]]:
    """Return the observations of all other images for each part; of a single image, its own with lower extremes."""
    if len(observations) == 1:
        (image,) = observations
        return [[replace(image, low=image.low / GROWTH, high=image.high / GROWTH)]] * parts
    return [
        [image for index, image in enumerate(observations) if part_of(index, len(observations), parts) != fold]
        for fold in range(parts)
    ]


def best_method(
    methods: Mapping[str, RangeMethod], observations: Sequence[Observation], low: float, high: float
) -> str:
    """Return the method with the least error on held-out images; the first, unless another is clearly better.

    Args:
        methods: methods to choose a range, by name.
        observations: observations of the images.
        low: the lowest possible value of the layer's function.
        high: the highest possible value.
    """
    first, *_ = methods
    if len(observations) < FEWEST:
        return first
    errors = {name: 0.0 for name in methods}
    for fold in range(FOLDS):
        held_out = observations[fold::FOLDS]
        learning = [image for index, image in enumerate(observations) if index % FOLDS != fold]
        shares = clipped_energy_of(held_out)
        for name, method in methods.items():
            errors[name] += _error(method(learning), held_out, shares, low, high) / FOLDS
    least = min(errors, key=lambda name: errors[name])
    return least if errors[least] < errors[first] - CLEAR else first


def _error(chosen: Range, observations: Sequence[Observation], shares: ClippedEnergy, low: float, high: float) -> float:
    """Return the mean logarithm of the error of a range on some images."""
    channels = len(observations[0].low)
    scales, zeros = per_channel(chosen.scales, channels), per_channel(chosen.zeros, channels)
    nonzero_share: NDArray[np.float64] = np.stack([image.moved for image in observations])
    clipped = clipped_energy(shares, scales * (255.0 - zeros) / 255.0, scales * zeros / 255.0, low, high)
    total = (nonzero_share * (scales / 255.0) ** 2 / 12.0 + SATURATION * clipped).mean(axis=1)
    return float(np.log(total + 1e-30).mean())
