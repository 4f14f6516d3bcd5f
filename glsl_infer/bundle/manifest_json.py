"""The manifest as JSON, both ways.

Reading is strict: unknown keys, missing ones, wrong types and numbers out of range are refused.
bundle.schema.json says the same for other tools.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from glsl_infer.bundle import json_fields as strict
from glsl_infer.bundle.format_constants import KEYS, MAX_FLOATS, MAX_LAYERS, MAX_UNIFORMS, RANGES
from glsl_infer.bundle.json_fields import Fields
from glsl_infer.bundle.manifest import (
    FIT,
    FORMAT,
    PROBE_FORMULA,
    PROFILE,
    PURPOSES,
    VERSION,
    Input,
    Limits,
    Manifest,
    Output,
    Probe,
    ProbeLayer,
)
from glsl_infer.bundle.pass_table import Names, pack, unpack
from glsl_infer.errors import BundleError
from glsl_infer.program import ShaderProgram, Texture
from glsl_infer.program.layout import FeatureMap, FixedMap, FixedPoint, Value, View

MAX_COUNT = RANGES["count"][1]
KINDS = ("input", "target", "constant")


def to_json(manifest: Manifest) -> dict[str, Any]:
    """Return the manifest as JSON data; ``pass_table`` has the passes."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "profile": PROFILE,
        "name": manifest.name,
        "inputs": [
            {"name": entry.name, "kind": "picture", "fit": entry.fit, "value": value_to_json(entry.value)}
            for entry in manifest.inputs
        ],
        "limits": vars(manifest.limits),
        "textures": [_texture_to_json(texture) for texture in manifest.textures],
        "programs": [
            {
                **vars(program),
                "samplers": list(program.samplers),
                "uniforms": [[name, count] for name, count in program.uniforms.items()],
            }
            for program in manifest.programs
        ],
        "layers": list(manifest.layers),
        "floats": list(manifest.floats),
        "passes": {"count": len(manifest.passes), "quads": sum(len(entry.quads) for entry in manifest.passes)},
        "outputs": [
            {"name": output.name, "purpose": output.purpose, "value": value_to_json(output.value)}
            for output in manifest.outputs
        ],
        "probe": {
            **vars(manifest.probe),
            "layers": [{**vars(layer), "value": value_to_json(layer.value)} for layer in manifest.probe.layers],
            "logits": list(manifest.probe.logits),
        },
        "members": dict(manifest.members),
    }


def pass_table(manifest: Manifest) -> bytes:
    """Return the member passes.bin."""
    return pack(manifest.passes, Names(manifest.layers, manifest.programs, manifest.textures, manifest.floats))


def from_json(data: Any, table: bytes) -> Manifest:
    """Read a manifest from JSON data, strictly.

    Args:
        data: what manifest.json holds.
        table: the bytes of passes.bin.

    Raises:
        BundleError: anything missing, unknown, of the wrong type, out of range, or of another version.
    """
    fields = check_version(data)
    profile = fields.text("profile")
    if profile != PROFILE:
        raise BundleError(f"needs profile '{profile:.40}'; this runner has {PROFILE}; update the runner")
    name = fields.text("name")
    inputs = tuple(_input(entry, f"inputs[{i}]") for i, entry in enumerate(fields.items("inputs")))
    limits = _limits(fields.any("limits"))
    textures = tuple(_texture(entry, f"textures[{i}]") for i, entry in enumerate(fields.items("textures")))
    programs = tuple(_program(entry, f"programs[{i}]") for i, entry in enumerate(fields.items("programs")))
    layers, floats = _unique(fields, "layers", MAX_LAYERS), _unique(fields, "floats", MAX_FLOATS)
    counts = Fields(fields.any("passes"), "passes")
    count, quads = counts.integer("count", *RANGES["passes"]), counts.integer("quads", *RANGES["quads"])
    counts.done()
    outputs = tuple(_output(entry, f"outputs[{i}]") for i, entry in enumerate(fields.items("outputs")))
    probe = _probe(fields.any("probe"))
    members = {key: strict.text(value, f"members['{key:.60}']") for key, value in fields.mapping("members").items()}
    fields.done()
    passes = unpack(table, count, quads, Names(layers, programs, textures, floats))
    drawn = {entry.layer for entry in passes}
    idle = [layer for layer in layers if layer not in drawn]
    if idle:
        raise BundleError(f"layers: '{idle[0]}' has no pass")
    return Manifest(name, inputs, limits, textures, programs, floats, passes, outputs, probe, members)


def _unique(fields: Fields, key: str, most: int) -> tuple[str, ...]:
    names = fields.texts(key)
    if len(names) > most:
        raise BundleError(f"{len(names)} {key}; a model has at most {most}")
    for name, count in Counter(names).items():
        if count > 1:
            raise BundleError(f"{key}: '{name:.60}' is there twice")
    return names


def check_version(data: Any) -> Fields:
    """Look at the two keys that every version has, and return the others.

    Raises:
        BundleError: another format, or a newer version.
    """
    fields = Fields(data, "manifest")
    if fields.optional("format") != FORMAT:
        raise BundleError(f"manifest: 'format' is not '{FORMAT}': this is no glsl-infer model; give a *.glslnn file")
    version = fields.integer("version", 1, 1 << 30)
    if version < VERSION:
        raise BundleError(
            f"the model has format version {version}, this program reads version {VERSION}; export it again"
        )
    if version > VERSION:
        raise BundleError(
            f"the model has format version {version}, this program reads up to {VERSION}; "
            "update glsl-infer: git pull in its checkout, then pip install ."
        )
    return fields


def _texture_to_json(texture: Texture) -> dict[str, Any]:
    entry: dict[str, Any] = {key: value for key, value in vars(texture).items() if value is not None and key != "clear"}
    if texture.kind == "target":
        entry["clear"] = list(texture.clear)
    return entry


def value_to_json(value: Value) -> dict[str, Any]:
    """Return where a value lies as JSON data."""
    entry = dict(vars(value))
    if not isinstance(value, FixedPoint):
        entry["views"] = [[view.texture, view.x, view.y] for view in value.views]
    return {key: list(one) if isinstance(one, tuple) else one for key, one in entry.items()}


def _identifier(name: str, where: str) -> str:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise BundleError(f"{where}: '{name:.40}' is not a name that GLSL allows")
    return name


def value_from_json(data: Any, where: str) -> Value:
    """Read where a value lies."""
    fields = Fields(data, where)
    value = _value_fields(fields)
    fields.done()
    return value


def _value_fields(fields: Fields) -> Value:
    if not fields.has("views"):
        return FixedPoint(
            fields.text("texture"),
            fields.integer("columns", *RANGES["coordinate"]),
            fields.integer("length", *RANGES["count"]),
            _scale(fields),
        )
    height, width = fields.integer("height", *RANGES["side"]), fields.integer("width", *RANGES["side"])
    channels = fields.integer("channels", *RANGES["count"])
    views = tuple(_view(one, f"{fields.where}.views[{i}]") for i, one in enumerate(fields.items("views")))
    if fields.has("scale"):
        return FixedMap(height, width, channels, _scale(fields), views)
    gutter = fields.integer("gutter", *RANGES["gutter"])
    scales, zeros = (
        tuple(strict.number(number, f"{fields.where}.{key}") for number in fields.items(key))
        for key in ("scales", "zeros")
    )
    return FeatureMap(height, width, channels, gutter, views, scales, zeros)


def _view(data: Any, where: str) -> View:
    entries = strict.items(data, where)
    if len(entries) != 3:
        raise BundleError(f"{where}: expected [texture, x, y]")
    x, y = (strict.integer(entry, where, *RANGES["coordinate"]) for entry in entries[1:])
    return View(strict.text(entries[0], where), x, y)


def _scale(fields: Fields) -> float:
    scale = fields.number("scale", low=0.0)
    if scale == 0:
        raise BundleError(f"{fields.where}: 'scale' is 0, not positive")
    return scale


def _input(data: Any, where: str) -> Input:
    fields = Fields(data, where)
    name = fields.text("name")
    fields.text("kind", one_of=("picture",))
    fit, value = fields.text("fit", one_of=(FIT,)), value_from_json(fields.any("value"), f"{where}.value")
    fields.done()
    if not isinstance(value, FeatureMap) or len(value.views) != 1:
        raise BundleError(f"{where}: a picture is a feature map in one texture")
    return Input(name, value, fit)


def _limits(data: Any) -> Limits:
    fields = Fields(data, "limits")
    limits = Limits(**{key: fields.integer(key, *RANGES[key]) for key in KEYS["limits"]})
    fields.done()
    return limits


def _texture(data: Any, where: str) -> Texture:
    fields = Fields(data, where)
    name, kind = fields.text("name"), fields.text("kind", one_of=KINDS)
    width, height = fields.integer("width", *RANGES["side"]), fields.integer("height", *RANGES["side"])
    clear = (0, 0, 0, 0)
    if kind == "target":
        bytes_ = [strict.integer(one, f"{where}: 'clear'", *RANGES["byte"]) for one in fields.items("clear")]
        if len(bytes_) != 4:
            raise BundleError(f"{where}: 'clear' has {len(bytes_)} bytes, not 4")
        clear = (bytes_[0], bytes_[1], bytes_[2], bytes_[3])
    texture = Texture(name, width, height, kind, fields.optional_text("member"), clear)
    fields.done()
    return texture


def _program(data: Any, where: str) -> ShaderProgram:
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
        pair = strict.items(entry, f"{where}: 'uniforms'")
        if len(pair) != 2:
            raise BundleError(f"{where}: 'uniforms': expected [name, number of floats]")
        name = _identifier(strict.text(pair[0], f"{where}: 'uniforms'"), f"{where}: 'uniforms'")
        if name in uniforms:
            raise BundleError(f"{where}: 'uniforms': '{name:.60}' is there twice")
        count = strict.integer(pair[1], f"{where}: uniform '{name:.60}'", *RANGES["floats"])
        if count > 4 and count % 4:
            raise BundleError(f"{where}: uniform '{name:.60}' has {count} numbers; give 1 to 4, or whole vec4s")
        uniforms[name] = count
    return uniforms


def _output(data: Any, where: str) -> Output:
    fields = Fields(data, where)
    name, purpose = fields.text("name"), fields.text("purpose", one_of=PURPOSES)
    value = value_from_json(fields.any("value"), f"{where}.value")
    fields.done()
    if purpose == "classes" and isinstance(value, FixedPoint) and value.columns == 0:
        return Output(name, purpose, value)
    if purpose == "image" and isinstance(value, FeatureMap):
        return Output(name, purpose, value)
    raise BundleError(f"{where}: '{purpose}' must be a vector in fixed point if 'classes', an 8-bit map if 'image'")


def _probe(data: Any) -> Probe:
    fields = Fields(data, "probe")
    layers = []
    for i, one in enumerate(fields.items("layers")):
        entry = Fields(one, f"probe.layers[{i}]")
        layers.append(
            ProbeLayer(
                entry.text("layer"),
                entry.integer("offset", *RANGES["offset"]),
                entry.integer("count", *RANGES["count"]),
                entry.number("max_error", low=0.0),
                entry.number("mean_error", low=0.0),
                value_from_json(entry.any("value"), f"probe.layers[{i}].value"),
            )
        )
        entry.done()
    logits = tuple(strict.number(value, "probe.logits") for value in fields.items("logits"))
    probe = Probe(
        fields.text("formula", one_of=(PROBE_FORMULA,)),
        fields.text("member"),
        tuple(layers),
        logits,
        fields.number("max_error", low=0.0),
    )
    fields.done()
    return probe
