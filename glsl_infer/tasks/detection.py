"""Detection by anchors: where things are, and points of each."""

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
from glsl_infer.tasks.task import Given, Outputs, Task, back_in_picture, joined, size_of, usable

MOST_TILES = 8
OVERLAP = 0.25
"""Of a part's side that lies in the next one too: what is cut by an edge has to be whole beside it."""


class Detector(Task[Found[Detection]]):
    """Finds things by a network that says for each anchor whether there is one, and where: SSD and its kin.

    Args:
        task, model, context: see ``Task``.
        tiles: of pictures on the CPU, look as well at so many times so many parts that overlap, 1 to ``MOST_TILES``:
            what is small in the picture is larger in a part of it. Takes ``1 + tiles**2`` times as long.
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

    def __call__(self, picture: Given) -> Found[Detection]:
        """Return what is in a picture, best first; see ``Task``."""
        given = usable(picture)
        found = self.follow(given)
        least = self._rules.turned
        if not least or not isinstance(given, np.ndarray) or (found and all(thing.score >= least for thing in found)):
            return found
        things = list(found)
        for quarters in (1, 2, 3):
            looked = self.follow(np.ascontiguousarray(np.rot90(given, quarters)))
            things += [turned_back(thing, quarters) for thing in looked if thing.score >= least]
        return Found(tuple(self._without_doubles(things)), found.size)

    def follow(self, picture: Given) -> Found[Detection]:
        """Return what stands upright in the next frame of a film, best first."""
        given = usable(picture)
        found = self.found(self._run(given), size_of(given))
        if self._tiles == 1 or not isinstance(given, np.ndarray):
            return found
        things = list(found)
        for left, top, right, bottom in parts(*found.size, self._tiles):
            part = np.ascontiguousarray(given[top:bottom, left:right])
            edges = (left > 0, top > 0, right < found.size[0], bottom < found.size[1])
            for thing in self.found(self._run(part), (right - left, bottom - top)):
                if not _is_cut(thing, edges):  # it is whole in the part beside this one
                    things.append(_moved(thing, left, top, found.size))
        return Found(tuple(self._without_doubles(things)), found.size)

    def _without_doubles(self, things: list[Detection]) -> list[Detection]:
        """Return the best of things that overlap, best first."""
        kept: list[Detection] = []
        for index in sorted({0 if self._rules.exclusive else thing.index for thing in things}):
            group = [thing for thing in things if self._rules.exclusive or thing.index == index]
            numbers, scores = np.array([thing.box for thing in group]), np.array([thing.score for thing in group])
            _, best = boxes.suppress(numbers, scores, self._rules.overlap, self._rules.most, merge=boxes.BEST)
            kept += [group[one] for one in best]
        return sorted(kept, key=lambda thing: -thing.score)[: self._rules.most]

    def _prepare(self) -> None:
        rules = self.description.rules
        assert isinstance(rules, DetectionRules)
        self._rules, self._entry = rules, self._picture_input()
        self._anchors = anchors(rules.anchors, self._entry.height, self._entry.width)
        self._columns = 4 + 2 * len(rules.points)
        self._classes = len(rules.labels) + rules.background
        for what, names, columns in (("boxes", rules.boxes, self._columns), ("scores", rules.scores, self._classes)):
            rows = self._rows(names, columns)
            if rows != len(self._anchors):
                raise InputError(
                    f"{', '.join(names)}: {rows} rows of {columns} numbers for the {what} of {len(self._anchors)} "
                    "anchors; correct 'anchors', 'points' or 'labels'"
                )

    def found(self, outputs: Outputs, size: tuple[int, int]) -> Found[Detection]:
        """Return what a network's numbers mean.

        Args:
            outputs: all of the bundle's, by name; another runner's of the same network will do.
            size: width and height of the picture in pixels.
        """
        rules = self._rules
        scores, rows, classes = boxes.likely(
            joined(outputs, rules.scores, self._classes),
            rules.activation,
            rules.threshold,
            background=rules.background,
        )
        raw = joined(outputs, rules.boxes, self._columns)[rows]
        decoded = boxes.decode(raw, self._anchors[rows], rules.code)
        if rules.body is not None:
            decoded[:, :4] = around_circle(decoded, rules.body, (self._entry.width, self._entry.height))
        things: list[tuple[float, int, NDArray[np.float64]]] = []
        groups = (
            [np.arange(len(rows))]
            if rules.exclusive
            else [np.flatnonzero(classes == one) for one in np.unique(classes)]
        )
        for of in groups:
            kept, best = boxes.suppress(decoded[of], scores[of], rules.overlap, rules.most, merge=rules.merge)
            things += [(float(scores[of[one]]), int(classes[of[one]]), box) for one, box in zip(best, kept)]
        things.sort(key=lambda thing: -thing[0])
        factors, offsets = back_in_picture(self._entry, size)
        return Found(tuple(self._thing(*thing, factors, offsets, size) for thing in things[: rules.most]), size)

    def _thing(
        self,
        score: float,
        index: int,
        numbers: NDArray[np.float64],
        factors: NDArray[np.float64],
        offsets: NDArray[np.float64],
        size: tuple[int, int],
    ) -> Detection:
        places = numbers.reshape(-1, 2) * factors + offsets
        left, top, right, bottom = places[:2].ravel().tolist()
        rules = self._rules
        box, label = (left, top, right, bottom), rules.labels[index]
        return Detection(box, score, label, places[2:], rules.points, rules.lines, index, size)


def parts(width: int, height: int, tiles: int) -> list[tuple[int, int, int, int]]:
    """Return left, top, right and bottom of ``tiles`` x ``tiles`` parts of a picture, which overlap by ``OVERLAP``."""
    places = []
    for length in (width, height):
        side = min(length, math.ceil(length / (tiles - (tiles - 1) * OVERLAP)))
        begins = [round(index * (length - side) / max(1, tiles - 1)) for index in range(tiles)]
        places.append([(begin, begin + side) for begin in begins])
    across, down = places
    return [(left, top, right, bottom) for top, bottom in down for left, right in across]


def turned_back(thing: Detection, quarters: int) -> Detection:
    """Return a thing as it is in a picture that was turned before it was looked at.

    Args:
        thing: what was found in the turned picture.
        quarters: how often that was turned by 90 degrees, against the clock as one sees it.
    """
    left, top, right, bottom = thing.box
    places, size = np.concatenate([[[left, top], [right, bottom]], thing.points]), thing.size
    for _ in range(quarters % 4):
        size = size[::-1]  # of the picture before this quarter
        places = np.stack([size[0] - places[:, 1], places[:, 0]], axis=1)
    low, high = places[:2].min(axis=0).tolist(), places[:2].max(axis=0).tolist()
    return replace(thing, box=(low[0], low[1], high[0], high[1]), points=places[2:], size=size)


def _is_cut(thing: Detection, edges: tuple[bool, bool, bool, bool]) -> bool:
    """Return whether a box reaches an edge of a part that is none of the picture's (left, top, right, bottom)."""
    left, top, right, bottom = thing.box
    return any(
        there and away < 0.0 for there, away in zip(edges, (left, top, thing.size[0] - right, thing.size[1] - bottom))
    )


def _moved(thing: Detection, left: int, top: int, size: tuple[int, int]) -> Detection:
    x, y, right, bottom = thing.box
    box = (x + left, y + top, right + left, bottom + top)
    return replace(thing, box=box, points=thing.points + np.array([left, top]), size=size)


def around_circle(
    decoded: NDArray[np.floating], body: tuple[int, int], pixels: tuple[int, int]
) -> NDArray[np.floating]:
    """Return the squares around circles, in parts of a network's picture of so many pixels; see ``DetectionRules``."""
    points = decoded[:, 4:].reshape(len(decoded), decoded.shape[1] // 2 - 2, 2)
    middle, on = points[:, body[0]], points[:, body[1]]
    radius = np.linalg.norm((on - middle) * pixels, axis=1)[:, None] / pixels
    return np.concatenate([middle - radius, middle + radius], axis=1)
