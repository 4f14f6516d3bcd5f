"""Detection by anchors: where things are, and points of each."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from glsl_infer.errors import InputError
from glsl_infer.tasks import boxes
from glsl_infer.tasks.anchors import anchors
from glsl_infer.tasks.description import DETECTION, DetectionRules
from glsl_infer.tasks.results import Detection, Found
from glsl_infer.tasks.task import Given, Outputs, Task, back_in_picture, joined, size_of, usable


class Detector(Task[Found[Detection]]):
    """Finds things by a network that says for each anchor whether there is one, and where: SSD and its kin."""

    kind = DETECTION

    def __call__(self, picture: Given) -> Found[Detection]:
        """Return what is in a picture, best first; see ``Task``."""
        given = usable(picture)
        return self.found(self._run(given), size_of(given))

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
            decoded[:, :4] = _around_circle(decoded, rules.body, (self._entry.width, self._entry.height))
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


def _around_circle(
    decoded: NDArray[np.floating], body: tuple[int, int], pixels: tuple[int, int]
) -> NDArray[np.floating]:
    """Return the squares around circles, in parts of a network's picture of so many pixels; see ``DetectionRules``."""
    points = decoded[:, 4:].reshape(len(decoded), -1, 2)
    middle, on = points[:, body[0]], points[:, body[1]]
    radius = np.linalg.norm((on - middle) * pixels, axis=1)[:, None] / pixels
    return np.concatenate([middle - radius, middle + radius], axis=1)
