"""Tasks for the runners in Python, Java and the browser: images, rules, wrong entries, and comparisons of results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from red_squares import DETECTOR, LANDMARKS, MASK, picture

from glsl_infer.tasks.results import Detection, Landmarks

NEAR, FITTED = 0.05, 0.3
"""Largest difference of boxes and points in pixels.

NEAR is for images of the network's size on two drivers, FITTED for images that shaders or NumPy scale.
"""

PICTURES = [
    (picture(32, 32, (4, 4, 8), (20, 12, 8)), NEAR),
    (picture(32, 32, (16, 16, 20)), NEAR),  # many cells of one object
    (picture(64, 32, (12, 12, 8), (52, 20, 8)), FITTED),
    (picture(70, 300, (40, 150, 40)), FITTED),
    (np.zeros((400, 1, 3), np.uint8), NEAR),
]

CHANGES: list[dict[str, object]] = [
    {"order": "yxhw", "units": [2, 2, 1, 1]},
    {"sizes": "exponential", "merge": "best", "overlap": 0.1},
    {"labels": ["red"], "activation": "none", "threshold": 0.9, "most": 3, "exclusive": True},
    {"body": [0, 1], "anchors": [{"cells": [8, 8], "scale": 0.25, "aspects": [1.5]}]},
]
"""Other rules of the detector."""

WRONG_TASKS: list[tuple[dict[str, object], dict[str, object], str]] = [
    (DETECTOR, {"anchors": [{"stride": 8, "sizes": [[1, 1]]}]}, "64 rows"),
    (DETECTOR, {"points": ["one", "two", "three"], "lines": []}, "not a multiple of 10"),
    (DETECTOR, {"scores": "score"}, "no output 'score'"),
    (DETECTOR, {"model": "nowhere.glslnn"}, "nowhere.glslnn"),
    (DETECTOR, {"anchors": []}, "anchors"),
    (DETECTOR, {"thresold": 0.3}, "'thresold'"),
    (DETECTOR, {"threshold": 3}, "threshold"),
    (DETECTOR, {"merge": "mean"}, "weighted, best"),
    (LANDMARKS, {"lines": [[0, 2]]}, "'lines' names point 2"),
    (LANDMARKS, {"presence": "sides"}, "4 numbers"),
    (LANDMARKS, {"detector": "mask.json"}, "segmentation"),
    (LANDMARKS, {"cut": {"from": 0, "to": 7}}, "'cut' names point 7"),
    (LANDMARKS, {"cut": {"from": 0}}, "'to'"),
    (MASK, {"channel": 1}, "'channel'"),
    (MASK, {"edge": [0.7, 0.3]}, "larger one"),
]
"""A task, its wrong entry, and a part of every reader's message."""


def same_boxes(result: list[dict[str, Any]], expected: list[Detection], off: float) -> None:
    """Compare detections, of which those with equal scores come in any order."""

    def corners(box: Any) -> list[int]:
        return [round(2 * side) for side in box]

    assert len(result) == len(expected)
    pairs = zip(
        sorted(result, key=lambda detection: corners(detection["box"])),
        sorted(expected, key=lambda detection: corners(detection.box)),
    )
    for detected, other in pairs:
        assert detected["score"] == pytest.approx(other.score, abs=0.02)
        assert detected["label"] == other.label
        assert detected["box"] == pytest.approx(other.box, abs=off)
        assert np.array(detected["points"]).reshape(other.points.shape) == pytest.approx(other.points, abs=off)


def same_points(result: dict[str, Any], expected: Landmarks, off: float) -> None:
    cut = result["cut"]
    assert result["score"] == pytest.approx(expected.score, abs=0.02)
    assert result["attributes"] == pytest.approx(expected.attributes, abs=0.02)
    assert (cut["angle"] if isinstance(cut, dict) else cut[4]) == pytest.approx(expected.cut.angle, abs=0.02)
    assert np.array(result["points"]) == pytest.approx(expected.points, abs=off)
