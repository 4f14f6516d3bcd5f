"""Parse task files (JSON) strictly; docs/reference/task-files.md has all keys."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from glsl_infer.bundle.described import Described, FieldError, text
from glsl_infer.errors import BundleError, InputError
from glsl_infer.support import json_text
from glsl_infer.support.files import not_a_file
from glsl_infer.support.near_names import did_you_mean
from glsl_infer.tasks.anchors import Level, sizes_of
from glsl_infer.tasks.boxes import Code
from glsl_infer.tasks.description import (
    KINDS,
    ClassificationRules,
    Description,
    DetectionRules,
    LandmarkRules,
    Region,
    Rules,
    SegmentationRules,
)

FORMAT = Path(__file__).with_name("format.json")
"""The keys of task files, their types and defaults."""

FOLDER = Path(__file__).with_name("data")
"""Folder of the packaged tasks."""

SUFFIX = ".json"

POINTS = {"faces": "face-mesh", "palms": "hands"}
"""The landmark task for the objects of each detection task."""

_ALIASES = {"face": "faces", "person": "people", "hand": "hands"}
_MOST_BYTES = 1 << 20
_LEAST_EDGE = 1e-6
_ADVICE = "docs/reference/task-files.md has all keys"


def names() -> tuple[str, ...]:
    """Return the names of the packaged tasks."""
    return tuple(sorted(path.stem for path in FOLDER.glob(f"*{SUFFIX}")))


def known(name: str) -> bool:
    """Return whether ``name`` is a packaged task, in any spelling."""
    return name in names() or name in _ALIASES


def _packaged(name: str) -> Path:
    return FOLDER / f"{name}{SUFFIX}"


def find(name: str | Path, *, relative_to: Path | None = None, kind: str | None = None) -> Description:
    """Return a task by its name, or by a file with the suffix .json.

    Args:
        name: of a packaged task, or a file.
        relative_to: a file to whose folder a relative ``name`` refers.
        kind: if the name is unknown, suggest only tasks of this kind (default: of all kinds).

    Raises:
        InputError: the task does not exist, or its file is invalid.
    """
    name_or_file = str(name)
    if not name_or_file.lower().endswith(SUFFIX):
        task_names = names()
        name_or_file = name_or_file if name_or_file in task_names else _ALIASES.get(name_or_file, name_or_file)
        if name_or_file not in task_names:
            suggested = [task for task in task_names if kind in (None, read(_packaged(task)).kind)]
            raise InputError(
                f"task '{name_or_file}': no such task{did_you_mean(name_or_file, suggested)}; give one of "
                f"{', '.join(suggested)}, or a file *.json of your own"
            )
        return read(_packaged(name_or_file))
    return read(Path(name) if relative_to is None else relative_to.parent / name)


def read(path: Path) -> Description:
    """Read a task file.

    Raises:
        InputError: the file cannot be read, is not JSON, or has an invalid value; the message has the file and the key.
    """
    try:
        problem = not_a_file(path)
        if problem:
            raise InputError(f"{path}: is {problem}, not a task; give a JSON file")
        if path.stat().st_size > _MOST_BYTES:
            raise InputError(f"{path}: is larger than {_MOST_BYTES >> 20} MiB; that is not a task")
        data = json_text.loads(path.read_text("utf-8-sig"))
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: is not JSON ({error}); {_ADVICE}") from None
    try:
        task = data.get("task") if isinstance(data, dict) else None
        if task not in KINDS:
            raise BundleError(f"'task' is {task!r:.40}, not one of {', '.join(KINDS)}")
        _, what, model, rules = _readers().read(task, data, "the task")
        return Description(path.stem, task, what or path.stem, model, rules, path)
    except BundleError as error:
        raise InputError(f"{path}: {error}; {_ADVICE}") from None
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


Read = tuple[str, str, str, Rules]
"""Kind, summary, model and rules of a task."""


@cache
def _readers() -> Described:
    tables = json.loads(FORMAT.read_text("utf-8"))
    make: dict[str, Callable[..., Any]] = {
        "detection": _detection,
        "level": _level,
        "landmarks": _landmarks,
        "region": _region,
        "segmentation": _segmentation,
        "classification": lambda task, what, model, top: (task, what, model, ClassificationRules(top)),
    }
    return Described(make, {}, tables["objects"], tables["types"])


def _detection(
    task: str,
    what: str,
    model: str,
    boxes: tuple[str, ...],
    scores: tuple[str, ...],
    anchors: tuple[Level, ...],
    units: tuple[float, float, float, float],
    order: str,
    sizes: str,
    *arguments: Any,
) -> Read:
    rules = DetectionRules(boxes, scores, anchors, Code(units, order, sizes), *arguments)
    for key, lines in (("lines", rules.lines), ("body", (rules.body or (),))):
        for index in (index for line in lines for index in line):
            if index >= len(rules.points):
                raise FieldError(f"'{key}' has the point {index}; 'points' has names for {len(rules.points)}")
    if rules.body is not None and len(rules.body) != 2:
        raise FieldError("'body' needs two points: the middle and one on the circle")
    return task, what, model, rules


def _level(
    stride: int | None,
    cells: tuple[int, int] | None,
    sizes: tuple[tuple[float, float], ...] | None,
    scale: float | None,
    aspects: Sequence[float],
) -> Level:
    if (stride is None) == (cells is None):
        raise FieldError("needs 'stride' in pixels, or 'cells': [rows, columns]")
    if (sizes is None) == (scale is None):
        raise FieldError("needs 'sizes', [width, height] of each box of a cell, or 'scale'")
    return Level(sizes_of(scale, aspects) if sizes is None and scale is not None else sizes or (), stride, cells)


def _landmarks(task: str, what: str, model: str, *fields: Any) -> Read:
    rules = LandmarkRules(*fields)
    for name in rules.attributes:
        text(name)
    if any(len(pair) != 2 for pair in rules.fine):
        raise FieldError("'fine' needs pairs of points")
    return task, what, model, rules


def _region(
    begin: tuple[int, ...] | None,
    end: tuple[int, ...] | None,
    direction: float,
    points: tuple[int, ...] | None,
    scale: float,
    shift: tuple[float, float],
    square: bool,
) -> Region:
    if (begin is None) != (end is None):
        raise FieldError("needs 'from' and 'to', or neither for upright cuts")
    return Region(begin or (), end or (), direction, points or (), scale, shift, square)


def _segmentation(
    task: str, what: str, model: str, mask: str, activation: str, channel: int, edge: tuple[float, float]
) -> Read:
    if edge[1] - edge[0] < _LEAST_EDGE:
        raise FieldError(f"'edge' is {list(edge)}; the second number must be the larger one")
    return task, what, model, SegmentationRules(mask, activation, channel, edge)
