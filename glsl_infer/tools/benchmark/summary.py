"""Median and percentiles of repeated measurements."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

Summary = dict[str, float]
"""``median``, ``p5`` and ``p95``: half, 5 % and 95 % of all values are at most this."""


def summary(values: Sequence[float]) -> Summary:
    """Return the summary of at least one value; percentiles are interpolated between two values."""
    low, median, high = np.percentile(np.asarray(values, np.float64), (5.0, 50.0, 95.0))
    return {"median": float(median), "p5": float(low), "p95": float(high)}


def milliseconds(seconds: float) -> float:
    """Return a time in ms, rounded to a microsecond, the resolution of the measurements."""
    return round(1e3 * seconds, 3)
