"""Find faces, hands or people in images: boxes, points and scores."""

from __future__ import annotations

import argparse
from functools import partial
from typing import TYPE_CHECKING

from glsl_infer.cli import image_tasks

if TYPE_CHECKING:
    from glsl_infer.tasks import Detection, Detector, Found

TASKS = ("faces", "faces-far", "palms", "people")

ALIASES = {"hand": "palms", "hands": "palms", "face-mesh": "faces"}
"""Task names that are accepted as aliases."""


EXAMPLES = (
    "glsl-infer detect photo.jpg",
    "glsl-infer detect photo.jpg -o faces.jpg",
    "glsl-infer detect photos/ --task people --out-dir found/ --csv people.csv",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    image_tasks.add_arguments(
        parser,
        TASKS,
        "the image with the results drawn on it",
        "a row for each result (file, label, score, box, points)",
    )
    image_tasks.add_tiles(parser)


def run(args: argparse.Namespace) -> int:
    """Detect, print and draw."""
    from glsl_infer.tasks import Detector

    return image_tasks.run(
        args,
        partial(Detector, tiles=args.tiles),
        ALIASES.get(args.task, args.task),
        image_tasks.Show(_summary, lambda result, path: result.draw(path), _column_names, _rows),
    )


def _summary(result: Found[Detection]) -> str:
    texts = []
    for detection in result:
        left, top, right, bottom = (round(side) for side in detection.seen)
        name = f"{detection.label} " if detection.label else ""  # a model of one class has no labels
        texts.append(f"{name}{100 * detection.score:.0f} % at {left},{top} {right - left}x{bottom - top}")
    return f"{len(result)} found: {'; '.join(texts)}"


def _column_names(task: Detector) -> list[str]:
    from glsl_infer.tasks.description import DetectionRules

    rules = task.description.rules
    assert isinstance(rules, DetectionRules)
    points = [f"{name} {axis}" for name in rules.points for axis in "xy"]
    return ["label", "score", "left", "top", "right", "bottom", *points]


def _rows(result: Found[Detection]) -> list[list[object]]:
    return [
        [
            detection.label,
            f"{detection.score:.4f}",
            *(f"{coordinate:.1f}" for coordinate in (*detection.seen, *detection.points.ravel())),
        ]
        for detection in result
    ]
