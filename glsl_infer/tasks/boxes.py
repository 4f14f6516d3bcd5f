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

BLOCK = 16
"""Boxes that are looked at together, each with each."""

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
    alive, group = np.arange(number), np.full(number, -1)
    best: list[int] = []
    # Of each: left, top, less right, less bottom, and a part of its area.
    sides = np.empty((5, number))
    sides[:4] = (boxes[:, :4] * (1.0, 1.0, -1.0, -1.0)).T
    sides[4] = (sides[0] + sides[2]) * (sides[1] + sides[3]) * (overlap / (1.0 + overlap))
    while len(best) < most and len(alive):
        block = alive[:BLOCK]  # all of it is decided here: bits of Python's integers know which boxes overlap which
        own = sides[:, block]
        rows = [int.from_bytes(row, "little") for row in np.packbits(_same(own, own), 1, "little")]
        left = (1 << len(block)) - 1
        chosen: list[int] = []
        while left and len(best) + len(chosen) < most:
            first = (left & -left).bit_length() - 1
            chosen.append(first)
            left &= ~(rows[first] | 1 << first)
        claims = _same(sides[:, alive], own[:, chosen])
        claims[chosen, np.arange(len(chosen))] = True
        who = claims.argmax(axis=1)
        taken = claims[np.arange(len(alive)), who]
        group[alive[taken]] = len(best) + who[taken]
        best += block[chosen].tolist()
        alive = alive[~taken]
    if not best:
        return boxes[:0], order[:0]
    merged = boxes[best]
    if merge == WEIGHTED:
        members = np.flatnonzero(group >= 0)
        members = members[np.argsort(group[members], kind="stable")]
        begins = np.flatnonzero(np.diff(group[members], prepend=-1))
        weights = scores[members]
        totals = np.add.reduceat(weights, begins)
        sums = np.add.reduceat(boxes[members] * weights[:, None], begins)
        several = (totals > 0.0) & (np.diff(begins, append=len(members)) > 1)
        merged[several] = sums[several] / totals[several, None]
    return merged, order[best]


def _same(some: Floats, others: Floats) -> NDArray[np.bool_]:
    """Return which boxes are of one thing, (some, others): shared > overlap * (both areas - shared), sorted."""
    left, top, right, bottom, area = some[:, :, None]
    wide = np.maximum(left, others[0])
    high = np.maximum(right, others[2])
    wide += high
    np.minimum(wide, 0.0, out=wide)  # below 0 where they overlap
    high = np.maximum(top, others[1], out=high)
    high += np.maximum(bottom, others[3])
    wide *= np.minimum(high, 0.0, out=high)
    same: NDArray[np.bool_] = wide > np.add(area, others[4], out=high)
    return same
