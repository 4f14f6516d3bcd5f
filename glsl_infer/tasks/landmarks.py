"""Landmarks: points of each thing that a detector finds, from a cut in which it stands upright."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Union

import numpy as np
from numpy.typing import NDArray

from glsl_infer.errors import InputError
from glsl_infer.gl.context import Context
from glsl_infer.runtime.pictures import preprocess
from glsl_infer.runtime.pictures.uploaded import Uploaded
from glsl_infer.runtime.session import Session
from glsl_infer.tasks import reading
from glsl_infer.tasks.boxes import SIGMOID
from glsl_infer.tasks.cuts import Cut, around, direction, pixels_of
from glsl_infer.tasks.description import DETECTION, LANDMARKS, Description, LandmarkRules, Region
from glsl_infer.tasks.detection import Detector
from glsl_infer.tasks.results import Detection, Found, Landmarks
from glsl_infer.tasks.task import Given, Outputs, Task, Usable, size_of, usable

_SAME = 0.4
"""Of the area that two cuts cover, the share above which they show one thing."""

_SEARCH = 15
"""Frames after which the detector looks for more things, while some are followed."""


class Landmarker(Task[Found[Landmarks]]):
    """Finds points of things: a detector says where they are, a network reads the cut around each.

    Args:
        task, model, context: see ``Task``.
        detector_model: another bundle than the detector's description names.
        most: how many things are looked at in a picture at most, by default what the description says.
        tiles: the detector's, see ``Detector``.

    Attributes:
        number: the number of points of a thing.
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
        self._detector_model, self._wanted, self._tiles = detector_model, most, tiles
        self._cuts: list[Cut] = []
        self._frame_size: tuple[int, int] | None = None
        self._since = 0
        self.detections = 0
        if most is not None and most < 1:
            raise InputError(f"most={most}; give 1 or more")
        super().__init__(task, model=model, context=context)

    @property
    def sessions(self) -> tuple[Session, ...]:
        """Those of the detector and of the landmarks."""
        assert self._detector is not None
        return (*self._detector.sessions, self.session)

    @property
    def detector(self) -> Detector:
        """What finds the things."""
        assert self._detector is not None
        return self._detector

    def __call__(self, picture: Given) -> Found[Landmarks]:
        """Return the points of all things in a picture, best detection first; see ``Task``."""
        given = usable(picture)
        return self._found(given, self._cuts_of(self.detector(given)))

    def follow(self, picture: Given) -> Found[Landmarks]:
        """Return the points of all things in the next frame of a film.

        Each cut is around the points of the frame before. The detector looks only where nothing is followed, and from
        time to time while fewer things are than may be. A frame is uploaded once, and shaders make all cuts of it.
        """
        given = self._on_gpu(usable(picture))
        size = size_of(given)
        if self._rules.follow is None or size != self._frame_size:
            self._cuts = []
        self._frame_size = size
        found = self._found(given, self._cuts)
        self._since += 1
        if not found or (len(found) < self._most and self._since >= _SEARCH):
            self._since = 0
            known = [item.cut for item in found]
            new = [
                cut
                for cut in self._cuts_of(self.detector.follow(given))
                if all(cut.overlap(other) < _SAME for other in known)
            ]
            items = (*found, *self._found(given, new[: self._most - len(found)]))
            found = Found(items, size)
        self._cuts = [] if self._rules.follow is None else _distinct(found, self._rules.follow)
        return found

    def close(self) -> None:
        """Free the GPU's resources."""
        if self._uploaded is not None:
            self._uploaded.close()
        if self._detector is not None:
            self._detector.close()
        super().close()

    def _on_gpu(self, picture: Usable) -> Usable:
        """Return a frame as a texture; as it is where no texture holds it, or the CPU computes a part of a network."""
        if not isinstance(picture, np.ndarray) or any(session.bundle.parts for session in self.sessions):
            return picture
        if self._uploaded is None:
            self._uploaded = Uploaded(self.session.context)
        return self._uploaded.put(picture) if self._uploaded.fits(*size_of(picture)) else picture

    def points(self, outputs: Outputs, cut: Cut, size: tuple[int, int]) -> Landmarks | None:
        """Return what a network's numbers mean; None where it says that there is nothing.

        Args:
            outputs: all of the bundle's, by name; another runner's of the same network will do.
            cut: what the network read.
            size: width and height of the picture in pixels.
        """
        rules, entry = self._rules, self.session.bundle.manifest.input
        score = 1.0 if rules.presence is None else _score(outputs[rules.presence], rules.activation)
        numbers = outputs[rules.points].reshape(-1, rules.dimensions).astype(np.float64)
        if score < rules.threshold or not np.isfinite(numbers).all():
            return None
        units = (entry.width, entry.height) if rules.unit is None else (rules.unit, rules.unit)
        points = numbers.copy()
        points[:, :2] = cut.to_picture(numbers[:, :2] / units)
        points[:, 2:] *= cut.width / units[0]
        attributes = {name: float(outputs[output].ravel()[0]) for name, output in rules.attributes.items()}
        return Landmarks(points, score, attributes, cut, rules.lines, rules.fine, size)

    def _prepare(self) -> None:
        rules = self.description.rules
        assert isinstance(rules, LandmarkRules)
        self._rules, self._most = rules, self._wanted or rules.most
        self._picture_input()
        self.number = number = self._rows([rules.points], rules.dimensions)
        for name in (rules.presence, *rules.attributes.values()):
            if name is not None and self._rows([name], 1) != 1:
                raise InputError(f"output '{name}' has {self._rows([name], 1)} numbers, where one is needed")
        _check_indices("'lines'", [index for line in rules.lines for index in line], number)
        _check_indices("'fine'", [index for pair in rules.fine for index in pair], number)
        if rules.follow is not None:
            _check_region("'follow'", rules.follow, number)
        detector = reading.find(rules.detector, beside=self.description.source)
        if detector.kind != DETECTION:
            raise InputError(f"its detector '{rules.detector}' is a task for {detector.kind}; name one for {DETECTION}")
        self._detector = Detector(detector, model=self._detector_model, tiles=self._tiles, context=self.session.context)
        known = len(self._detector.description.rules.points)  # type: ignore[union-attr]
        _check_region("'cut'", rules.cut, known)

    def _cuts_of(self, things: Sequence[Detection]) -> list[Cut]:
        """Return the cuts around what the detector found, best first."""
        self.detections += 1
        return [self.cut_of(thing) for thing in things[: self._most]]

    def cut_of(self, thing: Detection) -> Cut:
        """Return the cut that shows a thing upright."""
        region = self._rules.cut
        angle = _angle(region, thing.points)
        if region.points:
            return _around(region, thing.points[list(region.points)], angle)
        # A detector's box stands upright whatever is in it: its sides count, and the cut is turned around its middle.
        left, top, right, bottom = thing.box
        width, height = right - left, bottom - top
        upright = Cut((left + right) / 2, (top + bottom) / 2, width, height, angle)
        x, y = upright.to_picture(np.array([region.shift]) + 0.5)[0]
        if region.square:
            width = height = max(width, height)
        return Cut(float(x), float(y), width * region.scale, height * region.scale, angle)

    def _found(self, picture: Usable, cuts: Sequence[Cut]) -> Found[Landmarks]:
        size, entry = size_of(picture), self.session.bundle.manifest.input
        found = []
        for cut in cuts:
            if not _reaches(cut, size):
                continue
            part: Any
            if isinstance(picture, np.ndarray):
                part = pixels_of(picture, cut, entry.height, entry.width)
                part = part if entry.channels == 3 else preprocess.load_for(part, entry)
            else:
                part = cut.of(picture)
            item = self.points(self.session.run({entry.name: part}), cut, size)
            if item is not None:
                found.append(item)
        return Found(tuple(found), size)


def _distinct(found: Sequence[Landmarks], region: Region) -> list[Cut]:
    """Return the cuts of the next frame: two that came to show one thing become one."""
    cuts: list[Cut] = []
    for item in found:
        points = item.points[:, :2]
        around_points = points[list(region.points)] if region.points else points
        cut = _around(region, around_points, _angle(region, points))
        if cut.usable and all(cut.overlap(other) < _SAME for other in cuts):
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
    """Return whether a cut is usable and shows any of the picture: a follower may be led far away."""
    if not cut.usable or max(cut.width, cut.height) > 16.0 * max(size):
        return False
    low, high = cut.corners.min(axis=0), cut.corners.max(axis=0)
    return bool((high > 0.0).all() and (low < size).all())


def _score(numbers: NDArray[np.float32], activation: str) -> float:
    number = float(numbers.ravel()[0])
    return float(1.0 / (1.0 + np.exp(-np.clip(number, -80.0, 80.0)))) if activation == SIGMOID else number


def _check_indices(where: str, indices: Sequence[int], number: int) -> None:
    wrong = [index for index in indices if index >= number]
    if wrong:
        raise InputError(f"{where} names point {wrong[0]}; there are {number}, from 0 on")


def _check_region(where: str, region: Region, number: int) -> None:
    _check_indices(where, [*region.begin, *region.end, *region.points], number)
