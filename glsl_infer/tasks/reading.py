"""Parse task files (JSON) strictly; docs/reference/task-files.md has all keys."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from glsl_infer.bundle import json_fields
from glsl_infer.bundle.json_fields import Fields, integer, items, text
from glsl_infer.errors import BundleError, InputError
from glsl_infer.support import json_text
from glsl_infer.support.files import not_a_file
from glsl_infer.support.near_names import did_you_mean
from glsl_infer.tasks.anchors import Level, sizes_of
from glsl_infer.tasks.boxes import ACTIVATIONS, GROWTHS, MERGES, NONE, ORDERS, SIGMOID, WEIGHTED, Code
from glsl_infer.tasks.description import (
    CLASSIFICATION,
    DETECTION,
    KINDS,
    LANDMARKS,
    SEGMENTATION,
    ClassificationRules,
    Description,
    DetectionRules,
    LandmarkRules,
    Lines,
    Region,
    Rules,
    SegmentationRules,
)

FOLDER = Path(__file__).with_name("data")
"""Folder of the packaged tasks."""

SUFFIX = ".json"

POINTS = {"faces": "face-mesh", "palms": "hands"}
"""The landmark task for the objects of each detection task."""

_ALIASES = {"face": "faces", "person": "people", "hand": "hands"}
_MOST_BYTES = 1 << 20
_MOST_POINTS = 1 << 14
_LARGEST = 1e6
"""Limit of values. Larger ones have no meaning in an image, and results could exceed the range of floats."""
_LEAST_EDGE = 1e-6
_ADVICE = "docs/reference/task-files.md has all keys"


def names() -> tuple[str, ...]:
    """Return the names of the packaged tasks."""
    return tuple(sorted(path.stem for path in FOLDER.glob(f"*{SUFFIX}")))


def find(name: str | Path, *, relative_to: Path | None = None) -> Description:
    """Return a task by its name, or by a file with the suffix .json.

    Args:
        name: of a packaged task, or a file.
        relative_to: a file to whose folder a relative ``name`` refers.

    Raises:
        InputError: the task does not exist, or its file is invalid.
    """
    name_or_file = str(name)
    if not name_or_file.lower().endswith(SUFFIX):
        task_names = names()
        name_or_file = name_or_file if name_or_file in task_names else _ALIASES.get(name_or_file, name_or_file)
        if name_or_file not in task_names:
            suggestion = did_you_mean(name_or_file, [*task_names, *_ALIASES])
            raise InputError(
                f"task '{name_or_file}': no such task{suggestion}; give one of "
                f"{', '.join(task_names)}, or a file *.json of your own"
            )
        return read(FOLDER / f"{name_or_file}{SUFFIX}")
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
        return _description(Fields(data, "the task"), path)
    except BundleError as error:
        raise InputError(f"{path}: {error}; {_ADVICE}") from None
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def _description(fields: Fields, path: Path) -> Description:
    kind = fields.text("task", one_of=KINDS)
    summary, model = fields.optional_text("what") or path.stem, fields.text("model")
    readers: dict[str, Callable[[Fields], Rules]] = {
        DETECTION: _detection,
        LANDMARKS: _landmarks,
        SEGMENTATION: _segmentation,
        CLASSIFICATION: lambda found: ClassificationRules(_get(found, "top", 5, lambda v, w: integer(v, w, 1, 1000))),
    }
    rules = readers[kind](fields)
    fields.done()
    return Description(path.stem, kind, summary, model, rules, path)


def _detection(fields: Fields) -> DetectionRules:
    points = fields.texts("points") if fields.has("points") else ()
    labels = fields.texts("labels") if fields.has("labels") else ("",)
    if not labels:
        raise BundleError("'labels' is empty; give one for each class")
    code = Code(
        _numbers(fields.any("units"), "'units'", 4, low=1e-9) if fields.has("units") else Code.units,  # type: ignore[arg-type]
        fields.text("order", one_of=ORDERS) if fields.has("order") else ORDERS[0],
        fields.text("sizes", one_of=GROWTHS) if fields.has("sizes") else GROWTHS[0],
    )
    levels = tuple(_level(item, f"'anchors'[{index}]") for index, item in enumerate(fields.items("anchors")))
    if not levels:
        raise BundleError("'anchors' is empty; give a group for each feature map")
    body = _indices(fields.any("body"), "'body'", len(points)) if fields.has("body") else None
    if body is not None and len(body) != 2:
        raise BundleError("'body' needs two points: the middle and one on the circle")
    return DetectionRules(
        _outputs(fields, "boxes"),
        _outputs(fields, "scores"),
        levels,
        code,
        labels,
        _get(fields, "background", False, _truth),
        _get(fields, "activation", SIGMOID, _word(ACTIVATIONS)),
        _get(fields, "threshold", 0.5, _share),
        _get(fields, "overlap", 0.3, _share),
        _get(fields, "merge", WEIGHTED, _word(MERGES)),
        _get(fields, "exclusive", False, _truth),
        _get(fields, "most", 100, lambda v, w: integer(v, w, 1, 1000)),
        points,
        _lines(fields, len(points)),
        None if body is None else (body[0], body[1]),
        _get(fields, "turned", 0.0, _share),
    )


def _level(value: Any, where: str) -> Level:
    fields = Fields(value, where)
    stride = fields.integer("stride", 1, 4096) if fields.has("stride") else None
    cells = None
    if fields.has("cells"):
        rows, columns = _items_of(fields.any("cells"), f"{where}: 'cells'", 2)
        cells = (integer(rows, f"{where}: 'cells'", 1, 4096), integer(columns, f"{where}: 'cells'", 1, 4096))
    if (stride is None) == (cells is None):
        raise BundleError(f"{where} needs 'stride' in pixels, or 'cells': [rows, columns]")
    if fields.has("scale"):
        scale = _number(fields.any("scale"), f"{where}: 'scale'", low=1e-6)
        aspects = [
            _number(item, f"{where}: 'aspects'[{index}]", low=1e-3)
            for index, item in enumerate(fields.items("aspects") if fields.has("aspects") else [1.0])
        ]
        sizes = sizes_of(scale, aspects)
    else:
        pairs = [_numbers(item, f"{where}: 'sizes'[{i}]", 2, low=1e-6) for i, item in enumerate(fields.items("sizes"))]
        sizes = tuple((pair[0], pair[1]) for pair in pairs)
    if not sizes:
        raise BundleError(f"{where} has no sizes; give [width, height] of each box of a cell")
    fields.done()
    return Level(sizes, stride, cells)


def _landmarks(fields: Fields) -> LandmarkRules:
    dimensions = _get(fields, "dimensions", 2, lambda v, w: integer(v, w, 2, 16))
    attributes = fields.mapping("attributes") if fields.has("attributes") else {}
    fine = tuple(
        (pair[0], pair[1])
        for pair in (
            _indices(_items_of(item, f"'fine'[{index}]", 2), f"'fine'[{index}]", _MOST_POINTS)
            for index, item in enumerate(fields.items("fine") if fields.has("fine") else [])
        )
    )
    return LandmarkRules(
        fields.text("detector"),
        _region(fields.any("cut"), "'cut'"),
        fields.text("points"),
        _region(fields.any("follow"), "'follow'") if fields.has("follow") else None,
        dimensions,
        _get(fields, "unit", None, lambda v, w: _number(v, w, low=1e-9)),
        fields.optional_text("presence"),
        _get(fields, "activation", SIGMOID, _word((SIGMOID, NONE))),
        _get(fields, "threshold", 0.5, _share),
        _get(fields, "most", 4, lambda v, w: integer(v, w, 1, 100)),
        {
            text(name, "'attributes': a name"): text(value, f"'attributes': '{name}'")
            for name, value in attributes.items()
        },
        _lines(fields, _MOST_POINTS),
        fine,
    )


def _segmentation(fields: Fields) -> SegmentationRules:
    edge = _numbers(fields.any("edge"), "'edge'", 2, low=0.0) if fields.has("edge") else SegmentationRules.edge
    if edge[1] - edge[0] < _LEAST_EDGE:
        raise BundleError(f"'edge' is {list(edge)}; the second number must be the larger one")
    return SegmentationRules(
        fields.text("mask"),
        _get(fields, "activation", NONE, _word(ACTIVATIONS)),
        _get(fields, "channel", 0, lambda v, w: integer(v, w, 0, 4095)),
        (edge[0], edge[1]),
    )


def _region(value: Any, where: str) -> Region:
    fields = Fields(value, where)
    shift = _numbers(fields.any("shift"), f"{where}: 'shift'", 2) if fields.has("shift") else (0.0, 0.0)
    region = Region(
        _indices(fields.any("from"), f"{where}: 'from'", _MOST_POINTS) if fields.has("from") else (),
        _indices(fields.any("to"), f"{where}: 'to'", _MOST_POINTS) if fields.has("to") else (),
        _get(fields, "direction", 0.0, _number),
        _indices(fields.any("points"), f"{where}: 'points'", _MOST_POINTS) if fields.has("points") else (),
        _get(fields, "scale", 1.5, lambda v, w: _number(v, w, low=0.01)),
        (shift[0], shift[1]),
        _get(fields, "square", True, _truth),
    )
    if bool(region.begin) != bool(region.end):
        raise BundleError(f"{where} needs 'from' and 'to', or neither for cuts that stand upright")
    fields.done()
    return region


def _get(fields: Fields, key: str, default: Any, reader: Callable[[Any, str], Any]) -> Any:
    return reader(fields.any(key), f"'{key}'") if fields.has(key) else default


def _word(allowed: tuple[str, ...]) -> Callable[[Any, str], str]:
    return lambda value, where: text(value, where, one_of=allowed)


def _number(value: Any, where: str, *, low: float = -_LARGEST) -> float:
    """Return ``value`` if it is a number from ``low`` to ``_LARGEST``."""
    number: float = json_fields.number(value, where, low=low)
    if number > _LARGEST:
        raise BundleError(f"{where} is {number:g}; at most {_LARGEST:g} is possible")
    return number


def _share(value: Any, where: str) -> float:
    share = _number(value, where, low=0.0)
    if share > 1.0:
        raise BundleError(f"{where} is {share:g}, not a number from 0 to 1")
    return share


def _truth(value: Any, where: str) -> bool:
    if not isinstance(value, bool):
        raise BundleError(f"{where} is {value!r:.40}, not true or false")
    return value


def _items_of(value: Any, where: str, length: int) -> list[Any]:
    entries = items(value, where)
    if len(entries) != length:
        raise BundleError(f"{where} has {len(entries)} entries, not {length}")
    return entries


def _numbers(value: Any, where: str, length: int, **limits: float) -> tuple[float, ...]:
    return tuple(_number(item, f"{where}[{i}]", **limits) for i, item in enumerate(_items_of(value, where, length)))


def _indices(value: Any, where: str, most: int) -> tuple[int, ...]:
    if isinstance(value, int):
        value = [value]
    entries = items(value, where)
    if not entries or not most:
        raise BundleError(f"{where} needs points by their indices, and 'points' to have names for them")
    return tuple(integer(item, f"{where}[{index}]", 0, most - 1) for index, item in enumerate(entries))


def _lines(fields: Fields, most: int) -> Lines:
    entries = fields.items("lines") if fields.has("lines") else []
    return tuple(_indices(item, f"'lines'[{index}]", most) for index, item in enumerate(entries))


def _outputs(fields: Fields, key: str) -> tuple[str, ...]:
    value = fields.any(key)
    names = [value] if isinstance(value, str) else items(value, f"'{key}'")
    if not names:
        raise BundleError(f"'{key}' is empty; name the outputs")
    return tuple(text(item, f"'{key}'[{index}]") for index, item in enumerate(names))
