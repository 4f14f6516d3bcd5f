"""From a detector's numbers to boxes: decode what is likely enough, then let one box stand for all that overlap it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating]
Indices = NDArray[np.signedinteger]

SIGMOID, SOFTMAX, NONE = "sigmoid", "softmax", "none"
ACTIVATIONS = (SIGMOID, SOFTMAX, NONE)
LINEAR, EXPONENTIAL = "linear", "exponential"
GROWTHS = (LINEAR, EXPONENTIAL)
ORDERS = ("xywh", "yxhw")
WEIGHTED, BEST = "weighted", "best"
MERGES = (WEIGHTED, BEST)

_LARGEST_EXPONENT = 20.0
"""A box e**20 times its anchor is no box; and more would overflow."""


@dataclass(frozen=True)
class Code:
    """How four numbers and an anchor make a box; pairs of numbers behind them are points.

    Attributes:
        units: what x, y, width and height are divided by.
        order: of the four numbers, and of each point's two.
        growth: sizes are the anchor's times the number (``linear``), or times its exponential.
    """

    units: tuple[float, float, float, float] = (1.0, 1.0, 1.0, 1.0)
    order: str = ORDERS[0]
    growth: str = LINEAR


def likely(
    numbers: Floats, activation: str, threshold: float, *, background: bool = False
) -> tuple[Floats, Indices, Indices]:
    """Return what is likely enough: scores, and indices of anchors and of classes, (number,) each.

    Args:
        numbers: (anchors, classes), as the network leaves them.
        activation: what makes scores of them.
        threshold: the lowest score.
        background: the first class means that there is nothing, and is not returned.
    """
    first = 1 if background else 0
    if activation == SIGMOID and 0.0 < threshold < 1.0:  # compare before: few numbers need the exponential
        rows, columns = np.nonzero(numbers[:, first:] >= np.log(threshold / (1.0 - threshold)))
        chosen = numbers[:, first:][rows, columns].astype(np.float64)
        return 1.0 / (1.0 + np.exp(-np.clip(chosen, -80.0, 80.0))), rows, columns
    scores = numbers.astype(np.float64)
    if activation == SIGMOID:
        scores = 1.0 / (1.0 + np.exp(-np.clip(scores, -80.0, 80.0)))
    elif activation == SOFTMAX:
        scores = np.exp(scores - scores.max(axis=1, keepdims=True))
        scores /= scores.sum(axis=1, keepdims=True)
    rows, columns = np.nonzero(scores[:, first:] >= threshold)
    return scores[:, first:][rows, columns], rows, columns


def decode(numbers: Floats, anchors: Floats, code: Code) -> Floats:
    """Return boxes and points: float64 (number, 4 + 2 points): left, top, right, bottom, then x, y of each point.

    Args:
        numbers: (number, 4 + 2 points), as the network leaves them.
        anchors: (number, 4): see ``anchors.anchors``.
        code: how they go together.
    """
    raw = numbers.astype(np.float64)
    if code.order == "yxhw":
        raw = raw.reshape(len(raw), -1, 2)[..., ::-1].reshape(raw.shape)
    middle, size = anchors[:, :2].astype(np.float64), anchors[:, 2:].astype(np.float64)
    units = np.asarray(code.units, np.float64)
    out = np.empty_like(raw)
    grown = raw[:, 2:4] / units[2:]
    if code.growth == EXPONENTIAL:
        grown = np.exp(np.minimum(grown, _LARGEST_EXPONENT))
    half = grown * size / 2.0
    centre = raw[:, :2] / units[:2] * size + middle
    out[:, :2], out[:, 2:4] = centre - half, centre + half
    for first in range(4, raw.shape[1], 2):
        out[:, first : first + 2] = raw[:, first : first + 2] / units[:2] * size + middle
    return out


def suppress(
    boxes: Floats, scores: Floats, overlap: float, most: int, *, merge: str = WEIGHTED
) -> tuple[Floats, Indices]:
    """Return few boxes for many, best first, and which of the given boxes is the best of each.

    The best box stands for all that overlap it, then the best of the others, and so on.

    Args:
        boxes: (number, 4 or more): left, top, right, bottom, and whatever goes with them.
        scores: (number,).
        overlap: area that two boxes share by the area that they cover, above which they are of one thing.
        most: how many to return at most.
        merge: ``weighted``: the mean of all, by their scores (the score stays the best one's); ``best``: the best box.
    """
    usable = np.isfinite(boxes).all(axis=1) & (boxes[:, 2] > boxes[:, 0]) & (boxes[:, 3] > boxes[:, 1])
    order = np.flatnonzero(usable)
    order = order[np.argsort(-scores[order], kind="stable")]
    boxes, scores = boxes[order], scores[order]
    number = len(boxes)
    # The loop is few operations without a copy: of rows of left, top, less right and less bottom, from the best on.
    rows = np.ascontiguousarray((boxes[:, :4] * (1.0, 1.0, -1.0, -1.0)).T)
    # shared > overlap * (both areas - shared), sorted
    areas = (rows[0] + rows[2]) * (rows[1] + rows[3]) * (overlap / (1.0 + overlap))
    corners, shared, limits = np.empty_like(rows), np.empty(number), np.empty(number)
    same, alive = np.empty(number, bool), np.ones(number, bool)
    group = np.full(number, -1)
    best: list[int] = []
    while len(best) < most and number:
        first = int(alive.argmax())
        if not alive[first]:
            break
        there = slice(first, None)
        corner, one, limit, now = corners[:, there], shared[there], limits[there], same[there]
        np.maximum(rows[:, there], rows[:, first : first + 1], out=corner)
        sides = np.add(corner[:2], corner[2:], out=corner[:2])  # below 0 where they overlap
        np.minimum(sides, 0.0, out=sides)
        np.multiply(sides[0], sides[1], out=one)
        np.greater(one, np.add(areas[there], areas[first], out=limit), out=now)
        np.logical_and(now, alive[there], out=now)
        now[0] = True
        group[there][now] = len(best)
        np.logical_xor(alive[there], now, out=alive[there])
        best.append(first)
    if not best:
        return boxes[:0], order[:0]
    kept = boxes[best]
    if merge == WEIGHTED:
        members = np.flatnonzero(group >= 0)
        members = members[np.argsort(group[members], kind="stable")]
        begins = np.flatnonzero(np.diff(group[members], prepend=-1))
        weights = scores[members]
        totals = np.add.reduceat(weights, begins)
        sums = np.add.reduceat(boxes[members] * weights[:, None], begins)
        several = (totals > 0.0) & (np.diff(begins, append=len(members)) > 1)
        kept[several] = sums[several] / totals[several, None]
    return kept, order[best]
