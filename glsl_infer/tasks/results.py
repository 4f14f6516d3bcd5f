"""What tasks find: pixels of the picture and scores, as plain data that draws itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar, Union, overload

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from glsl_infer.runtime.classifier import Prediction
from glsl_infer.runtime.pictures.preprocess import ImageSource
from glsl_infer.tasks.cuts import Cut
from glsl_infer.tasks.drawing import FINE, Canvas, colour, copy_of

_DIGITS = 2
"""Of a pixel, in JSON."""

Points = NDArray[np.float64]


class Thing(ABC):
    """Something that was found in a picture of ``size``: width and height in pixels."""

    size: tuple[int, int]

    def draw(self, image: ImageSource) -> Image.Image:
        """Return a copy of the picture with this drawn on it.

        Raises:
            ImageError, InputError: it cannot be read, or has another size than the one that this was found in.
        """
        copy = copy_of(image, self.size)
        self.draw_on(Canvas(copy), 0)
        return copy

    @abstractmethod
    def draw_on(self, canvas: Canvas, index: int) -> None:
        """Draw this, in the colour of an index."""

    @abstractmethod
    def as_json(self) -> dict[str, Any]:
        """Return this as plain data."""


@dataclass(frozen=True, eq=False)
class Detection(Thing):
    """A thing with a box around it.

    Attributes:
        box: left, top, right and bottom in pixels; it may reach beyond the picture, as a person may.
        score: how sure the network is, 0 to 1.
        label: of its class; empty where there is one class only.
        points: pixels, float64 (number, 2).
        names: what the points are called.
        lines: indices of points that are joined.
        index: of its class.
        size: of the picture.
    """

    box: tuple[float, float, float, float]
    score: float
    label: str
    points: Points
    names: tuple[str, ...]
    lines: tuple[tuple[int, ...], ...]
    index: int
    size: tuple[int, int]

    @property
    def seen(self) -> tuple[float, float, float, float]:
        """What the picture shows of the box: left, top, right and bottom in pixels."""
        across, down = np.clip(self.box[::2], 0.0, self.size[0]), np.clip(self.box[1::2], 0.0, self.size[1])
        return float(across[0]), float(down[0]), float(across[1]), float(down[1])

    @property
    def corners(self) -> Points:
        """The corners of what is seen of the box, float64 (4, 2), clockwise from the top left."""
        left, top, right, bottom = self.seen
        return np.array([[left, top], [right, top], [right, bottom], [left, bottom]])

    def draw_on(self, canvas: Canvas, index: int) -> None:
        """Draw what is seen of the box, the points and the score."""
        ink = colour(self.index if self.label else index)
        canvas.box(self.corners, ink)
        for line in self.lines:
            canvas.line(self.points[list(line)], ink, canvas.stroke)
        canvas.dots(self.points, ink, 1.3 * canvas.stroke)
        canvas.label(f"{self.label} {100 * self.score:.0f} %".strip(), self.seen[:2], ink)

    def as_json(self) -> dict[str, Any]:
        """Return what is seen of the box, score, label and points by their names."""
        points = dict(zip(self.names, _rounded(self.points)))
        return {
            "box": _rounded(np.array(self.seen)),
            "score": round(self.score, 4),
            **({"label": self.label} if self.label else {}),
            **({"points": points} if points else {}),
        }


@dataclass(frozen=True, eq=False)
class Landmarks(Thing):
    """Points of a thing.

    Attributes:
        points: x and y in pixels; float64 (number, dimensions), further numbers in pixels as well where they are
            lengths.
        score: how sure the network is that the thing is there, 0 to 1; 1 where it does not say.
        attributes: further numbers that the network has about it.
        cut: where the network looked.
        lines: indices of points that are joined.
        fine: pairs of points that are joined by thin lines.
        size: of the picture.
    """

    points: Points
    score: float
    attributes: dict[str, float]
    cut: Cut
    lines: tuple[tuple[int, ...], ...]
    fine: tuple[tuple[int, int], ...]
    size: tuple[int, int]

    def draw_on(self, canvas: Canvas, index: int) -> None:
        """Draw the lines; points where there are few, or no lines."""
        ink = colour(index)
        for pair in self.fine:
            canvas.line(self.points[list(pair)], FINE, 1)
        for line in self.lines:
            canvas.line(self.points[list(line)], ink, canvas.stroke)
        if len(self.points) < 100 or not self.lines:
            canvas.dots(self.points, ink, 1.3 * canvas.stroke)

    def as_json(self) -> dict[str, Any]:
        """Return score, attributes and points."""
        return {
            "score": round(self.score, 4),
            **({"attributes": {name: round(value, 4) for name, value in self.attributes.items()}}),
            "points": _rounded(self.points),
        }


Item = TypeVar("Item", bound=Thing)


@dataclass(frozen=True, eq=False)
class Found(Sequence[Item], Generic[Item]):
    """All things of a picture, best first: a sequence of them.

    Attributes:
        items: the things.
        size: width and height of the picture in pixels.
    """

    items: tuple[Item, ...]
    size: tuple[int, int]

    @overload
    def __getitem__(self, index: int) -> Item: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Item, ...]: ...

    def __getitem__(self, index: Union[int, slice]) -> Union[Item, tuple[Item, ...]]:
        """Return a thing, or some."""
        return self.items[index]

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.items)

    def __iter__(self) -> Iterator[Item]:
        """Go through the things."""
        return iter(self.items)

    def draw(self, image: ImageSource) -> Image.Image:
        """Return a copy of the picture with everything drawn on it; see ``Thing.draw``."""
        copy = copy_of(image, self.size)
        canvas = Canvas(copy)
        for index, item in reversed(list(enumerate(self.items))):  # the best one is on top
            item.draw_on(canvas, index)
        return copy

    def as_json(self) -> dict[str, Any]:
        """Return all as plain data."""
        return {"found": [item.as_json() for item in self.items]}

    @property
    def present(self) -> bool:
        """Whether there is anything."""
        return bool(self.items)


@dataclass(frozen=True, eq=False)
class Labels:
    """What is on a picture, best first.

    Attributes:
        predictions: the labels.
        size: width and height of the picture in pixels.
    """

    predictions: tuple[Prediction, ...]
    size: tuple[int, int]
    present: bool = field(default=True, init=False)

    def draw(self, image: ImageSource) -> Image.Image:
        """Return a copy of the picture with the labels in its corner; see ``Thing.draw``."""
        copy = copy_of(image, self.size)
        canvas = Canvas(copy)
        for index, prediction in enumerate(self.predictions):
            words = f"{100 * prediction.probability:.0f} % {prediction.label}"
            canvas.label(words, (0.0, 0.0 + index * 12 * canvas.stroke), colour(index))
        return copy

    def as_json(self) -> dict[str, Any]:
        """Return the labels as plain data."""
        return {
            "predictions": [
                {"label": item.label, "probability": round(item.probability, 6), "index": item.index}
                for item in self.predictions
            ]
        }


def _rounded(numbers: NDArray[np.float64]) -> Any:
    return np.round(numbers, _DIGITS).tolist()
