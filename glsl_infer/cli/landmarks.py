"""Find the points of faces (468 each) or hands (21 each) in images."""

from __future__ import annotations

import argparse
from functools import partial
from typing import TYPE_CHECKING

from glsl_infer.cli import on_pictures

if TYPE_CHECKING:
    from glsl_infer.tasks import Found, Landmarks

TASKS = ("faces", "hands")

ALIASES = {"face": "faces", "hand": "hands"}
"""Other spellings, unambiguous in this command."""


EXAMPLES = (
    "glsl-infer landmarks photo.jpg",
    "glsl-infer landmarks photo.jpg -o mesh.jpg",
    "glsl-infer landmarks photos/ --task hands --json",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    on_pictures.add_arguments(parser, TASKS, "the image with the points drawn on it")
    on_pictures.add_tiles(parser)


def run(args: argparse.Namespace) -> int:
    """Find, print and draw."""
    from glsl_infer.tasks import Landmarker, reading

    task = ALIASES.get(args.task, args.task)
    task = reading.POINTS.get(task, task)
    return on_pictures.run(
        args, partial(Landmarker, tiles=args.tiles), task, _words, lambda found, path: found.draw(path)
    )


def _words(found: Found[Landmarks]) -> str:
    if not found:
        return "nothing found"
    return f"{len(found)} found: " + "; ".join(f"{len(item.points)} points, {100 * item.score:.0f} %" for item in found)
