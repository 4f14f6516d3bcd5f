"""Intervals -> a range: the bytes of each channel cover what it holds, and 0 is one of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from glsl_infer.program.layout import Range, compact

NARROWEST = 1.0 / 64.0
"""A channel's range is at least this part of the widest channel's: one that was never seen to move may."""

HEADROOM = 1.5
"""How much wider than seen a channel's range is made where extremes or percentiles are all that counts."""

SMALLEST = 2.0**-80
"""Layers that never reach this are as good as always 0: products of their scales would leave float32."""

ZEROS = tuple(range(256))
"""Zero points that are tried."""


def choose(
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    *,
    common: bool,
    equal: bool,
    headroom: float = HEADROOM,
) -> Range:
    """Return a range that covers [low, high] of every channel, and 0, with whole zero points.

    ``low`` and ``high`` are (channels,). With ``common`` all channels get the same zero point, for a gutter has one
    colour; with ``equal`` the same scale, too. Each channel's range is wider than what was seen by the factor
    ``headroom``, as far as that is within what any channel was seen to hold.
    """
    low, high = np.minimum(low, 0.0), np.maximum(high, 0.0)
    low, high = np.maximum(headroom * low, low.min()), np.minimum(headroom * high, high.max())
    if equal:
        low, high = np.full_like(low, low.min()), np.full_like(high, high.max())
    widest = float((high - low).max())
    widest = 1.0 if widest < SMALLEST else widest
    high = np.where(high - low < NARROWEST * widest, low + NARROWEST * widest, high)
    # Of all zero points the one that leaves the finest steps, in proportion to what each channel needs.
    candidates = np.array(ZEROS, np.float64)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        above = np.where(high > 0, 255.0 * high / (255.0 - candidates), 0.0)
        below = np.where(low < 0, 255.0 * -low / candidates, 0.0)
    steps = np.maximum(above, below)
    waste = (steps / (high - low)) ** 2
    best = np.full(len(low), waste.sum(axis=1).argmin()) if common else waste.argmin(axis=0)
    zeros = candidates[best, 0]
    scales = np.take_along_axis(steps, best[None], axis=0)[0].astype(np.float32)
    return Range(compact([float(scale) for scale in scales]), compact([float(zero) for zero in zeros]))
