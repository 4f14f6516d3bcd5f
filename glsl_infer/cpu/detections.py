"""CPU operators for the end of a detector: boxes and their classes after non-maximum suppression."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from glsl_infer.cpu.boxes import LARGEST_CHANGE, NO_BOX, suppress
from glsl_infer.cpu.kernel import Attrs, Kernel, Weights, require_rank
from glsl_infer.graph.node import Array, Shape

COLUMNS = 7
"""Columns of a detection: top, left, bottom, right, class, score, and 1."""


def _detections_shape(attrs: Attrs, weights: Mapping[str, Shape], shapes: Sequence[Shape]) -> Shape:
    boxes, scores = require_rank(shapes[0], 2, "boxes"), require_rank(shapes[1], 2, "scores")
    classes = attrs["classes"]
    if not boxes == weights.get("anchors") == (scores[0], 4) or not 1 <= classes <= scores[1]:
        raise ValueError(
            f"boxes of shape {boxes}, anchors of {weights.get('anchors')}, scores of {scores} and {classes} classes; "
            "give (n, 4), (n, 4) and (n, classes or one more)"
        )
    return int(attrs["most"]), COLUMNS


def _detections(attrs: Attrs, weights: Weights, inputs: Sequence[Array]) -> Array:
    """Return the best boxes with their classes and scores, (most, ``COLUMNS``), with zeros after the last one."""
    boxes = _decoded_boxes(attrs, inputs[0], weights["anchors"].astype(inputs[0].dtype))
    scores = inputs[1][:, inputs[1].shape[1] - attrs["classes"] :]
    least = np.nextafter(boxes.dtype.type(attrs["least_score"]), boxes.dtype.type(-np.inf))
    if attrs["each_class"]:
        chosen = [
            suppress(boxes, class_scores, attrs["most_of_class"], attrs["overlap"], least) for class_scores in scores.T
        ]
        classes = np.repeat(np.arange(len(chosen)), [len(rows_of_class) for rows_of_class in chosen])
        rows = np.concatenate(chosen)
    else:
        rows = suppress(boxes, scores.max(axis=1), attrs["most"], attrs["overlap"], least)
        classes = scores[rows].argmax(axis=1)
    best = np.argsort(-scores[rows, classes], kind="stable")[: attrs["most"]]
    rows, classes = rows[best], classes[best]
    result = np.zeros((attrs["most"], COLUMNS), boxes.dtype)
    result[: len(rows)] = np.column_stack([boxes[rows], classes, scores[rows, classes], np.ones(len(rows))])
    return result


def _decoded_boxes(attrs: Attrs, deltas: Array, anchors: Array) -> Array:
    """Return anchors (centre, size) translated and scaled by deltas in units of ``scales``, as corners, (n, 4)."""
    scales = np.asarray(attrs["scales"], deltas.dtype)
    centre = deltas[:, :2] / scales[:2] * anchors[:, 2:] + anchors[:, :2]
    half = np.exp(np.minimum(deltas[:, 2:] / scales[2:], 8 * LARGEST_CHANGE)) * anchors[:, 2:] / 2
    return np.concatenate([centre - half, centre + half], axis=1)


def _by_class_shape(attrs: Attrs, weights: Mapping[str, Shape], shapes: Sequence[Shape]) -> Shape:
    boxes, scores = require_rank(shapes[0], 2, "boxes"), require_rank(shapes[1], 2, "scores")
    if boxes != (scores[1], 4) or attrs["most"] < 1:
        raise ValueError(f"boxes of shape {boxes} with scores of shape {scores}; give (n, 4) and (classes, n)")
    return scores[0] * min(int(attrs["most"]), scores[1]), 2


def _by_class(attrs: Attrs, weights: Weights, inputs: Sequence[Array]) -> Array:
    """Return (class, index) of the boxes that remain of each class, padded with ``NO_BOX``."""
    boxes, scores = inputs
    if attrs["centres"]:
        half = boxes[:, 2:] / 2
        boxes = np.concatenate([boxes[:, :2] - half, boxes[:, :2] + half], axis=1)
    most = min(int(attrs["most"]), scores.shape[1])
    result = np.full((len(scores) * most, 2), NO_BOX, boxes.dtype)
    count = 0
    for class_index, class_scores in enumerate(scores):
        chosen = suppress(boxes, class_scores, most, attrs["overlap"], attrs["least_score"])
        result[count : count + len(chosen)] = np.column_stack([np.full(len(chosen), class_index), chosen])
        count += len(chosen)
    return result


KERNELS: Mapping[str, Kernel] = {
    "detections": Kernel(
        "Boxes of a single-shot detector: anchors (centre, size) translated by the inputs, with their best classes, "
        "without overlapping ones, best first; rows of (top, left, bottom, right, class, score, 1), then zeros.",
        (2, 2),
        _detections_shape,
        _detections,
        {
            "scales": (10.0, 10.0, 5.0, 5.0),
            "classes": None,
            "most": None,
            "overlap": 0.5,
            "least_score": 0.0,
            "each_class": False,
            "most_of_class": 100,
        },
        ("anchors",),
    ),
    "class_suppression": Kernel(
        "Non-maximum suppression for each class: (class, index) of the boxes (n, 4) with the best scores (classes, n) "
        "without overlap, class by class; then -1.",
        (2, 2),
        _by_class_shape,
        _by_class,
        {"most": None, "overlap": 0.5, "least_score": -3.0e38, "centres": False},
    ),
}
"""The kernels by operator name."""
