"""Which way of choosing a layer's range loses least on pictures that it was not chosen from.

Each way sees a part of the calibration pictures and is measured on the others, by what they show: rounding, and what
the range cuts off. The error of a layer is the mean over its channels, and pictures count by its logarithm.
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
"""With fewer pictures a half of them is too few: wide ranges would seem better than they are with all."""
CLEAR = 0.3
"""By how much the logarithm of the error must be less for another way than the first: about 1.3 dB."""

Way = Callable[[Sequence[Shown]], Range]


PARTS = 4
"""Parts of the pictures that ranges are tried without, one after another."""
GROWTH = 1.35
"""By how much values of another picture may be larger than those of the only one."""


@dataclass(frozen=True)
class Fold:
    """Ranges chosen without a part of the calibration images.

    Attributes:
        maps: of feature maps in 8 bits, by layer.
        wider: of the same maps in 16 bits; see ``room``.
    """

    maps: dict[str, Range] = field(default_factory=dict)
    wider: dict[str, Range] = field(default_factory=dict)


def part_of(index: int, pictures: int, parts: int) -> int:
    """Return the part that a picture is in: neighbours, which are often alike, are in the same."""
    return index * parts // pictures


def others(seen: Sequence[Shown], parts: int) -> list[Sequence[Shown]]:
    """Return for each part of the pictures what all others show; of a single picture, less than it shows."""
    if len(seen) == 1:
        return [[replace(seen[0], low=seen[0].low / GROWTH, high=seen[0].high / GROWTH)]] * parts
    return [
        [one for index, one in enumerate(seen) if part_of(index, len(seen), parts) != part] for part in range(parts)
    ]


def best(ways: Mapping[str, Way], seen: Sequence[Shown], low: float, high: float) -> str:
    """Return the name of the way that is best on pictures held out; the first, if no other is clearly better.

    Args:
        ways: what chooses a range.
        seen: what pictures show.
        low: the lowest value that the layer's function can reach.
        high: the highest.
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
    """Return the mean logarithm of the error of a range on some pictures."""
    channels = len(seen[0].low)
    scales, zeros = per_channel(chosen.scales, channels), per_channel(chosen.zeros, channels)
    moved: NDArray[np.float64] = np.stack([one.moved for one in seen])
    cut = ends_cut(shares, scales * (255.0 - zeros) / 255.0, scales * zeros / 255.0, low, high)
    total = (moved * (scales / 255.0) ** 2 / 12.0 + SATURATION * cut).mean(axis=1)
    return float(np.log(total + 1e-30).mean())
