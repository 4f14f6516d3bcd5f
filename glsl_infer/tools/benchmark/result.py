"""Reader of saved results, the output of ``glsl-infer benchmark --json``."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from glsl_infer.support import saved_json
from glsl_infer.support.saved_json import FileFormat
from glsl_infer.tools.benchmark.frames import STEPS

FORMAT = "glsl-infer benchmark"
VERSION = 1

MAX_BYTES = 64 << 20
"""Largest size of a result in bytes. A day of frames is smaller, because it is stored in windows."""

_SAVE_ADVICE = "save one with: glsl-infer benchmark --json > FILE.json"


def read(path: Path) -> dict[str, Any]:
    """Return a saved result after a check of the fields used by ``compare``.

    Raises:
        InputError: the file is missing, is not a result, has a newer version, or is damaged.
    """
    return saved_json.read(path, FileFormat("result", FORMAT, VERSION, MAX_BYTES, _SAVE_ADVICE, _wrong_part))


def _wrong_part(data: dict[str, Any]) -> str | None:
    """Return a short description of the first problem of a result, or None."""
    frame = data.get("frame_ms")
    for step in STEPS:
        row = frame.get(step) if isinstance(frame, dict) else None
        for key in ("median", "p5", "p95"):
            if not isinstance(row, dict) or not _is_time(row.get(key)):
                return f"frame_ms.{step}.{key} is not a time"
    for section, key in (("model", "file"), ("machine", "renderer"), ("machine", "cpu")):
        inside = data.get(section)
        if not isinstance(inside, dict) or not isinstance(inside.get(key), str):
            return f"{section}.{key} is not a text"
    return None


def _is_time(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value) and value >= 0
