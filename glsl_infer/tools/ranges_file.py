"""Files of ranges: ``glsl-infer calibrate`` writes them, and ``export --ranges`` reads them."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from glsl_infer.compiler.ranges.known import KnownRanges
from glsl_infer.compiler.ranges.stored import StoredRanges
from glsl_infer.program.layout import Range
from glsl_infer.support import saved_json
from glsl_infer.support.files import replacing
from glsl_infer.support.saved_json import Kind

FORMAT, VERSION = "glsl-infer ranges", 1
MAX_BYTES = 64 << 20
_GIVE = "give the .json file that 'glsl-infer calibrate' wrote"


def write(stored: StoredRanges, path: str | Path) -> None:
    """Write ranges as JSON: a layer a line, numbers with all their digits."""
    objects = {"scales": json.dumps(dict(stored.known.scales))}
    for key, ranges in (("maps", stored.known.maps), ("fine", stored.known.fine)):
        lines = (
            f"{json.dumps(name)}: {json.dumps({'scales': list(found.scales), 'zeros': list(found.zeros)})}"
            for name, found in ranges.items()
        )
        objects[key] = "{\n  " + ",\n  ".join(lines) + "}"
    head = {"format": FORMAT, "version": VERSION, "model": stored.model, "fingerprint": stored.fingerprint}
    parts = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in head.items()]
    parts += [f"{json.dumps(key)}: {text}" for key, text in objects.items()]
    with replacing(Path(path)) as temporary:
        temporary.write_text("{" + ",\n ".join(parts) + "}\n", "utf-8")


def read(path: str | Path) -> StoredRanges:
    """Return the ranges of a file.

    Raises:
        InputError: it is missing, no file of ranges, of another version or damaged.
    """
    data = saved_json.read(Path(path), Kind("file of ranges", FORMAT, VERSION, MAX_BYTES, _GIVE, _wrong_part))
    maps, fine = (
        {name: Range(tuple(one["scales"]), tuple(one["zeros"])) for name, one in data[key].items()}
        for key in ("maps", "fine")
    )
    return StoredRanges(data["model"], data["fingerprint"], KnownRanges(maps, fine, data["scales"]))


def _wrong_part(data: dict[str, Any]) -> str | None:
    for key in ("model", "fingerprint"):
        if not isinstance(data.get(key), str):
            return f"'{key}' is no text"
    for key in ("maps", "fine", "scales"):
        if not isinstance(data.get(key), dict):
            return f"'{key}' is no object"
    for name, scale in data["scales"].items():
        if not _is_number(scale) or not scale > 0.0 or math.frexp(scale)[0] != 0.5:
            return f"the scale of '{name}' is no power of two"
    for name, one in (*data["maps"].items(), *data["fine"].items()):
        lists = [one.get(key) if isinstance(one, dict) else None for key in ("scales", "zeros")]
        found = [
            numbers for numbers in lists if isinstance(numbers, list) and numbers and all(map(_is_number, numbers))
        ]
        if len(found) != 2:
            return f"'{name}' has no lists of numbers 'scales' and 'zeros'"
        scales, zeros = found
        if not all(0.0 < scale < math.inf for scale in scales):
            return f"'{name}' has a scale that is not above 0"
        if not all(0.0 <= zero <= 255.0 and zero == int(zero) for zero in zeros):
            return f"'{name}' has a zero point that is no whole number from 0 to 255"
    return None


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
