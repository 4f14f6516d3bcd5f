"""Reports that were saved, read again: what ``glsl-infer report`` wrote."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from glsl_infer.errors import InputError
from glsl_infer.support.files import not_a_file

FORMAT = "glsl-infer report"
VERSION = 1

MAX_BYTES = 16 << 20

_GIVE = "give the .json file that 'glsl-infer report' wrote"


def read(path: Path) -> dict[str, Any]:
    """Return a saved report, whose parts are of the types that ``page`` and docs/boards.md's table need.

    Raises:
        InputError: the file is missing, no report, of another version or damaged.
    """
    try:
        kind = not_a_file(path)
        if kind:
            raise InputError(f"{path}: is {kind}; {_GIVE}")
        if path.stat().st_size > MAX_BYTES:
            raise InputError(f"{path}: has more than {MAX_BYTES >> 20} MiB, which no report has; {_GIVE}")
        data = json.loads(path.read_bytes().decode("utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: no JSON ({error}); {_GIVE}") from None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise InputError(f"{path}: not a report of glsl-infer; {_GIVE}")
    if data.get("version") != VERSION:
        raise InputError(f"{path}: version {data.get('version')!r} of the format, where {VERSION} is known; {_GIVE}")
    wrong = _wrong_part(data)
    if wrong:
        raise InputError(f"{path}: damaged: {wrong}; {_GIVE}")
    return data


def frame_ms(model: dict[str, Any]) -> dict[str, float] | None:
    """Return the summary of a model's whole frames in milliseconds; None where it was not measured."""
    times = model["benchmark"].get("frame_ms")
    total = times.get("total") if isinstance(times, dict) else None
    return total if isinstance(total, dict) and _are_numbers(total, ("median", "p5", "p95")) else None


def start_ms(model: dict[str, Any]) -> float | None:
    """Return milliseconds from nothing to the first result; None where it was not measured."""
    start = model["benchmark"].get("start_ms")
    return start["total"] if isinstance(start, dict) and _are_numbers(start, ("total",)) else None


def _are_numbers(data: dict[str, Any], keys: tuple[str, ...]) -> bool:
    return all(isinstance(data.get(key), (int, float)) and not isinstance(data.get(key), bool) for key in keys)


def _wrong_part(data: dict[str, Any]) -> str | None:
    for key, kind in (("machine", dict), ("driver", dict), ("models", list), ("measured", str), ("note", str)):
        if not isinstance(data.get(key), kind):
            return f"'{key}' is missing or of another type"
    if not isinstance(data["machine"].get("cpu"), str):
        return "machine.cpu is no text"
    for index, model in enumerate(data["models"]):
        if not isinstance(model, dict) or not isinstance(model.get("model"), str):
            return f"models[{index}] has no name"
        for part in ("selfcheck", "benchmark", "counters"):
            if not isinstance(model.get(part), dict):
                return f"models[{index}].{part} is missing or of another type"
    return None
