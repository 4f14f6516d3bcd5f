"""Tasks: find objects, points or masks in images, with results that can draw themselves.

    with glsl_infer.tasks.FaceMesh() as mesh:
        for face in mesh("photo.jpg"):
            print(face.score, face.points)

A task is a JSON file (task-files.md). ``open_task`` opens any task, and the classes here open packaged ones.
``glsl-infer get`` fetches their models once.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Union

from glsl_infer.gl.context import Context
from glsl_infer.tasks import reading
from glsl_infer.tasks.cuts import Cut
from glsl_infer.tasks.description import Description
from glsl_infer.tasks.detection import Detector
from glsl_infer.tasks.landmarks import Landmarker
from glsl_infer.tasks.masks import Mask
from glsl_infer.tasks.results import Detection, Found, Labels, Landmarks
from glsl_infer.tasks.segmentation import Segmenter
from glsl_infer.tasks.task import Labeller, Task

__all__ = [
    "Cut",
    "Description",
    "Detection",
    "Detector",
    "FaceDetection",
    "FaceMesh",
    "Found",
    "HandDetection",
    "Hands",
    "Labeller",
    "Labels",
    "Landmarker",
    "Landmarks",
    "Mask",
    "People",
    "Segmenter",
    "Selfie",
    "SelfieLandscape",
    "Task",
    "names",
    "open_task",
]

KINDS: dict[str, type[Task[Any]]] = {task.kind: task for task in (Detector, Landmarker, Segmenter, Labeller)}
"""Class of each kind of task."""

names = reading.names


class FaceDetection(Detector):
    """Faces, with six points each."""

    default = "faces"


class FaceMesh(Landmarker):
    """468 points of each face."""

    default = "face-mesh"


class HandDetection(Detector):
    """Palms, with seven points each."""

    default = "palms"


class Hands(Landmarker):
    """21 points of each hand."""

    default = "hands"


class People(Detector):
    """People, with the middle of hips and shoulders."""

    default = "people"


class Selfie(Segmenter):
    """Mask of the people near the camera."""

    default = "selfie"


class SelfieLandscape(Segmenter):
    """Mask of the people near the camera, for wide images."""

    default = "selfie-landscape"


def open_task(
    task: Union[str, Path, Description],
    *,
    model: Union[str, Path, None] = None,
    context: Union[str, Context] = "auto",
) -> Task[Any]:
    """Open a task of any kind.

    Args:
        task: a description, the name of a packaged task (``names`` lists them), or a file.
        model: another bundle than that of the description.
        context: as for ``Session``.

    Raises:
        As ``Task``.
    """
    description = task if isinstance(task, Description) else reading.find(task)
    return KINDS[description.kind](description, model=model, context=context)
