"""Descriptions of tasks as data: the bundle, the meaning of its outputs, and the drawing. ``reading`` parses them."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Union

from glsl_infer.tasks.anchors import Level
from glsl_infer.tasks.boxes import NONE, SIGMOID, WEIGHTED, Code

DETECTION, LANDMARKS, SEGMENTATION, CLASSIFICATION = KINDS = (
    "detection",
    "landmarks",
    "segmentation",
    "classification",
)

Lines = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class DetectionRules:
    """Meaning of a detector's outputs.

    Attributes:
        boxes: outputs with 4 elements for each anchor, and 2 more for each point; concatenated.
        scores: outputs with an element for each anchor and class.
        anchors: boxes to which the outputs are relative.
        code: decoding of the outputs.
        labels: the classes.
        background: whether the network's first class, which has no label, is background.
        activation: conversion of outputs to scores.
        threshold: lowest accepted score.
        overlap: intersection over union above which boxes belong to one object.
        merge: method to merge these boxes.
        exclusive: whether boxes of different classes can belong to one object, which gets the class of the best.
        most: largest number of boxes in an image.
        points: names of the points.
        lines: indices of points joined by lines.
        body: two points: the centre of a circle and a point on the circle. The box is its bounding square.
        turned: score below which a photograph is also searched in three other rotations, whose results must reach this
            score; 0: never.
    """

    boxes: tuple[str, ...]
    scores: tuple[str, ...]
    anchors: tuple[Level, ...]
    code: Code = field(default_factory=Code)
    labels: tuple[str, ...] = ("",)
    background: bool = False
    activation: str = SIGMOID
    threshold: float = 0.5
    overlap: float = 0.3
    merge: str = WEIGHTED
    exclusive: bool = False
    most: int = 100
    points: tuple[str, ...] = ()
    lines: Lines = ()
    body: tuple[int, int] | None = None
    turned: float = 0.0


@dataclass(frozen=True)
class Region:
    """Rule to derive a cut from points.

    Attributes:
        begin: points whose mean is the start of a line.
        end: points whose mean is the end of the line.
        direction: direction of the line in the cut, in degrees: 0 to the right, 90 up.
        points: points around which to cut; empty for all points, or for the box of a detection.
        scale: size relative to the rectangle around these points.
        shift: offset to the right and down, relative to that rectangle.
        square: whether the cut becomes a square.
    """

    begin: tuple[int, ...]
    end: tuple[int, ...]
    direction: float = 0.0
    points: tuple[int, ...] = ()
    scale: float = 1.5
    shift: tuple[float, float] = (0.0, 0.0)
    square: bool = True


@dataclass(frozen=True)
class LandmarkRules:
    """Meaning of the outputs of a bundle that finds points in a cut.

    Attributes:
        detector: the task that finds the objects to cut out: a name, or a file.
        cut: rule to derive a cut from a detection.
        follow: rule to derive a cut from the points of the previous frame; None to detect in each frame.
        points: the output with ``dimensions`` elements for each point.
        dimensions: elements of a point, the first two of which are x and y.
        unit: x and y at the right and lower edge of the cut; None for its width and height in pixels.
        presence: the output with the score of the object; None if it is always present.
        activation: conversion of this output to a score.
        threshold: lowest accepted score.
        most: largest number of objects in an image.
        attributes: names and outputs of further values.
        lines: indices of points joined by lines.
        fine: pairs of points joined by thin lines below the others.
    """

    detector: str
    cut: Region
    points: str
    follow: Region | None = None
    dimensions: int = 2
    unit: float | None = None
    presence: str | None = None
    activation: str = SIGMOID
    threshold: float = 0.5
    most: int = 4
    attributes: dict[str, str] = field(default_factory=dict)
    lines: Lines = ()
    fine: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class SegmentationRules:
    """Meaning of a segmentation's output.

    Attributes:
        mask: the output, (height, width, classes).
        activation: conversion of the output to [0, 1].
        channel: the class to cut out.
        edge: values between which the edge is soft: transparent up to the first, opaque from the second on.
    """

    mask: str
    activation: str = NONE
    channel: int = 0
    edge: tuple[float, float] = (0.3, 0.7)


@dataclass(frozen=True)
class ClassificationRules:
    """Number of labels to report for an image."""

    top: int = 5


Rules = Union[DetectionRules, LandmarkRules, SegmentationRules, ClassificationRules]


@dataclass(frozen=True)
class Description:
    """A task.

    Attributes:
        name: name of the file without suffix.
        kind: one of ``KINDS``.
        what: the objects that it finds, in a few words.
        model: a bundle next to the file (``NAME.glslnn``), or the name of one fetched by ``glsl-infer get``.
        rules: meaning of the outputs.
        source: the file, for messages and relative paths.
    """

    name: str
    kind: str
    what: str
    model: str
    rules: Rules
    source: Path
