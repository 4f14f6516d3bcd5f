"""Many measurements of one thing in a few numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

Summary = dict[str, float]
"""``median``, ``p5`` and ``p95``: half of all values, a twentieth, and all but a twentieth are at most that."""


def summary(values: Sequence[float]) -> Summary:
    """Return the summary of some values (at least one); between two of them, percentiles are interpolated."""
    low, median, high = np.percentile(np.asarray(values, np.float64), (5.0, 50.0, 95.0))
    return {"median": float(median), "p5": float(low), "p95": float(high)}


def milliseconds(seconds: float) -> float:
    """Return a time in ms, to the microsecond, below which nothing is measured."""
    return round(1e3 * seconds, 3)
