"""Files of ranges, written by ``glsl-infer calibrate`` and read by ``export --ranges``.

The format is JSON with ranges and scales by layer, and arrays of calibration data in base64. Every field is checked
before use.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glsl_infer.compiler.ranges.request import KnownRanges
from glsl_infer.compiler.ranges.stored import StoredRanges
from glsl_infer.lowering.calibration_maps import TYPES
from glsl_infer.program.layout import Range
from glsl_infer.support import saved_json
from glsl_infer.support.files import write_output
from glsl_infer.support.saved_json import FileFormat

FORMAT, VERSION = "glsl-infer ranges", 1
MAX_BYTES = 64 << 20
LEAST, MOST = 1e-30, 1e30
"""Smallest and largest accepted scale: values computed from it stay within a shader's floats."""

_GIVE_RANGES = "give the .json file that 'glsl-infer calibrate' wrote"


def write(stored: StoredRanges, path: str | Path) -> None:
    """Write ranges as JSON, one layer a line, in full precision.

    Raises:
        InputError: the file cannot be written.
    """
    objects = {"scales": json.dumps(dict(stored.known.scales))}
    for key, ranges in (("maps", stored.known.maps), ("fine", stored.known.sixteen_bit)):
        lines = (
            f"{json.dumps(name)}: {json.dumps({'scales': list(value_range.scales), 'zeros': list(value_range.zeros)})}"
            for name, value_range in ranges.items()
        )
        objects[key] = "{\n  " + ",\n  ".join(lines) + "}"
    calibration_data = (
        f"{json.dumps(key)}: {json.dumps([_packed(array) for array in arrays])}"
        for key, arrays in stored.known.calibration_data.items()
    )
    objects["findings"] = "{\n  " + ",\n  ".join(calibration_data) + "}"
    if stored.known.sixteen is not None:
        objects["sixteen"] = json.dumps(list(stored.known.sixteen))
        objects["exact"] = json.dumps(list(stored.known.exact))
    head = {"format": FORMAT, "version": VERSION, "model": stored.model, "fingerprint": stored.fingerprint}
    parts = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in head.items()]
    parts += [f"{json.dumps(key)}: {text}" for key, text in objects.items()]
    write_output(Path(path), "{" + ",\n ".join(parts) + "}\n")


def read(path: str | Path) -> StoredRanges:
    """Return the ranges of a file.

    Raises:
        InputError: the file is missing, is not a file of ranges, has another version, or is damaged.
    """
    data = saved_json.read(
        Path(path), FileFormat("file of ranges", FORMAT, VERSION, MAX_BYTES, _GIVE_RANGES, _wrong_part)
    )
    maps, sixteen_bit = (
        {name: Range(tuple(entry["scales"]), tuple(entry["zeros"])) for name, entry in data[key].items()}
        for key in ("maps", "fine")
    )
    sixteen = tuple(data["sixteen"]) if "sixteen" in data else None
    exact = tuple(data.get("exact", ()))
    calibration_data = {key: tuple(map(_unpacked, arrays)) for key, arrays in data.get("findings", {}).items()}
    result = KnownRanges(maps, sixteen_bit, data["scales"], sixteen, exact, calibration_data)
    return StoredRanges(data["model"], data["fingerprint"], result)


def _packed(array: NDArray[Any]) -> dict[str, Any]:
    """Return an array as JSON: its type, its shape, and its deflated bytes in base64."""
    small = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
    text = base64.b64encode(zlib.compress(small.tobytes(), 9)).decode("ascii")
    return {"type": small.dtype.str, "shape": list(small.shape), "bytes": text}


def _unpacked(packed: Any, most: int = MAX_BYTES) -> NDArray[Any]:
    """Return the array that ``_packed`` encoded.

    Raises:
        ValueError: it is not such an array, or has more than ``most`` bytes.
    """
    if not isinstance(packed, dict) or packed.get("type") not in TYPES or not isinstance(packed.get("bytes"), str):
        raise ValueError("no array")
    shape = packed.get("shape")
    if not isinstance(shape, list) or not all(type(size) is int and 0 <= size <= MAX_BYTES for size in shape):
        raise ValueError("an array without a shape")
    size = math.prod(shape) * np.dtype(packed["type"]).itemsize
    if size > most:
        raise ValueError(f"an array of {size:,} bytes, and all arrays may have {MAX_BYTES:,}")
    unpacker = zlib.decompressobj()
    try:
        data = unpacker.decompress(base64.b64decode(packed["bytes"], validate=True), size + 1)
    except (zlib.error, binascii.Error) as error:
        raise ValueError(f"an array that cannot be unpacked ({error})") from None
    if len(data) != size:
        raise ValueError("an array of another size")
    array = np.frombuffer(data, packed["type"]).reshape(shape)
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise ValueError("numbers that are not finite")
    return array


def _wrong_part(data: dict[str, Any]) -> str | None:
    for key in ("model", "fingerprint"):
        if not isinstance(data.get(key), str):
            return f"'{key}' is not a text"
    for key in ("maps", "fine", "scales"):
        if not isinstance(data.get(key), dict):
            return f"'{key}' is not an object"
    for name, scale in data["scales"].items():
        if not _is_number(scale) or not LEAST <= scale <= MOST or math.frexp(scale)[0] != 0.5:
            return f"the scale of '{name}' is not a power of two from {LEAST:g} to {MOST:g}"
    for name, stored in (*data["maps"].items(), *data["fine"].items()):
        lists = [stored.get(key) if isinstance(stored, dict) else None for key in ("scales", "zeros")]
        valid = [values for values in lists if isinstance(values, list) and values and all(map(_is_number, values))]
        if len(valid) != 2:
            return f"'{name}' has no lists of numbers 'scales' and 'zeros'"
        scales, zeros = valid
        if not all(LEAST <= scale <= MOST for scale in scales):
            return f"'{name}' has a scale that is not from {LEAST:g} to {MOST:g}"
        if not all(0.0 <= zero <= 255.0 and zero == int(zero) for zero in zeros):
            return f"'{name}' has a zero point that is not a whole number from 0 to 255"
    return _wrong_finding(data)


def _wrong_finding(data: dict[str, Any]) -> str | None:
    for key in ("sixteen", "exact"):
        names = data.get(key, [])
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            return f"'{key}' is not a list of layers"
    findings = data.get("findings", {})
    if not isinstance(findings, dict):
        return "'findings' is not an object"
    bytes_left = MAX_BYTES
    for key, arrays in findings.items():
        try:
            if not isinstance(arrays, list) or not arrays:
                return f"the finding '{key}' is not a list of arrays"
            for array in arrays:
                bytes_left -= _unpacked(array, bytes_left).nbytes
        except ValueError as error:
            return f"the finding '{key}' has {error}"
    return None


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
