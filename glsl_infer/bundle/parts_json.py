"""Limits, textures and programs of a manifest as JSON, both ways."""

from __future__ import annotations

import re
from typing import Any

from glsl_infer.bundle import json_fields
from glsl_infer.bundle.format_constants import IDENTIFIER_PATTERN, KEYS, MAX_UNIFORMS, RANGES, TEXTURE_KINDS
from glsl_infer.bundle.json_fields import Fields
from glsl_infer.bundle.manifest import Limits
from glsl_infer.errors import BundleError
from glsl_infer.program import ShaderProgram, Texture

CONSTANT = "constant"


def texture_to_json(texture: Texture) -> dict[str, Any]:
    """Return a texture as JSON data."""
    entry: dict[str, Any] = {key: value for key, value in vars(texture).items() if value is not None and key != "clear"}
    if texture.kind != CONSTANT:
        entry["clear"] = list(texture.clear)
    return entry


def program_to_json(program: ShaderProgram) -> dict[str, Any]:
    """Return a pair of shaders as JSON data."""
    return {
        **vars(program),
        "samplers": list(program.samplers),
        "uniforms": [[name, count] for name, count in program.uniforms.items()],
    }


def limits_from_json(data: Any) -> Limits:
    """Read what the bundle needs of a driver."""
    fields = Fields(data, "limits")
    limits = Limits(**{key: fields.integer(key, *RANGES[key]) for key in KEYS["limits"]})
    fields.done()
    return limits


def texture_from_json(data: Any, where: str) -> Texture:
    """Read a texture."""
    fields = Fields(data, where)
    name, kind = fields.text("name"), fields.text("kind", one_of=TEXTURE_KINDS)
    width, height = fields.integer("width", *RANGES["side"]), fields.integer("height", *RANGES["side"])
    clear = (0, 0, 0, 0)
    if kind != CONSTANT:
        bytes_ = [json_fields.integer(byte, f"{where}: 'clear'", *RANGES["byte"]) for byte in fields.items("clear")]
        if len(bytes_) != 4:
            raise BundleError(f"{where}: 'clear' has {len(bytes_)} bytes, not 4")
        clear = (bytes_[0], bytes_[1], bytes_[2], bytes_[3])
    texture = Texture(name, width, height, kind, fields.optional_text("member"), clear)
    fields.done()
    return texture


def program_from_json(data: Any, where: str) -> ShaderProgram:
    """Read a pair of shaders."""
    fields = Fields(data, where)
    program = ShaderProgram(
        fields.text("name"),
        fields.text("vertex"),
        fields.text("fragment"),
        tuple(_identifier(name, f"{where}: 'samplers'") for name in fields.texts("samplers")),
        fields.integer("varyings", *RANGES["varyings"]),
        _uniforms(fields.items("uniforms"), where),
    )
    fields.done()
    return program


def _uniforms(entries: list[Any], where: str) -> dict[str, int]:
    uniforms: dict[str, int] = {}
    if len(entries) > MAX_UNIFORMS:
        raise BundleError(f"{where}: {len(entries)} uniforms; a program has at most {MAX_UNIFORMS}")
    for entry in entries:
        pair = json_fields.items(entry, f"{where}: 'uniforms'")
        if len(pair) != 2:
            raise BundleError(f"{where}: 'uniforms': expected [name, number of floats]")
        name = _identifier(json_fields.text(pair[0], f"{where}: 'uniforms'"), f"{where}: 'uniforms'")
        if name in uniforms:
            raise BundleError(f"{where}: 'uniforms': '{name:.60}' is there twice")
        count = json_fields.integer(pair[1], f"{where}: uniform '{name:.60}'", *RANGES["floats"])
        if count > 4 and count % 4:
            raise BundleError(f"{where}: uniform '{name:.60}' has {count} numbers; give 1 to 4, or whole vec4s")
        uniforms[name] = count
    return uniforms


def _identifier(name: str, where: str) -> str:
    if not re.fullmatch(IDENTIFIER_PATTERN, name):
        raise BundleError(f"{where}: '{name:.40}' is not a name that GLSL allows")
    return name
