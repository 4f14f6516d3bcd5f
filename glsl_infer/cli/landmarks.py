"""Find the points of faces (468 each) or hands (21 each) in images."""

from __future__ import annotations

import argparse
from functools import partial
from typing import TYPE_CHECKING

from glsl_infer.cli import image_tasks

if TYPE_CHECKING:
    from glsl_infer.tasks import Found, Landmarker, Landmarks

TASKS = ("face-mesh", "hands")

ALIASES = {"face": "face-mesh", "faces": "face-mesh", "palms": "hands"}
"""Other spellings, unambiguous in this command."""


EXAMPLES = (
    "glsl-infer landmarks photo.jpg",
    "glsl-infer landmarks photo.jpg -o mesh.jpg",
    "glsl-infer landmarks photos/ --task hands --out-dir meshes/ --csv hands.csv",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    image_tasks.add_arguments(
        parser, TASKS, "the image with the points drawn on it", "a row for each result (file, score, box, points)"
    )
    image_tasks.add_tiles(parser)


def run(args: argparse.Namespace) -> int:
    """Detect, print and draw."""
    from glsl_infer.tasks import Landmarker

    show = image_tasks.Show(_words, lambda result, path: result.draw(path), _head, _rows)
    return image_tasks.run(args, partial(Landmarker, tiles=args.tiles), ALIASES.get(args.task, args.task), show)


def _words(result: Found[Landmarks]) -> str:
    return f"{len(result)} found: " + "; ".join(
        f"{len(item.points)} points, {100 * item.score:.0f} %" for item in result
    )


def _head(task: Landmarker) -> list[str]:
    return [
        "score",
        "left",
        "top",
        "right",
        "bottom",
        *(f"{axis}{index}" for index in range(task.number) for axis in "xy"),
    ]


def _rows(result: Found[Landmarks]) -> list[list[object]]:
    rows: list[list[object]] = []
    for item in result:
        points = item.points[:, :2]
        coordinates = (*points.min(axis=0), *points.max(axis=0), *points.ravel())
        rows.append([f"{item.score:.4f}", *(f"{coordinate:.1f}" for coordinate in coordinates)])
    return rows
