"""Values as JSON, both ways: where numbers lie in textures, and what they mean."""

from __future__ import annotations

from typing import Any

from glsl_infer.bundle import json_fields
from glsl_infer.bundle.format_constants import RANGES
from glsl_infer.bundle.json_fields import Fields
from glsl_infer.errors import BundleError
from glsl_infer.program.layout import FeatureMap, FineMap, FixedMap, FixedPoint, Value, View


def value_to_json(value: Value) -> dict[str, Any]:
    """Return where a value lies as JSON data."""
    entry = dict(vars(value))
    if not isinstance(value, FixedPoint):
        entry["views"] = [[view.texture, view.x, view.y] for view in value.views]
    if isinstance(value, FineMap):
        entry["bits"] = value.bits
    return {key: list(item) if isinstance(item, tuple) else item for key, item in entry.items()}


def value_from_json(data: Any, where: str) -> Value:
    """Read where a value lies.

    Raises:
        BundleError: it is none of the kinds of value.
    """
    fields = Fields(data, where)
    value = _value(fields)
    fields.done()
    return value


def end_from_json(data: Any, where: str) -> Value:
    """Read the value of an input or an output: any but partial sums.

    Raises:
        BundleError: it is another, or no value at all.
    """
    value = value_from_json(data, where)
    if isinstance(value, FixedPoint) and value.columns:
        raise BundleError(f"{where}: partial sums ('columns' {value.columns}); give a vector ('columns' 0) or a map")
    return value


def _value(fields: Fields) -> Value:
    if not fields.has("views"):
        return FixedPoint(
            fields.text("texture"),
            fields.integer("columns", *RANGES["coordinate"]),
            fields.integer("length", *RANGES["count"]),
            _scale(fields),
        )
    height, width = fields.integer("height", *RANGES["side"]), fields.integer("width", *RANGES["side"])
    channels = fields.integer("channels", *RANGES["count"])
    views = tuple(_view(view, f"{fields.where}.views[{i}]") for i, view in enumerate(fields.items("views")))
    if fields.has("scale"):
        return FixedMap(height, width, channels, _scale(fields), views)
    fine = fields.has("bits")
    if fine:
        fields.integer("bits", *RANGES["bits"])
    gutter = 0 if fine else fields.integer("gutter", *RANGES["gutter"])
    scales, zeros = (
        tuple(json_fields.number(number, f"{fields.where}.{key}") for number in fields.items(key))
        for key in ("scales", "zeros")
    )
    if fine:
        return FineMap(height, width, channels, views, scales, zeros)
    return FeatureMap(height, width, channels, gutter, views, scales, zeros)


_VIEW = [str, int, int]
_LEAST, _MOST = RANGES["coordinate"]


def _view(data: Any, where: str) -> View:
    if type(data) is list and [type(entry) for entry in data] == _VIEW:  # a file has thousands
        name, x, y = data
        if name.isascii() and _LEAST <= x <= _MOST and _LEAST <= y <= _MOST:
            return View(name, x, y)
    entries = json_fields.items(data, where)
    if len(entries) != 3:
        raise BundleError(f"{where}: expected [texture, x, y]")
    x, y = (json_fields.integer(entry, where, *RANGES["coordinate"]) for entry in entries[1:])
    return View(json_fields.text(entries[0], where), x, y)


def _scale(fields: Fields) -> float:
    scale = fields.number("scale", low=0.0)
    if scale == 0:
        raise BundleError(f"{fields.where}: 'scale' is 0, not positive")
    return scale
