"""Selection of the method to choose a layer's range, by the error on held-out calibration images.

Each method chooses a range from a part of the images. Its error on the others consists of rounding and of clipping. The
error of a layer is the mean over its channels. Each image contributes its logarithm.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from glsl_infer.compiler.ranges.expected_error import SATURATION, Shares, ends_cut, shares_of
from glsl_infer.compiler.ranges.observed import Shown
from glsl_infer.program.layout import Range, per_channel

FOLDS = 2
FEWEST = 16
"""Least number of images for a comparison.

With fewer, a half of them is too few, and wide ranges would seem better than they are with all images.
"""
CLEAR = 0.3
"""Least decrease of the error's logarithm for a method to replace the first: about 1.3 dB."""

Way = Callable[[Sequence[Shown]], Range]


PARTS = 4
"""Number of parts of the images; ranges are chosen without each of them in turn."""
GROWTH = 1.35
"""Assumed ratio of the values of another image to those of a single calibration image."""


@dataclass(frozen=True)
class Fold:
    """Ranges chosen without a part of the calibration images.

    Attributes:
        maps: ranges of feature maps in 8 bits, by layer.
        wider: ranges of the same maps in 16 bits; see ``room``.
    """

    maps: dict[str, Range] = field(default_factory=dict)
    wider: dict[str, Range] = field(default_factory=dict)


def part_of(index: int, pictures: int, parts: int) -> int:
    """Return the part of an image. Neighbouring images are often similar, so they are in the same part."""
    return index * parts // pictures


def others(seen: Sequence[Shown], parts: int) -> list[Sequence[Shown]]:
    """Return the observations of all other images for each part; of a single image, its own with lower extremes."""
    if len(seen) == 1:
        return [[replace(seen[0], low=seen[0].low / GROWTH, high=seen[0].high / GROWTH)]] * parts
    return [
        [one for index, one in enumerate(seen) if part_of(index, len(seen), parts) != part] for part in range(parts)
    ]


def best(ways: Mapping[str, Way], seen: Sequence[Shown], low: float, high: float) -> str:
    """Return the method with the least error on held-out images; the first, unless another is clearly better.

    Args:
        ways: methods to choose a range, by name.
        seen: observations of the images.
        low: the lowest possible value of the layer's function.
        high: the highest possible value.
    """
    first, *_ = ways
    if len(seen) < FEWEST:
        return first
    errors = {name: 0.0 for name in ways}
    for fold in range(FOLDS):
        out, rest = seen[fold::FOLDS], [one for index, one in enumerate(seen) if index % FOLDS != fold]
        shares = shares_of(out)
        for name, way in ways.items():
            errors[name] += _error(way(rest), out, shares, low, high) / FOLDS
    least = min(errors, key=lambda name: errors[name])
    return least if errors[least] < errors[first] - CLEAR else first


def _error(chosen: Range, seen: Sequence[Shown], shares: Shares, low: float, high: float) -> float:
    """Return the mean logarithm of the error of a range on some images."""
    channels = len(seen[0].low)
    scales, zeros = per_channel(chosen.scales, channels), per_channel(chosen.zeros, channels)
    moved: NDArray[np.float64] = np.stack([one.moved for one in seen])
    cut = ends_cut(shares, scales * (255.0 - zeros) / 255.0, scales * zeros / 255.0, low, high)
    total = (moved * (scales / 255.0) ** 2 / 12.0 + SATURATION * cut).mean(axis=1)
    return float(np.log(total + 1e-30).mean())
