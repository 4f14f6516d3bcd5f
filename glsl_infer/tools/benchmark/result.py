"""Results that were saved, read again: what ``glsl-infer benchmark --json`` printed."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from glsl_infer.errors import InputError
from glsl_infer.support.files import not_a_file
from glsl_infer.tools.benchmark.frames import STEPS

FORMAT = "glsl-infer benchmark"
VERSION = 1

MAX_BYTES = 64 << 20
"""Most bytes of a result; a day of frames has less, for they are kept in windows."""

_AGAIN = "save one with: glsl-infer benchmark --json > FILE.json"


def read(path: Path) -> dict[str, Any]:
    """Return a saved result, in which all that ``compare`` needs is as it should be.

    Raises:
        InputError: the file is missing, no result, of a newer version or damaged.
    """
    try:
        kind = not_a_file(path)
        if kind:
            raise InputError(f"{path}: is {kind}, not a saved result; {_AGAIN}")
        if path.stat().st_size > MAX_BYTES:
            raise InputError(f"{path}: has more than {MAX_BYTES >> 20} MiB, which no result has; {_AGAIN}")
        data = json.loads(path.read_bytes().decode("utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: no JSON ({error}); {_AGAIN}") from None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise InputError(f"{path}: not a result of glsl-infer benchmark; {_AGAIN}")
    if data.get("version") != VERSION:
        raise InputError(f"{path}: version {data.get('version')!r} of the format, where {VERSION} is known; {_AGAIN}")
    wrong = _wrong_part(data)
    if wrong:
        raise InputError(f"{path}: damaged: {wrong}; {_AGAIN}")
    return data


def _wrong_part(data: dict[str, Any]) -> str | None:
    """Return what is wrong with a result in a few words, or None."""
    frame = data.get("frame_ms")
    for step in STEPS:
        row = frame.get(step) if isinstance(frame, dict) else None
        for key in ("median", "p5", "p95"):
            if not isinstance(row, dict) or not _is_time(row.get(key)):
                return f"frame_ms.{step}.{key} is no time"
    for part, key in (("model", "file"), ("machine", "renderer"), ("machine", "cpu")):
        inside = data.get(part)
        if not isinstance(inside, dict) or not isinstance(inside.get(key), str):
            return f"{part}.{key} is no text"
    return None


def _is_time(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value) and value >= 0
