"""What a task is, as data: which bundle, what its numbers mean, and what is drawn. ``reading`` reads it of a file."""

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
    """How boxes come out of a bundle.

    Attributes:
        boxes: outputs with 4 numbers for each anchor, and 2 more for each point; one after the other.
        scores: outputs with a number for each anchor and class.
        anchors: what the boxes are relative to.
        code: how.
        labels: the classes.
        background: whether the first class of the network, which has no label, means that there is nothing.
        activation: what makes scores of the network's numbers.
        threshold: the lowest score that counts.
        overlap: above which boxes are of one thing.
        merge: how these become one.
        exclusive: boxes of different classes are of one thing as well, which has the class of the best.
        most: boxes of a picture at most.
        points: what the points are called.
        lines: points by their indices, joined by lines.
        body: two points: the middle of a circle and a point on it. Its square is the box then.
        turned: where a photograph shows nothing, or anything of a lower score, it is looked at turned as well, and what
            scores as much then counts; 0: never.
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
    """Which cut belongs to points that are known.

    Attributes:
        begin: points whose mean is where a line begins,
        end: and those where it ends,
        direction: and where it points to in the cut, in degrees: 0 to the right, 90 up.
        points: those that the cut is around; empty: all of them, or the box where there is one.
        scale: how many times as large as the rectangle around these.
        shift: what it is moved by to the right and down, in parts of that rectangle.
        square: whether it becomes a square.
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
    """How points come out of a bundle that reads a cut.

    Attributes:
        detector: the task that finds what to cut out: a name, or a file.
        cut: which cut belongs to what it finds.
        follow: which cut belongs to points of the frame before; None: the detector looks at every frame.
        points: the output, with ``dimensions`` numbers for each point.
        dimensions: of which the first two are x and y.
        unit: what x and y are at the right and lower edge of the cut; None: its width and height in pixels.
        presence: the output that says whether there is anything; None: there always is.
        activation: what makes a score of it.
        threshold: below which there is nothing.
        most: how many are looked at in a picture at most.
        attributes: outputs of one number by what they are called.
        lines: points by their indices, joined by lines.
        fine: pairs of points, joined by thin lines below the others.
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
    """How a mask comes out of a bundle.

    Attributes:
        mask: the output, (height, width, classes).
        activation: what makes numbers in [0, 1] of it.
        channel: the class that is cut out.
        edge: between which numbers the edge is drawn softly: at and below the first nothing, from the second on all.
    """

    mask: str
    activation: str = NONE
    channel: int = 0
    edge: tuple[float, float] = (0.3, 0.7)


@dataclass(frozen=True)
class ClassificationRules:
    """How many labels of a picture are told."""

    top: int = 5


Rules = Union[DetectionRules, LandmarkRules, SegmentationRules, ClassificationRules]


@dataclass(frozen=True)
class Description:
    """A task.

    Attributes:
        name: of the file, without suffix.
        kind: one of ``KINDS``.
        what: what it finds, in a few words.
        model: a bundle beside the file (``NAME.glslnn``), or the name of one that ``glsl-infer get`` fetched.
        rules: what its numbers mean.
        source: the file, for messages and what lies beside it.
    """

    name: str
    kind: str
    what: str
    model: str
    rules: Rules
    source: Path
