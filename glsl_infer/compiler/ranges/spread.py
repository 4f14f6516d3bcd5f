"""Spread of a layer's largest value between images -> how much further the values of other images will reach.

The logarithm of an image's largest value is taken as normally distributed. The largest of a few images is then lower
than that of many by a known share of the standard deviation, which the images themselves show: of a layer with few
images less well than of all layers together.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from glsl_infer.compiler.ranges.observed import Shown

REACH = 1.77
"""Standard deviations above the mean that a range should cover: as many as the largest of 16 images has."""

UNKNOWN = 0.3
"""Standard deviation that is assumed of a single image."""

OF_ALL = 4.0
"""Images that the spread of all layers counts for."""

MOST = 3.0
"""Largest growth: beyond, steps are too coarse."""


def typical(layers: Iterable[Sequence[Shown]]) -> float:
    """Return the standard deviation of the logarithm of an image's largest value, root mean square over layers."""
    variances = [float(np.var(logs, ddof=1)) for shown in layers if len(logs := _logarithms(shown)) > 1]
    return math.sqrt(sum(variances) / len(variances)) if variances else UNKNOWN


def growth(shown: Sequence[Shown], typical_spread: float) -> float:
    """Return by how much the range of a layer must be wider than the images show.

    Args:
        shown: by each image.
        typical_spread: from ``typical``.
    """
    logs = _logarithms(shown)
    own = float(((logs - logs.mean()) ** 2).sum()) if len(logs) > 1 else 0.0
    count = max(len(logs) - 1, 0)
    deviation = math.sqrt((own + OF_ALL * typical_spread**2) / (count + OF_ALL))
    missing = max(REACH - highest(len(shown)), 0.0)
    return min(math.exp(missing * deviation), MOST)


def highest(count: int) -> float:
    """Return the expected maximum of so many standard normal numbers (G. Blom's approximation)."""
    return NormalDist().inv_cdf((count - 0.375) / (count + 0.25)) if count > 1 else 0.0


def _logarithms(shown: Sequence[Shown]) -> NDArray[np.float64]:
    largest = np.array([max(float(-one.low.min()), float(one.high.max())) for one in shown])
    found: NDArray[np.float64] = np.log(largest[largest > 0.0])
    return found
