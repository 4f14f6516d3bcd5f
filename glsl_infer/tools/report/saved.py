"""Reader of saved reports, the output of ``glsl-infer report``."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from glsl_infer.support import saved_json
from glsl_infer.support.saved_json import FileFormat

FORMAT = "glsl-infer report"
VERSION = 1

MAX_BYTES = 16 << 20

_GIVE_REPORT = "give the .json file that 'glsl-infer report' wrote"


def read(path: Path) -> dict[str, Any]:
    """Return a saved report after a check of the types used by ``page`` and the table of docs/engineering/boards.md.

    Raises:
        InputError: the file is missing, is not a report, has another version, or is damaged.
    """
    return saved_json.read(path, FileFormat("report", FORMAT, VERSION, MAX_BYTES, _GIVE_REPORT, _wrong_part))


def frame_ms(model: dict[str, Any]) -> dict[str, float] | None:
    """Return the summary of a model's frame times in milliseconds; None if they were not measured."""
    times = model["benchmark"].get("frame_ms")
    total = times.get("total") if isinstance(times, dict) else None
    return total if isinstance(total, dict) and _are_numbers(total, ("median", "p5", "p95")) else None


def start_ms(model: dict[str, Any]) -> float | None:
    """Return milliseconds from the start to the first result; None if they were not measured."""
    start = model["benchmark"].get("start_ms")
    return start["total"] if isinstance(start, dict) and _are_numbers(start, ("total",)) else None


def _are_numbers(data: dict[str, Any], keys: tuple[str, ...]) -> bool:
    values = [data.get(key) for key in keys]
    return all(
        isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value) for value in values
    )


def _wrong_part(data: dict[str, Any]) -> str | None:
    """Return the first problem of a report, or None."""
    for key, value_type in (("machine", dict), ("driver", dict), ("models", list), ("measured", str), ("note", str)):
        if not isinstance(data.get(key), value_type):
            return f"'{key}' is missing or of another type"
    if not isinstance(data["machine"].get("cpu"), str):
        return "machine.cpu is not a text"
    if not isinstance(data["machine"].get("cores"), (int, type(None))):
        return "machine.cores is not a number"
    checks = data.get("checks", [])
    if not isinstance(checks, list) or not all(isinstance(finding, dict) for finding in checks):
        return "checks is not a list of objects"
    for index, model in enumerate(data["models"]):
        problem = _wrong_model(model)
        if problem is not None:
            return f"models[{index}]{problem}"
    return _wrong_run(data.get("sustained"))


def _wrong_model(model: Any) -> str | None:
    """Return the problem of a model's results, to follow its position in the list, or None."""
    if not isinstance(model, dict) or not isinstance(model.get("model"), str):
        return " has no name"
    for section in ("selfcheck", "benchmark", "counters"):
        if not isinstance(model.get(section), dict):
            return f".{section} is missing or of another type"
    layers = model["selfcheck"].get("layers", [])
    if not isinstance(layers, list) or not all(isinstance(layer, dict) for layer in layers):
        return ".selfcheck.layers is not a list of objects"
    return None


def _wrong_run(run: Any) -> str | None:
    """Return the problem of the sustained run, or None; the run is optional."""
    if run is None or (isinstance(run, dict) and "windows" not in run):
        return None
    has_model = isinstance(run, dict) and isinstance(run.get("model"), str)
    if not has_model or not _are_numbers(run, ("minutes", "slowdown")):
        return "'sustained' has no model, minutes or slowdown"
    windows = run["windows"]
    if not isinstance(windows, list) or not windows:
        return "sustained.windows is not a list, or empty"
    for index, window in enumerate(windows):
        times = window.get("ms") if isinstance(window, dict) else None
        if not isinstance(times, dict) or not _are_numbers(times, ("median",)):
            return f"sustained.windows[{index}].ms.median is not a number"
    return None
