"""Object detection with anchors: boxes, and points of each object."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Union

import numpy as np
from numpy.typing import NDArray

from glsl_infer.errors import InputError
from glsl_infer.gl.context import Context
from glsl_infer.tasks import boxes
from glsl_infer.tasks.anchors import anchors
from glsl_infer.tasks.description import DETECTION, Description, DetectionRules
from glsl_infer.tasks.results import Detection, Found
from glsl_infer.tasks.task import (
    Outputs,
    PictureSource,
    Task,
    back_in_picture,
    concatenated_rows,
    load_picture,
    size_of,
)

MOST_TILES = 8
OVERLAP = 0.25
"""Overlap of adjacent tiles, relative to a tile's side, so that an object at the edge of a tile is complete in the next
one."""


class Detector(Task[Found[Detection]]):
    """Finds objects with a network that has a score and a box for each anchor, such as SSD.

    Args:
        task: as for ``Task``.
        model: as for ``Task``.
        tiles: also search images on the CPU in ``tiles`` x ``tiles`` overlapping parts, 1 to ``MOST_TILES``, in which
            small objects are larger. Takes ``1 + tiles**2`` times as long.
        context: as for ``Task``.
    """

    kind = DETECTION

    def __init__(
        self,
        task: Union[str, Path, Description, None] = None,
        *,
        model: Union[str, Path, None] = None,
        tiles: int = 1,
        context: Union[str, Context] = "auto",
    ) -> None:
        if not 1 <= tiles <= MOST_TILES:
            raise InputError(f"tiles={tiles}; give 1 to {MOST_TILES}")
        self._tiles = tiles
        super().__init__(task, model=model, context=context)

    def __call__(self, picture: PictureSource) -> Found[Detection]:
        """Return the objects in an image, best first; arguments and errors as for ``Task``."""
        loaded = load_picture(picture)
        detections = self.follow(loaded)
        least_score = self._rules.turned
        if not least_score or not isinstance(loaded, np.ndarray):
            return detections
        if detections and all(detection.score >= least_score for detection in detections):
            return detections
        candidates = list(detections)
        for quarters in (1, 2, 3):
            in_rotation = self.follow(np.ascontiguousarray(np.rot90(loaded, quarters)))
            candidates += [
                turned_back(detection, quarters) for detection in in_rotation if detection.score >= least_score
            ]
        return Found(tuple(self._without_doubles(candidates)), detections.size)

    def follow(self, picture: PictureSource) -> Found[Detection]:
        """Return the upright objects in the next frame of a film, best first."""
        loaded = load_picture(picture)
        detections = self.found(self._run(loaded), size_of(loaded))
        if self._tiles == 1 or not isinstance(loaded, np.ndarray):
            return detections
        candidates = list(detections)
        for left, top, right, bottom in parts(*detections.size, self._tiles):
            tile = np.ascontiguousarray(loaded[top:bottom, left:right])
            edges = (left > 0, top > 0, right < detections.size[0], bottom < detections.size[1])
            for detection in self.found(self._run(tile), (right - left, bottom - top)):
                if not _is_cut(detection, edges):  # it is complete in the adjacent tile
                    candidates.append(_translated(detection, left, top, detections.size))
        return Found(tuple(self._without_doubles(candidates)), detections.size)

    def _without_doubles(self, candidates: list[Detection]) -> list[Detection]:
        """Return the best of overlapping detections, best first."""
        best_things: list[Detection] = []
        for index in sorted({0 if self._rules.exclusive else detection.index for detection in candidates}):
            group = [detection for detection in candidates if self._rules.exclusive or detection.index == index]
            group_boxes = np.array([detection.box for detection in group])
            scores = np.array([detection.score for detection in group])
            _, best = boxes.suppress(group_boxes, scores, self._rules.overlap, self._rules.most, merge=boxes.BEST)
            best_things += [group[index_in_group] for index_in_group in best]
        return sorted(best_things, key=lambda detection: -detection.score)[: self._rules.most]

    def _prepare(self) -> None:
        rules = self.description.rules
        assert isinstance(rules, DetectionRules)
        self._rules, self._model_input = rules, self._picture_input()
        self._anchors = anchors(rules.anchors, self._model_input.height, self._model_input.width)
        self._columns = 4 + 2 * len(rules.points)
        self._classes = len(rules.labels) + rules.background
        for noun, names, columns in (("boxes", rules.boxes, self._columns), ("scores", rules.scores, self._classes)):
            rows = self._row_count(names, columns)
            if rows != len(self._anchors):
                raise InputError(
                    f"{', '.join(names)}: {rows} rows of {columns} numbers for the {noun} of {len(self._anchors)} "
                    "anchors; correct 'anchors', 'points' or 'labels'"
                )

    def found(self, outputs: Outputs, size: tuple[int, int]) -> Found[Detection]:
        """Convert outputs of the network to detections.

        Args:
            outputs: all outputs of the bundle by name, also those of another runner.
            size: width and height of the image in pixels.
        """
        rules = self._rules
        scores, rows, classes = boxes.likely(
            concatenated_rows(outputs, rules.scores, self._classes),
            rules.activation,
            rules.threshold,
            background=rules.background,
        )
        raw = concatenated_rows(outputs, rules.boxes, self._columns)[rows]
        decoded = boxes.decode(raw, self._anchors[rows], rules.code)
        if rules.body is not None:
            decoded[:, :4] = around_circle(decoded, rules.body, (self._model_input.width, self._model_input.height))
        candidates: list[tuple[float, int, NDArray[np.float64]]] = []
        if rules.exclusive:
            groups = [np.arange(len(rows))]
        else:
            groups = [np.flatnonzero(classes == class_index) for class_index in np.unique(classes)]
        for group in groups:
            merged, best = boxes.suppress(decoded[group], scores[group], rules.overlap, rules.most, merge=rules.merge)
            candidates += [(float(scores[row]), int(classes[row]), box) for row, box in zip(group[best], merged)]
        candidates.sort(key=lambda detection: -detection[0])
        factors, offsets = back_in_picture(self._model_input, size)
        return Found(
            tuple(self._detection(*detection, factors, offsets, size) for detection in candidates[: rules.most]), size
        )

    def _detection(
        self,
        score: float,
        index: int,
        coordinates: NDArray[np.float64],
        factors: NDArray[np.float64],
        offsets: NDArray[np.float64],
        size: tuple[int, int],
    ) -> Detection:
        points = coordinates.reshape(-1, 2) * factors + offsets
        left, top, right, bottom = points[:2].ravel().tolist()
        rules = self._rules
        box, label = (left, top, right, bottom), rules.labels[index]
        return Detection(box, score, label, points[2:], rules.points, rules.lines, index, size)


def parts(width: int, height: int, tiles: int) -> list[tuple[int, int, int, int]]:
    """Return (left, top, right, bottom) of ``tiles`` x ``tiles`` parts of an image, which overlap by ``OVERLAP``."""
    spans = []
    for length in (width, height):
        tile_side = min(length, math.ceil(length / (tiles - (tiles - 1) * OVERLAP)))
        begins = [round(index * (length - tile_side) / max(1, tiles - 1)) for index in range(tiles)]
        spans.append([(begin, begin + tile_side) for begin in begins])
    across, down = spans
    return [(left, top, right, bottom) for top, bottom in down for left, right in across]


def turned_back(detection: Detection, quarters: int) -> Detection:
    """Convert a detection in a rotated image to the original one.

    Args:
        detection: detection in the rotated image.
        quarters: number of rotations by 90 degrees, counterclockwise as seen.
    """
    left, top, right, bottom = detection.box
    points, size = np.concatenate([[[left, top], [right, bottom]], detection.points]), detection.size
    for _ in range(quarters % 4):
        size = size[::-1]  # of the image before this rotation
        points = np.stack([size[0] - points[:, 1], points[:, 0]], axis=1)
    low, high = points[:2].min(axis=0).tolist(), points[:2].max(axis=0).tolist()
    return replace(detection, box=(low[0], low[1], high[0], high[1]), points=points[2:], size=size)


def _is_cut(detection: Detection, edges: tuple[bool, bool, bool, bool]) -> bool:
    """Return whether a box crosses an edge of a tile inside the image (left, top, right, bottom)."""
    left, top, right, bottom = detection.box
    return any(
        inside_picture and distance < 0.0
        for inside_picture, distance in zip(edges, (left, top, detection.size[0] - right, detection.size[1] - bottom))
    )


def _translated(detection: Detection, left: int, top: int, size: tuple[int, int]) -> Detection:
    x, y, right, bottom = detection.box
    box = (x + left, y + top, right + left, bottom + top)
    return replace(detection, box=box, points=detection.points + np.array([left, top]), size=size)


def around_circle(
    decoded: NDArray[np.floating], body: tuple[int, int], pixels: tuple[int, int]
) -> NDArray[np.floating]:
    """Return the bounding squares of circles (``DetectionRules.body``), relative to the network's input.

    ``pixels`` is the width and height of the input.
    """
    points = decoded[:, 4:].reshape(len(decoded), decoded.shape[1] // 2 - 2, 2)
    middle, point_on_circle = points[:, body[0]], points[:, body[1]]
    radius = np.linalg.norm((point_on_circle - middle) * pixels, axis=1)[:, None] / pixels
    return np.concatenate([middle - radius, middle + radius], axis=1)
