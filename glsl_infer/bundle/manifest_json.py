"""The manifest as JSON, both ways.

Reading is strict: unknown keys, missing ones, wrong types and numbers out of range are refused.
bundle.schema.json says the same for other tools.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from glsl_infer.bundle import json_fields as strict
from glsl_infer.bundle.json_fields import Fields
from glsl_infer.bundle.manifest import (
    FORMAT,
    PREPROCESSING,
    PROBE_FORMULA,
    VERSION,
    Input,
    Layer,
    Limits,
    Manifest,
    Model,
    Output,
    Probe,
    ProbeLayer,
)
from glsl_infer.errors import BundleError
from glsl_infer.program import Pass, Quad, ShaderProgram, Slice, Source, Texture, UniformValue
from glsl_infer.program.layout import FeatureMap, FixedMap, FixedPoint, Value, View
from glsl_infer.program.quantize import plain

MAX_SIDE = 8192
MAX_COUNT = 1 << 20
KINDS = ("input", "target", "constant")


def to_json(manifest: Manifest) -> dict[str, Any]:
    """Return the manifest as JSON data."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "model": {
            "name": manifest.model.name,
            "output": manifest.model.output,
            "layers": [_layer_to_json(layer) for layer in manifest.model.layers],
        },
        "input": vars(manifest.input),
        "limits": vars(manifest.limits),
        "textures": [_texture_to_json(texture) for texture in manifest.textures],
        "programs": [
            {**vars(program), "samplers": list(program.samplers), "uniforms": dict(program.uniforms)}
            for program in manifest.programs
        ],
        "passes": [_pass_to_json(one) for one in manifest.passes],
        "outputs": [{"name": output.name, **_value_to_json(output.value)} for output in manifest.outputs],
        "probe": {
            **vars(manifest.probe),
            "layers": [vars(layer) for layer in manifest.probe.layers],
            "logits": list(manifest.probe.logits),
        },
        "members": dict(manifest.members),
    }


def size_of_passes(passes: Iterable[Pass]) -> int:
    """Return the bytes that passes take in manifest.json, which is little else where they are many."""
    return sum(len(json.dumps(_pass_to_json(one), ensure_ascii=False, separators=(",", ":"))) + 1 for one in passes)


def from_json(data: Any) -> Manifest:
    """Read a manifest from JSON data, strictly.

    Raises:
        BundleError: anything missing, unknown, of the wrong type, out of range, or of a newer version.
    """
    fields = check_version(data)
    manifest = Manifest(
        _model(fields.any("model")),
        _input(fields.any("input")),
        _limits(fields.any("limits")),
        tuple(_texture(one, f"textures[{i}]") for i, one in enumerate(fields.items("textures"))),
        tuple(_program(one, f"programs[{i}]") for i, one in enumerate(fields.items("programs"))),
        tuple(_pass(one, f"passes[{i}]") for i, one in enumerate(fields.items("passes"))),
        tuple(_output(one, f"outputs[{i}]") for i, one in enumerate(fields.items("outputs"))),
        _probe(fields.any("probe")),
        {key: strict.text(value, f"members['{key:.60}']") for key, value in fields.mapping("members").items()},
    )
    fields.done()
    return manifest


def check_version(data: Any) -> Fields:
    """Look at the two keys that every version has, and return the others.

    Raises:
        BundleError: another format, or a newer version.
    """
    fields = Fields(data, "manifest")
    if fields.optional("format") != FORMAT:
        raise BundleError(f"manifest: 'format' is not '{FORMAT}': this is no glsl-infer model; give a *.glslnn file")
    version = fields.integer("version", 1, 1 << 30)
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


def _value_to_json(value: Value) -> dict[str, Any]:
    entry = dict(vars(value))
    if not isinstance(value, FixedPoint):
        entry["views"] = [[view.texture, view.x, view.y] for view in value.views]
    return {key: list(one) if isinstance(one, tuple) else one for key, one in entry.items()}


def _layer_to_json(layer: Layer) -> dict[str, Any]:
    return {
        "name": layer.name,
        "op": layer.op,
        "inputs": list(layer.inputs),
        "attrs": {key: plain(value) for key, value in layer.attrs.items()},
        "weights": {key: list(shape) for key, shape in layer.weights.items()},
        "members": list(layer.members),
        "output": _value_to_json(layer.output),
    }


def _pass_to_json(one: Pass) -> dict[str, Any]:
    return {
        "layer": one.layer,
        "program": one.program,
        "target": one.target,
        "clear": one.clear,
        "textures": list(one.textures),
        "sources": [[source.unit, source.stride_x, source.stride_y] for source in one.sources],
        "quads": [
            [quad.x, quad.y, quad.width, quad.height, *(c for origin in quad.origins for c in origin)]
            for quad in one.quads
        ],
        "uniforms": {
            key: [value.member, value.offset, value.count] if isinstance(value, Slice) else list(value)
            for key, value in one.uniforms.items()
        },
    }


def _model(data: Any) -> Model:
    fields = Fields(data, "model")
    model = Model(
        fields.text("name"),
        fields.text("output"),
        tuple(_layer(one, f"model.layers[{i}]") for i, one in enumerate(fields.items("layers"))),
    )
    fields.done()
    return model


def _layer(data: Any, where: str) -> Layer:
    fields = Fields(data, where)
    layer = Layer(
        fields.text("name"),
        fields.text("op"),
        fields.texts("inputs"),
        {key: _attribute(value, f"{where}.attrs['{key:.60}']") for key, value in fields.mapping("attrs").items()},
        {
            key: tuple(
                strict.integer(size, f"{where}.weights['{key:.60}']", 1, MAX_COUNT)
                for size in strict.items(shape, where)
            )
            for key, shape in fields.mapping("weights").items()
        },
        fields.texts("members"),
        _value(fields.any("output"), f"{where}.output"),
    )
    fields.done()
    return layer


def _attribute(value: Any, where: str) -> Any:
    return tuple(_scalar(item, where) for item in value) if isinstance(value, list) else _scalar(value, where)


def _scalar(value: Any, where: str) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return strict.text(value, where)
    number = strict.number(value, where)
    return value if isinstance(value, int) else number


def _identifier(name: str, where: str) -> str:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise BundleError(f"{where}: '{name:.40}' is not a name that GLSL allows")
    return name


def _value(data: Any, where: str) -> Value:
    fields = Fields(data, where)
    value = _value_fields(fields)
    fields.done()
    return value


def _value_fields(fields: Fields) -> Value:
    if not fields.has("views"):
        return FixedPoint(
            fields.text("texture"),
            fields.integer("columns", 0, MAX_SIDE),
            fields.integer("length", 1, MAX_COUNT),
            _scale(fields),
        )
    height, width = fields.integer("height", 1, MAX_SIDE), fields.integer("width", 1, MAX_SIDE)
    channels = fields.integer("channels", 1, MAX_COUNT)
    views = tuple(_view(one, f"{fields.where}.views[{i}]") for i, one in enumerate(fields.items("views")))
    if fields.has("scale"):
        return FixedMap(height, width, channels, _scale(fields), views)
    gutter = fields.integer("gutter", 0, 64)
    scales, zeros = (
        tuple(strict.number(number, f"{fields.where}.{key}") for number in fields.items(key))
        for key in ("scales", "zeros")
    )
    return FeatureMap(height, width, channels, gutter, views, scales, zeros)


def _view(data: Any, where: str) -> View:
    entries = strict.items(data, where)
    if len(entries) != 3:
        raise BundleError(f"{where}: expected [texture, x, y]")
    x, y = (strict.integer(entry, where, 0, MAX_SIDE) for entry in entries[1:])
    return View(strict.text(entries[0], where), x, y)


def _scale(fields: Fields) -> float:
    scale = fields.number("scale", low=0.0)
    if scale == 0:
        raise BundleError(f"{fields.where}: 'scale' is 0, not positive")
    return scale


def _input(data: Any) -> Input:
    fields = Fields(data, "input")
    value = Input(
        fields.text("texture"),
        fields.integer("size", 1, MAX_SIDE),
        fields.integer("x", 0, MAX_SIDE),
        fields.integer("y", 0, MAX_SIDE),
        fields.text("preprocessing", one_of=(PREPROCESSING,)),
    )
    fields.done()
    return value


def _limits(data: Any) -> Limits:
    fields = Fields(data, "limits")
    limits = Limits(
        fields.integer("texture_units", 1, 32),
        fields.integer("texture_size", 1, MAX_SIDE),
        fields.integer("fragment_uniform_vectors", 0, 4096),
        fields.integer("varying_vectors", 1, 32),
        fields.integer("vertex_attributes", 1, 32),
    )
    fields.done()
    return limits


def _texture(data: Any, where: str) -> Texture:
    fields = Fields(data, where)
    name, kind = fields.text("name"), fields.text("kind", one_of=KINDS)
    width, height = fields.integer("width", 1, MAX_SIDE), fields.integer("height", 1, MAX_SIDE)
    clear = (0, 0, 0, 0)
    if kind == "target":
        bytes_ = [strict.integer(one, f"{where}: 'clear'", 0, 255) for one in fields.items("clear")]
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
        fields.integer("varyings", 1, 7),
        {
            _identifier(key, f"{where}: 'uniforms'"): strict.integer(
                value, f"{where}.uniforms['{key:.60}']", 1, 1 << 14
            )
            for key, value in fields.mapping("uniforms").items()
        },
    )
    fields.done()
    return program


def _pass(data: Any, where: str) -> Pass:
    fields = Fields(data, where)
    layer, program, target = fields.text("layer"), fields.text("program"), fields.text("target")
    clear, textures = fields.boolean("clear"), fields.texts("textures")
    sources = tuple(_source(one, f"{where}.sources[{i}]") for i, one in enumerate(fields.items("sources")))
    quads = tuple(_quad(one, len(sources), f"{where}.quads[{i}]") for i, one in enumerate(fields.items("quads")))
    uniforms = {
        _identifier(key, f"{where}: 'uniforms'"): _uniform(value, f"{where}.uniforms['{key:.60}']")
        for key, value in fields.mapping("uniforms").items()
    }
    fields.done()
    return Pass(layer, program, target, clear, textures, sources, quads, uniforms)


def _source(data: Any, where: str) -> Source:
    entries = strict.items(data, where)
    if len(entries) != 3:
        raise BundleError(f"{where}: expected [unit, stride x, stride y]")
    return Source(
        strict.integer(entries[0], where, 0, 31), strict.number(entries[1], where), strict.number(entries[2], where)
    )


def _quad(data: Any, sources: int, where: str) -> Quad:
    # An origin may lie before the texture: where windows begin in the padding.
    entries = [
        strict.integer(entry, where, 0 if i < 4 else -MAX_SIDE, MAX_SIDE)
        for i, entry in enumerate(strict.items(data, where))
    ]
    if len(entries) != 4 + 2 * sources:
        raise BundleError(
            f"{where}: {len(entries)} numbers; x, y, width, height and 2 for each source are {4 + 2 * sources}"
        )
    return Quad(entries[0], entries[1], entries[2], entries[3], tuple(zip(entries[4::2], entries[5::2])))


def _uniform(data: Any, where: str) -> UniformValue:
    entries = strict.items(data, where)
    if entries and isinstance(entries[0], str):
        if len(entries) != 3:
            raise BundleError(f"{where}: expected [member, offset, count]")
        offset, count = strict.integer(entries[1], where, 0, 1 << 28), strict.integer(entries[2], where, 4, 1 << 14)
        if count % 4:
            raise BundleError(f"{where}: {count} numbers are no whole vec4s")
        return Slice(entries[0], offset, count)
    if not 1 <= len(entries) <= 4:
        raise BundleError(f"{where}: {len(entries)} numbers; 1 to 4 can stand in a pass")
    return tuple(strict.number(entry, where) for entry in entries)


def _output(data: Any, where: str) -> Output:
    fields = Fields(data, where)
    name, value = fields.text("name", one_of=("logits", "image")), _value_fields(fields)
    fields.done()
    if name == "logits" and isinstance(value, FixedPoint) and value.columns == 0:
        return Output(name, value)
    if name == "image" and isinstance(value, FeatureMap):
        return Output(name, value)
    raise BundleError(f"{where}: '{name}' must be a vector in fixed point if 'logits', an 8-bit map if 'image'")


def _probe(data: Any) -> Probe:
    fields = Fields(data, "probe")
    layers = []
    for i, one in enumerate(fields.items("layers")):
        entry = Fields(one, f"probe.layers[{i}]")
        layers.append(
            ProbeLayer(
                entry.text("layer"),
                entry.integer("offset", 0, 1 << 28),
                entry.integer("count", 1, MAX_COUNT),
                entry.number("max_error", low=0.0),
                entry.number("mean_error", low=0.0),
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
