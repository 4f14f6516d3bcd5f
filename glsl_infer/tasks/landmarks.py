"""Landmarks: points of each object found by a detector, from an upright cut around the object."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Union

import numpy as np
from numpy.typing import NDArray

from glsl_infer.errors import InputError
from glsl_infer.gl.context import Context
from glsl_infer.runtime.pictures import preprocess
from glsl_infer.runtime.pictures.picture_input import Uploaded
from glsl_infer.runtime.session import Session
from glsl_infer.tasks import reading
from glsl_infer.tasks.boxes import SIGMOID
from glsl_infer.tasks.cuts import Cut, around, direction, pixels_of
from glsl_infer.tasks.description import DETECTION, LANDMARKS, Description, LandmarkRules, Region
from glsl_infer.tasks.detection import Detector
from glsl_infer.tasks.results import Detection, Found, Landmarks
from glsl_infer.tasks.task import LoadedPicture, Outputs, PictureSource, Task, load_picture, size_of

_SAME_OBJECT = 0.4
"""Intersection over union above which two cuts show the same object."""

_DETECTION_INTERVAL = 15
"""Frames after which the detector searches for more objects while some are followed."""


class Landmarker(Task[Found[Landmarks]]):
    """Finds points of objects: a detector locates them, and a network reads the cut around each.

    Args:
        task: as for ``Task``.
        model: as for ``Task``.
        detector_model: another bundle than that of the detector's description.
        most: largest number of objects in an image, by default the description's.
        tiles: as for ``Detector``.
        context: as for ``Task``.

    Attributes:
        number: number of points of an object.
    """

    kind = LANDMARKS

    def __init__(
        self,
        task: Union[str, Path, Description, None] = None,
        *,
        model: Union[str, Path, None] = None,
        detector_model: Union[str, Path, None] = None,
        most: int | None = None,
        tiles: int = 1,
        context: Union[str, Context] = "auto",
    ) -> None:
        self._detector: Detector | None = None
        self._uploaded: Uploaded | None = None
        self._detector_model, self._requested_most, self._tiles = detector_model, most, tiles
        self._cuts: list[Cut] = []
        self._frame_size: tuple[int, int] | None = None
        self._frames_since_detection = 0
        self.detections = 0
        if most is not None and most < 1:
            raise InputError(f"most={most}; give 1 or more")
        super().__init__(task, model=model, context=context)

    @property
    def sessions(self) -> tuple[Session, ...]:
        """Sessions of the detector and of the landmarks."""
        assert self._detector is not None
        return (*self._detector.sessions, self.session)

    @property
    def detector(self) -> Detector:
        """The task that finds the objects."""
        assert self._detector is not None
        return self._detector

    def __call__(self, picture: PictureSource) -> Found[Landmarks]:
        """Return the points of all objects in an image, best detection first; arguments and errors as for ``Task``."""
        loaded = load_picture(picture)
        return self._in_cuts(loaded, self._cuts_of(self.detector(loaded)))

    def follow(self, picture: PictureSource) -> Found[Landmarks]:
        """Return the points of all objects in the next frame of a film.

        Each cut is around the points of the previous frame. The detector runs if it has lost all objects, and
        periodically while fewer objects than ``most`` are. A frame is uploaded once, and shaders cut it.
        """
        loaded = self._on_gpu(load_picture(picture))
        size = size_of(loaded)
        if self._rules.follow is None or size != self._frame_size:
            self._cuts = []
        self._frame_size = size
        results = self._in_cuts(loaded, self._cuts)
        self._frames_since_detection += 1
        is_due = self._frames_since_detection >= _DETECTION_INTERVAL
        if not results or (len(results) < self._most and is_due):
            self._frames_since_detection = 0
            current_cuts = [item.cut for item in results]
            new_cuts = [
                cut
                for cut in self._cuts_of(self.detector.follow(loaded))
                if all(cut.overlap(other) < _SAME_OBJECT for other in current_cuts)
            ]
            items = (*results, *self._in_cuts(loaded, new_cuts[: self._most - len(results)]))
            results = Found(items, size)
        self._cuts = [] if self._rules.follow is None else _distinct(results, self._rules.follow)
        return results

    def close(self) -> None:
        """Release the GPU's resources."""
        if self._uploaded is not None:
            self._uploaded.close()
        if self._detector is not None:
            self._detector.close()
        super().close()

    def _on_gpu(self, picture: LoadedPicture) -> LoadedPicture:
        """Return a frame as a texture, or unchanged if it is too large or CPU parts read it."""
        if not isinstance(picture, np.ndarray) or any(len(session.bundle.parts) > 1 for session in self.sessions):
            return picture
        if self._uploaded is None:
            self._uploaded = Uploaded(self.session.context)
        return self._uploaded.put(picture) if self._uploaded.fits(*size_of(picture)) else picture

    def points(self, outputs: Outputs, cut: Cut, size: tuple[int, int]) -> Landmarks | None:
        """Convert outputs of the network to landmarks; None if the object is absent.

        Args:
            outputs: all outputs of the bundle by name, also those of another runner.
            cut: input of the network.
            size: width and height of the image in pixels.
        """
        rules, model_input = self._rules, self.session.bundle.manifest.input
        score = 1.0 if rules.presence is None else _score(outputs[rules.presence], rules.activation)
        points = outputs[rules.points].reshape(-1, rules.dimensions).astype(np.float64)
        if score < rules.threshold or not np.isfinite(points).all():
            return None
        units = (model_input.width, model_input.height) if rules.unit is None else (rules.unit, rules.unit)
        points[:, :2] = cut.to_picture(points[:, :2] / units)
        points[:, 2:] *= cut.width / units[0]
        attributes = {name: float(outputs[output].ravel()[0]) for name, output in rules.attributes.items()}
        return Landmarks(points, score, attributes, cut, rules.lines, rules.fine, size)

    def _prepare(self) -> None:
        rules = self.description.rules
        assert isinstance(rules, LandmarkRules)
        self._rules, self._most = rules, self._requested_most or rules.most
        self._picture_input()
        self.number = point_count = self._row_count([rules.points], rules.dimensions)
        for name in (rules.presence, *rules.attributes.values()):
            if name is not None and self._row_count([name], 1) != 1:
                raise InputError(f"output '{name}' has {self._row_count([name], 1)} numbers, where one is needed")
        _check_indices("'lines'", [index for line in rules.lines for index in line], point_count)
        _check_indices("'fine'", [index for pair in rules.fine for index in pair], point_count)
        if rules.follow is not None:
            _check_region("'follow'", rules.follow, point_count)
        detector = reading.find(rules.detector, relative_to=self.description.source)
        if detector.kind != DETECTION:
            raise InputError(f"its detector '{rules.detector}' is a task for {detector.kind}; name one for {DETECTION}")
        self._detector = Detector(detector, model=self._detector_model, tiles=self._tiles, context=self.session.context)
        detector_points = len(self._detector.description.rules.points)  # type: ignore[union-attr]
        _check_region("'cut'", rules.cut, detector_points)

    def _cuts_of(self, detections: Sequence[Detection]) -> list[Cut]:
        """Return the cuts around detections, best first."""
        self.detections += 1
        return [self.cut_of(detection) for detection in detections[: self._most]]

    def cut_of(self, detection: Detection) -> Cut:
        """Return the cut that shows a detection upright."""
        region = self._rules.cut
        angle = _angle(region, detection.points)
        if region.points:
            return _around(region, detection.points[list(region.points)], angle)
        # The detector's box is upright for any rotation of the object. The cut has its size, rotated around its centre.
        left, top, right, bottom = detection.box
        width, height = right - left, bottom - top
        upright = Cut((left + right) / 2, (top + bottom) / 2, width, height, angle)
        x, y = upright.to_picture(np.array([region.shift]) + 0.5)[0]
        if region.square:
            width = height = max(width, height)
        return Cut(float(x), float(y), width * region.scale, height * region.scale, angle)

    def _in_cuts(self, picture: LoadedPicture, cuts: Sequence[Cut]) -> Found[Landmarks]:
        """Return the points of the objects in cuts of an image. Cuts without an object are left out."""
        size, model_input = size_of(picture), self.session.bundle.manifest.input
        results = []
        for cut in cuts:
            if not _reaches(cut, size):
                continue
            pixels: Any
            if isinstance(picture, np.ndarray):
                pixels = pixels_of(picture, cut, model_input.height, model_input.width)
                pixels = pixels if model_input.channels == 3 else preprocess.load_for(pixels, model_input)
            else:
                pixels = cut.of(picture)
            item = self.points(self.session.run({model_input.name: pixels}), cut, size)
            if item is not None:
                results.append(item)
        return Found(tuple(results), size)


def _distinct(results: Sequence[Landmarks], region: Region) -> list[Cut]:
    """Return the cuts of the next frame, without a second cut of the same object."""
    cuts: list[Cut] = []
    for item in results:
        points = item.points[:, :2]
        around_points = points[list(region.points)] if region.points else points
        cut = _around(region, around_points, _angle(region, points))
        if cut.usable and all(cut.overlap(other) < _SAME_OBJECT for other in cuts):
            cuts.append(cut)
    return cuts


def _around(region: Region, points: NDArray[np.float64], angle: float) -> Cut:
    return around(points, angle, scale=region.scale, shift=region.shift, square=region.square)


def _angle(region: Region, points: NDArray[np.float64]) -> float:
    if not region.begin:
        return 0.0
    begin, end = points[list(region.begin)].mean(axis=0), points[list(region.end)].mean(axis=0)
    return direction(begin, end, region.direction)


def _reaches(cut: Cut, size: tuple[int, int]) -> bool:
    """Return whether a cut is usable and overlaps the image. Followed points can drift far away."""
    if not cut.usable or max(cut.width, cut.height) > 16.0 * max(size):
        return False
    low, high = cut.corners.min(axis=0), cut.corners.max(axis=0)
    return bool((high > 0.0).all() and (low < size).all())


def _score(output: NDArray[np.float32], activation: str) -> float:
    value = float(output.ravel()[0])
    return float(1.0 / (1.0 + np.exp(-np.clip(value, -80.0, 80.0)))) if activation == SIGMOID else value


def _check_indices(key: str, indices: Sequence[int], count: int) -> None:
    invalid = [index for index in indices if index >= count]
    if invalid:
        raise InputError(f"{key} names point {invalid[0]}; there are {count}, from 0 on")


def _check_region(key: str, region: Region, count: int) -> None:
    _check_indices(key, [*region.begin, *region.end, *region.points], count)
