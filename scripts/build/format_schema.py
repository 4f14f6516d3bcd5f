"""The JSON Schema of manifest.json, made from glsl_infer/bundle/format.json by format_constants.py."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Schema = dict[str, Any]
Data = Mapping[str, Any]

SHORT = {"side", "coordinate", "gutter", "count", "offset", "byte"}
"""Integers used by several keys, each with a definition in the schema."""


def schema(data: Data) -> Schema:
    """Return the schema: an object's keys and types from the data, then its rules between fields."""
    objects = {name: _object(name, data) for name in data["objects"]}
    definitions: Schema = {name: _integer(data, name) for name in sorted(SHORT)}
    greatest = data["caps"]["MAX_NUMBER"][0]
    definitions |= {
        "number": {"type": "number", "minimum": -greatest, "maximum": greatest},
        "nonzero": {"allOf": [{"$ref": "#/$defs/number"}, {"not": {"const": 0}}]},
        "positive": {"type": "number", "exclusiveMinimum": 0, "maximum": greatest},
        "tolerance": {"type": "number", "minimum": 0, "maximum": greatest},
        **{name: {"type": "string", "pattern": f"^({text})$"} for name, text in data["patterns"].items()},
        "view": _tuple(data, data["types"]["view"]["tuple"], "texture, x, y"),
        "value": _value("fixed_point"),
        "whole_value": _value("vector"),
        "vector": {"$ref": "#/$defs/fixed_point", "properties": {"columns": {"const": 0}}},
    }
    del definitions["file"], definitions["part_folder"]
    return {
        "title": f"manifest.json of a .glslnn bundle, version {data['version']}",
        "description": "docs/reference/bundle-format.md explains every field, and what must fit together beyond "
        "this schema.",
        **objects.pop("manifest"),
        "$defs": {**definitions, **objects},
    }


def _value(without_views: str) -> Schema:
    """Return the schema that distinguishes the kinds of value."""
    maps = {
        "if": {"required": ["scale"]},
        "then": {"$ref": "#/$defs/fixed_map"},
        "else": {
            "if": {"required": ["bits"]},
            "then": {"$ref": "#/$defs/fine_map"},
            "else": {"$ref": "#/$defs/feature_map"},
        },
    }
    return {"if": {"type": "object", "required": ["views"]}, "then": maps, "else": {"$ref": f"#/$defs/{without_views}"}}


def _object(name: str, data: Data) -> Schema:
    spec = data["objects"][name]
    only = spec.get("only", {})
    schema: Schema = {
        "type": "object",
        "additionalProperties": False,
        "required": [key for key in spec["keys"] if key not in only],
        "properties": {key: _type(data, field_type) for key, field_type in spec["keys"].items()},
    }
    rules: list[Schema] = [
        {
            "if": {"properties": {condition_key: {"enum": words}}},
            "then": {"required": [key]},
            "else": {"properties": {key: False}},
        }
        for key, condition in only.items()
        for condition_key, words in condition.items()
    ]
    if name in data["schema"]:
        rules.append(data["schema"][name])
    return {**schema, "allOf": rules} if rules else schema


def _type(data: Data, field_type: Any) -> Schema:
    """Return the schema of a type of format.json."""
    if isinstance(field_type, dict):
        if "tuple" in field_type:
            return _tuple(data, field_type["tuple"])
        if "map" in field_type:
            return {"type": "object", "additionalProperties": _type(data, field_type["map"])}
        schema: Schema = {"type": "array"}
        if "least" in field_type:
            schema["minItems"] = field_type["least"]
        for key in {"most", "cap"} & set(field_type):
            schema["maxItems"] = (
                field_type[key] if isinstance(field_type[key], int) else data["caps"][field_type[key]][0]
            )
        if "unique" in field_type:
            schema["uniqueItems"] = True
        return {**schema, "items": _type(data, field_type["list"])}
    type_name, _, name = field_type.partition(" ")
    if type_name == "integer":
        return {"$ref": f"#/$defs/{name}"} if name in SHORT else _integer(data, name)
    if type_name == "word":
        return {"enum": data["words"][name]}
    if type_name in ("object", "pattern", "reference"):
        return {"$ref": f"#/$defs/{name}"}
    return _SINGLE[type_name](data) if type_name in _SINGLE else {"$ref": f"#/$defs/{type_name}"}


_SINGLE = {
    "name": lambda _: {"type": "string"},
    "format": lambda data: {"const": data["format"]},
    "version": lambda data: {"type": "integer", "minimum": data["version"], "maximum": data["version"]},
    "profile": lambda data: {"enum": [data["profile"]]},
    "cpu_profile": lambda data: {"enum": [data["cpu_profile"]]},
    "formula": lambda data: {"enum": [data["formula"]]},
    "shape": lambda data: _type(data, data["types"]["shape"]),
    "attributes": lambda _: {"type": "object", "description": "numbers, texts, true, false, null, lists of these"},
    "weight_shapes": lambda data: _type(data, data["types"]["weight_shapes"]),
    "part_members": lambda data: {
        "type": "object",
        "description": "sha256 of every member but manifest.json",
        "propertyNames": {"pattern": f"^({data['patterns']['part_folder']}({data['patterns']['file']})|labels\\.txt)$"},
        "additionalProperties": {"$ref": "#/$defs/digest"},
    },
    "members": lambda _: {
        "type": "object",
        "description": "sha256 of every member but manifest.json",
        "required": ["graph.json", "passes.bin", "labels.txt", "shaders/prelude.glsl"],
        "propertyNames": {"$ref": "#/$defs/member"},
        "additionalProperties": {"$ref": "#/$defs/digest"},
    },
}


def _integer(data: Data, name: str) -> Schema:
    low, high, *_ = data["integers"][name]
    return {"type": "integer", "minimum": low, "maximum": high}


def _tuple(data: Data, kinds: list[Any], about: str = "") -> Schema:
    schema: Schema = {"description": about} if about else {}
    items = [_type(data, field_type) for field_type in kinds]
    return {**schema, "type": "array", "prefixItems": items, "items": False, "minItems": len(items)}
