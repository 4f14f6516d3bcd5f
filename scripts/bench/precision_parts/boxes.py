"""Decode detectors' outputs to boxes with key points, and compare two lists of boxes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

SURE, SEEN, SAME = 0.6, 0.5, 0.3
"""Score of a box that must not be lost; lowest score of a box; lowest overlap of two boxes of one object."""


@dataclass(frozen=True)
class Anchors:
    """Anchors of a detector: the strides of its maps in pixels, with the number of boxes at each position."""

    size: int
    maps: tuple[tuple[int, int], ...]

    def centres(self) -> NDArray[np.float64]:
        """Return the centres (boxes, 2), x and y, relative to the size of the image."""
        result = []
        for stride, each in self.maps:
            side = -(-self.size // stride)
            y, x = np.divmod(np.arange(side * side), side)
            result.append(np.repeat(np.stack([(x + 0.5) / side, (y + 0.5) / side], axis=1), each, axis=0))
        return np.concatenate(result)


FACES_NEAR = Anchors(128, ((8, 2), (16, 6)))
FACES_FAR = Anchors(192, ((4, 1),))
PALMS = Anchors(192, ((8, 2), (16, 6)))


@dataclass(frozen=True)
class Detection:
    """A box (left, top, right, bottom) and key points (points, 2), relative to the size of the image."""

    score: float
    box: NDArray[np.float64]
    points: NDArray[np.float64]


def detections(anchors: Anchors, boxes: NDArray[Any], scores: NDArray[Any]) -> list[Detection]:
    """Return the detections by descending score, each the weighted mean of overlapping boxes.

    Args:
        anchors: anchors of the detector.
        boxes: (count, 4 + 2 points): centre, size and points, in pixels from the anchor's centre.
        scores: (count, 1) before their sigmoid.
    """
    sure = 1.0 / (1.0 + np.exp(-np.clip(scores.astype(np.float64).ravel(), -60.0, 60.0)))
    sure_enough = np.flatnonzero(sure >= SEEN)
    centres = anchors.centres()[sure_enough]
    numbers = boxes.reshape(len(sure), -1)[sure_enough].astype(np.float64) / anchors.size
    middle, half = numbers[:, :2] + centres, np.abs(numbers[:, 2:4]) / 2.0
    corners = np.concatenate([middle - half, middle + half], axis=1)
    points = numbers[:, 4:].reshape(len(sure_enough), (numbers.shape[1] - 4) // 2, 2) + centres[:, None]
    waiting, result = list(np.argsort(-sure[sure_enough], kind="stable")), []
    while waiting:
        first = waiting[0]
        group = [first, *(index for index in waiting[1:] if overlap(corners[first], corners[index]) > SAME)]
        weights = sure[sure_enough][group]
        result.append(
            Detection(
                float(weights[0]),
                np.average(corners[group], axis=0, weights=weights),
                np.average(points[group], axis=0, weights=weights),
            )
        )
        waiting = [index for index in waiting if index not in group]
    return result


def overlap(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    """Return the intersection of two boxes over their union."""
    size = np.clip(np.minimum(first[2:], second[2:]) - np.maximum(first[:2], second[:2]), 0.0, None)
    both = float(size.prod())
    return both / float((first[2:] - first[:2]).prod() + (second[2:] - second[:2]).prod() - both + 1e-12)


def compared(floats: Sequence[list[Detection]], stored: Sequence[list[Detection]]) -> dict[str, float]:
    """Return the number of confident float boxes that are lost, and the differences of the others, over all images."""
    total, ious, distances, scores = 0, [], [], []
    for float_faces, stored_faces in zip(floats, stored):
        for face in (face for face in float_faces if face.score >= SURE):
            total += 1
            best = max(stored_faces, key=lambda candidate: overlap(face.box, candidate.box), default=None)
            if best is None or overlap(face.box, best.box) < SAME:
                continue
            ious.append(overlap(face.box, best.box))
            size = float(np.sqrt((face.box[2:] - face.box[:2]).prod()))
            distances.append(100.0 * float(np.linalg.norm(face.points - best.points, axis=1).mean()) / size)
            scores.append(abs(face.score - best.score))
    return {
        "boxes": total,
        "lost": total - len(ious),
        "iou": float(np.mean(ious)) if ious else 0.0,
        "iou_least": float(np.min(ious)) if ious else 0.0,
        "points": float(np.mean(distances)) if ious else 0.0,
        "score": float(np.mean(scores)) if ious else 0.0,
    }
