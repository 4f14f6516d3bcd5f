"""Scores of the networks of scripts/bench/precision.py: differences between stored and float outputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glsl_infer.graph import Graph
from precision_parts.boxes import FACES_FAR, FACES_NEAR, PALMS, Anchors, compared, detections

Outputs = dict[str, NDArray[Any]]
Result = dict[str, float]
Score = Callable[[Sequence[Outputs], Sequence[Outputs]], Result]
"""From float outputs and stored outputs, with one entry for each image, to scores."""


def ends_of_detector(graph: Graph) -> tuple[str, str]:
    """Return the names of the outputs of boxes and of scores, which a file has in any order."""
    boxes, scores = sorted((output.name for output in graph.outputs), key=lambda end: -_length(graph, end))
    return boxes, scores


def of_boxes(graph: Graph, anchors: Anchors) -> Score:
    """Return the score of a detector."""
    boxes, scores = ends_of_detector(graph)

    def faces(results: Sequence[Outputs]) -> list[Any]:
        return [detections(anchors, result[boxes], result[scores]) for result in results]

    return lambda floats, stored: compared(faces(floats), faces(stored))


def of_face(graph: Graph) -> Score:
    """Return the score of 468 points on a face."""
    points = max((output.name for output in graph.outputs), key=lambda end: _length(graph, end))

    def score(floats: Sequence[Outputs], stored: Sequence[Outputs]) -> Result:
        return _distances(
            [_points(outputs, points) for outputs in floats], [_points(outputs, points) for outputs in stored]
        )

    return score


def of_hand(graph: Graph) -> Score:
    """Return the score of 21 points on a hand, for images in which the float network detects one."""
    candidates = [output.name for output in graph.outputs if graph.shape_of(output) == (63,)]
    flag = next(output.name for output in graph.outputs if graph.shape_of(output) == (1,))

    def score(floats: Sequence[Outputs], stored: Sequence[Outputs]) -> Result:
        present = [index for index, outputs in enumerate(floats) if float(outputs[flag][0]) >= 0.5]
        agree = [(float(a[flag][0]) >= 0.5) == (float(b[flag][0]) >= 0.5) for a, b in zip(floats, stored)]
        # One output is in pixels, the other in metres.
        end = max(candidates, key=lambda name: max(float(np.abs(outputs[name]).max()) for outputs in floats))
        chosen = [[_points(results[index], end) for index in present] for results in (floats, stored)]
        return {**_distances(*chosen), "presence": float(np.mean(agree))}

    return score


def of_mask(graph: Graph) -> Score:
    """Return the score of person masks."""
    (end,) = (output.name for output in graph.outputs)

    def score(floats: Sequence[Outputs], stored: Sequence[Outputs]) -> Result:
        ious, alphas = [], []
        for floats_of_image, stored_of_image in zip(floats, stored):
            expected, actual = floats_of_image[end] > 0.5, stored_of_image[end] > 0.5
            if expected.mean() >= 0.01:
                ious.append(float((expected & actual).sum() / (expected | actual).sum()))
            alphas.append(float(np.abs(floats_of_image[end] - stored_of_image[end]).mean()))
        return {
            "pictures": len(ious),
            "iou": float(np.mean(ious)),
            "iou_least": float(np.min(ious)),
            "alpha": float(np.mean(alphas)),
        }

    return score


def _length(graph: Graph, end: str) -> int:
    (output,) = (output for output in graph.outputs if output.name == end)
    return int(np.prod(graph.shape_of(output)))


def _points(outputs: Outputs, end: str) -> NDArray[np.float64]:
    return np.asarray(outputs[end].reshape(-1, 3)[:, :2], np.float64)


def _distances(floats: Sequence[NDArray[Any]], stored: Sequence[NDArray[Any]]) -> Result:
    distances = [np.linalg.norm(a - b, axis=1) for a, b in zip(floats, stored)]
    means = [float(values.mean()) for values in distances]
    if not means:  # the float network detects nothing in any image
        return {"pictures": 0}
    return {"pictures": len(distances), "pixels": float(np.mean(means)), "worst": float(np.max(means))}


def labels(floats: Sequence[Outputs], stored: Sequence[Outputs]) -> Result:
    """Return the share of images with the float network's first label, and the signal-to-noise ratio in dB."""
    (end,) = floats[0]
    logits = [np.stack([np.ravel(result[end]) for result in results]) for results in (floats, stored)]
    exact, rounded = (rows - rows.mean(axis=1, keepdims=True) for rows in logits)
    same = exact.argmax(axis=1) == rounded.argmax(axis=1)
    sqnr = 10.0 * np.log10((exact**2).sum() / max(((exact - rounded) ** 2).sum(), 1e-30))
    return {"pictures": len(same), "same": float(same.mean()), "sqnr": float(sqnr)}


SCORES: dict[str, Callable[[Graph], Score]] = {
    "face-detection": lambda graph: of_boxes(graph, FACES_NEAR),
    "face-detection-full-range": lambda graph: of_boxes(graph, FACES_FAR),
    "face-mesh": of_face,
    "selfie-segmentation": of_mask,
    "hand-landmarks-lite": of_hand,
    "palm-detection-lite": lambda graph: of_boxes(graph, PALMS),
    "efficientnet-lite0": lambda graph: labels,
    "mobilenet-v2-0.35": lambda graph: labels,
}
