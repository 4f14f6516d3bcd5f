"""Results of tasks: pixels of the image and scores, as plain data that can draw itself."""

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
"""Decimal digits of a pixel in JSON."""

Points = NDArray[np.float64]


class Thing(ABC):
    """An object found in an image with ``size`` (width, height) in pixels."""

    size: tuple[int, int]

    def draw(self, image: ImageSource) -> Image.Image:
        """Return a copy of the image with the object drawn on it.

        Raises:
            ImageError, InputError: the image cannot be read, or has another size.
        """
        copy = copy_of(image, self.size)
        self.draw_on(Canvas(copy), 0)
        return copy

    @abstractmethod
    def draw_on(self, canvas: Canvas, index: int) -> None:
        """Draw the object in the colour of an index."""

    @abstractmethod
    def as_json(self) -> dict[str, Any]:
        """Return the object as plain data."""


@dataclass(frozen=True, eq=False)
class Detection(Thing):
    """An object with a bounding box.

    Attributes:
        box: left, top, right and bottom in pixels, possibly beyond the image.
        score: confidence of the network, 0 to 1.
        label: of its class; empty if there is only one class.
        points: pixels, float64 (count, 2).
        names: names of the points.
        lines: indices of points that are joined.
        index: index of its class.
        size: width and height of the image.
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
        """Part of the box within the image: left, top, right and bottom in pixels."""
        across, down = np.clip(self.box[::2], 0.0, self.size[0]), np.clip(self.box[1::2], 0.0, self.size[1])
        return float(across[0]), float(down[0]), float(across[1]), float(down[1])

    @property
    def corners(self) -> Points:
        """Corners of the visible part of the box, float64 (4, 2), clockwise from the top left."""
        left, top, right, bottom = self.seen
        return np.array([[left, top], [right, top], [right, bottom], [left, bottom]])

    def draw_on(self, canvas: Canvas, index: int) -> None:
        """Draw the visible part of the box, the points and the score."""
        ink = colour(self.index if self.label else index)
        canvas.box(self.corners, ink)
        for line in self.lines:
            canvas.line(self.points[list(line)], ink, canvas.stroke)
        canvas.dots(self.points, ink, 1.3 * canvas.stroke)
        canvas.label(f"{self.label} {100 * self.score:.0f} %".strip(), self.seen[:2], ink)

    def as_json(self) -> dict[str, Any]:
        """Return the visible part of the box, score, label, and points by name."""
        points = dict(zip(self.names, _rounded(self.points)))
        return {
            "box": _rounded(np.array(self.seen)),
            "score": round(self.score, 4),
            **({"label": self.label} if self.label else {}),
            **({"points": points} if points else {}),
        }


@dataclass(frozen=True, eq=False)
class Landmarks(Thing):
    """Points of an object.

    Attributes:
        points: x and y in pixels, float64 (count, dimensions); further coordinates are in pixels if they are lengths.
        score: confidence of the network that the object is present, 0 to 1; 1 without such an output.
        attributes: further values of the network.
        cut: input of the network.
        lines: indices of points that are joined.
        fine: pairs of points joined by thin lines.
        size: width and height of the image.
    """

    points: Points
    score: float
    attributes: dict[str, float]
    cut: Cut
    lines: tuple[tuple[int, ...], ...]
    fine: tuple[tuple[int, int], ...]
    size: tuple[int, int]

    def draw_on(self, canvas: Canvas, index: int) -> None:
        """Draw the lines, and the points if there are few or no lines."""
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
    """All objects of an image, best first, as a sequence.

    Attributes:
        items: the objects.
        size: width and height of the image in pixels.
    """

    items: tuple[Item, ...]
    size: tuple[int, int]

    @overload
    def __getitem__(self, index: int) -> Item: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Item, ...]: ...

    def __getitem__(self, index: Union[int, slice]) -> Union[Item, tuple[Item, ...]]:
        """Return an object, or a slice."""
        return self.items[index]

    def __len__(self) -> int:
        """Return the number of objects."""
        return len(self.items)

    def __iter__(self) -> Iterator[Item]:
        """Iterate over the objects."""
        return iter(self.items)

    def draw(self, image: ImageSource) -> Image.Image:
        """Return a copy of the image with all objects drawn on it; errors as for ``Thing.draw``."""
        copy = copy_of(image, self.size)
        canvas = Canvas(copy)
        for index, item in reversed(list(enumerate(self.items))):  # the best is on top
            item.draw_on(canvas, index)
        return copy

    def as_json(self) -> dict[str, Any]:
        """Return all objects as plain data."""
        return {"found": [item.as_json() for item in self.items]}

    @property
    def present(self) -> bool:
        """True if there are objects."""
        return bool(self.items)


@dataclass(frozen=True, eq=False)
class Labels:
    """Labels of an image, best first.

    Attributes:
        predictions: the labels.
        size: width and height of the image in pixels.
    """

    predictions: tuple[Prediction, ...]
    size: tuple[int, int]
    present: bool = field(default=True, init=False)

    def draw(self, image: ImageSource) -> Image.Image:
        """Return a copy of the image with the labels in its corner; errors as for ``Thing.draw``."""
        copy = copy_of(image, self.size)
        canvas = Canvas(copy)
        for index, prediction in enumerate(self.predictions):
            text = f"{100 * prediction.probability:.0f} % {prediction.label}"
            canvas.label(text, (0.0, 0.0 + index * 12 * canvas.stroke), colour(index))
        return copy

    def as_json(self) -> dict[str, Any]:
        """Return the labels as plain data."""
        return {
            "predictions": [
                {"label": item.label, "probability": round(item.probability, 6), "index": item.index}
                for item in self.predictions
            ]
        }


def _rounded(values: NDArray[np.float64]) -> Any:
    return np.round(values, _DIGITS).tolist()
