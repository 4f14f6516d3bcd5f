"""Decode the boxes of a detector, and suppress overlapping ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating]
Indices = NDArray[np.signedinteger]

SIGMOID, SOFTMAX, NONE = "sigmoid", "softmax", "none"
ACTIVATIONS = (SIGMOID, SOFTMAX, NONE)
LINEAR, EXPONENTIAL = "linear", "exponential"
ORDERS = ("xywh", "yxhw")
WEIGHTED, BEST = "weighted", "best"

BLOCK = 16
"""Number of boxes compared with each other at once."""

_LARGEST_EXPONENT = 20.0
"""Limit of exponents. A box e**20 times as large as its anchor is invalid, and larger exponents would overflow."""


@dataclass(frozen=True)
class Code:
    """Decoding of four elements and an anchor to a box. Further pairs of elements are points.

    Attributes:
        units: divisors of x, y, width and height.
        order: order of the four elements, and of each point's two.
        growth: whether sizes are the anchor's times the element (``linear``), or times its exponential.
    """

    units: tuple[float, float, float, float] = (1.0, 1.0, 1.0, 1.0)
    order: str = ORDERS[0]
    growth: str = LINEAR


def likely(
    outputs: Floats, activation: str, threshold: float, *, background: bool = False
) -> tuple[Floats, Indices, Indices]:
    """Return scores, anchor indices and class indices, (count,) each, of scores above a threshold.

    Args:
        outputs: (anchors, classes), outputs of the network.
        activation: conversion of outputs to scores.
        threshold: lowest score.
        background: whether the first class is background, which is not returned.
    """
    first = 1 if background else 0
    if activation == SIGMOID and 0.0 < threshold < 1.0:  # few logits then need the exponential
        rows, columns = np.nonzero(outputs[:, first:] >= np.log(threshold / (1.0 - threshold)))
        logits = outputs[:, first:][rows, columns].astype(np.float64)
        return 1.0 / (1.0 + np.exp(-np.clip(logits, -80.0, 80.0))), rows, columns
    scores = outputs.astype(np.float64)
    if activation == SIGMOID:
        scores = 1.0 / (1.0 + np.exp(-np.clip(scores, -80.0, 80.0)))
    elif activation == SOFTMAX:
        scores = np.exp(scores - scores.max(axis=1, keepdims=True))
        scores /= scores.sum(axis=1, keepdims=True)
    rows, columns = np.nonzero(scores[:, first:] >= threshold)
    return scores[:, first:][rows, columns], rows, columns


def decode(outputs: Floats, anchors: Floats, code: Code) -> Floats:
    """Return boxes and points, float64 (count, 4 + 2 points): left, top, right, bottom, then x, y of each point.

    Args:
        outputs: (count, 4 + 2 points), outputs of the network.
        anchors: (count, 4), as of ``anchors.anchors``.
        code: the decoding.
    """
    raw = outputs.astype(np.float64)
    if code.order == "yxhw":
        raw = raw.reshape(len(raw), -1, 2)[..., ::-1].reshape(raw.shape)
    middle, size = anchors[:, :2].astype(np.float64), anchors[:, 2:].astype(np.float64)
    units = np.asarray(code.units, np.float64)
    decoded = np.empty_like(raw)
    grown = raw[:, 2:4] / units[2:]
    if code.growth == EXPONENTIAL:
        grown = np.exp(np.minimum(grown, _LARGEST_EXPONENT))
    half = grown * size / 2.0
    centre = raw[:, :2] / units[:2] * size + middle
    decoded[:, :2], decoded[:, 2:4] = centre - half, centre + half
    for first in range(4, raw.shape[1], 2):
        decoded[:, first : first + 2] = raw[:, first : first + 2] / units[:2] * size + middle
    return decoded


def suppress(
    boxes: Floats, scores: Floats, overlap: float, most: int, *, merge: str = WEIGHTED
) -> tuple[Floats, Indices]:
    """Suppress overlapping boxes; return the remaining ones, best first, and their indices.

    The best box replaces all boxes that overlap it, then the best of the others, and so on.

    Args:
        boxes: (count, 4 or more): left, top, right, bottom, and other values.
        scores: (count,).
        overlap: intersection over union above which two boxes belong to one object.
        most: largest number of boxes to return.
        merge: ``weighted``: the mean of a group, weighted by scores (the score is the best one's); ``best``: the best
            box.
    """
    usable = np.isfinite(boxes).all(axis=1) & (boxes[:, 2] > boxes[:, 0]) & (boxes[:, 3] > boxes[:, 1])
    order = np.flatnonzero(usable)
    order = order[np.argsort(-scores[order], kind="stable")]
    boxes, scores = boxes[order], scores[order]
    best, group_of_box = _grouped(boxes, overlap, most)
    if not best:
        return boxes[:0], order[:0]
    merged = boxes[best]
    if merge == WEIGHTED:
        members = np.flatnonzero(group_of_box >= 0)
        members = members[np.argsort(group_of_box[members], kind="stable")]
        begins = np.flatnonzero(np.diff(group_of_box[members], prepend=-1))
        weights = scores[members]
        totals = np.add.reduceat(weights, begins)
        sums = np.add.reduceat(boxes[members] * weights[:, None], begins)
        merged_groups = (totals > 0.0) & (np.diff(begins, append=len(members)) > 1)
        merged[merged_groups] = sums[merged_groups] / totals[merged_groups, None]
    return merged, order[best]


def _grouped(boxes: Floats, overlap: float, most: int) -> tuple[list[int], Indices]:
    """Return the best box of each group of overlapping boxes, and the group of each box, or -1.

    A loop over single boxes would call NumPy too often. Here ``BLOCK`` boxes are compared with each other at once, and
    integers as sets of bits hold the result, so that Python's operators choose the best boxes of a block.

    Args:
        boxes: (count, 4 or more), best first.
        overlap: intersection over union above which two boxes belong to one object.
        most: largest number of groups.
    """
    count = len(boxes)
    remaining, group_of_box = np.arange(count), np.full(count, -1)
    best: list[int] = []
    # Of each box: left, top, -right, -bottom, and a multiple of its area.
    sides = np.empty((5, count))
    sides[:4] = (boxes[:, :4] * (1.0, 1.0, -1.0, -1.0)).T
    sides[4] = (sides[0] + sides[2]) * (sides[1] + sides[3]) * (overlap / (1.0 + overlap))
    while len(best) < most and len(remaining):
        block = remaining[:BLOCK]  # decided in this iteration
        block_sides = sides[:, block]
        bits = np.packbits(_overlapping(block_sides, block_sides), 1, "little")
        overlaps = [int.from_bytes(row, "little") for row in bits]
        undecided = (1 << len(block)) - 1
        best_in_block: list[int] = []
        while undecided and len(best) + len(best_in_block) < most:
            first = (undecided & -undecided).bit_length() - 1  # the lowest bit: the best undecided box
            best_in_block.append(first)
            undecided &= ~(overlaps[first] | 1 << first)
        claims = _overlapping(sides[:, remaining], block_sides[:, best_in_block])
        claims[best_in_block, np.arange(len(best_in_block))] = True
        claimant = claims.argmax(axis=1)
        claimed = claims[np.arange(len(remaining)), claimant]
        group_of_box[remaining[claimed]] = len(best) + claimant[claimed]
        best += block[best_in_block].tolist()
        remaining = remaining[~claimed]
    return best, group_of_box


def _overlapping(first_boxes: Floats, second_boxes: Floats) -> NDArray[np.bool_]:
    """Return whether pairs of boxes belong to one object, (first, second).

    The condition is intersection > overlap * (sum of areas - intersection).
    """
    left, top, right, bottom, area = first_boxes[:, :, None]
    intersection = np.maximum(left, second_boxes[0])
    scratch = np.maximum(right, second_boxes[2])
    intersection += scratch
    np.minimum(intersection, 0.0, out=intersection)  # negative for boxes with an intersection
    scratch = np.maximum(top, second_boxes[1], out=scratch)
    scratch += np.maximum(bottom, second_boxes[3])
    intersection *= np.minimum(scratch, 0.0, out=scratch)
    overlapping: NDArray[np.bool_] = intersection > np.add(area, second_boxes[4], out=scratch)
    return overlapping
