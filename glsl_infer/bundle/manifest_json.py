"""Conversion of the manifest to and from JSON.

Reading is strict. ``described`` refuses data outside the description in format.json; bundle.schema.json has the same
description for other tools. The functions below check rules between fields.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from glsl_infer.bundle.described import Described, FieldError, scalar, text
from glsl_infer.bundle.format_constants import FORMAT, PROFILE, RANGES, VERSION
from glsl_infer.bundle.manifest import (
    CLASSES,
    IMAGE,
    MASK,
    PICTURE,
    DelayedProbe,
    Input,
    Limits,
    Manifest,
    Output,
    Probe,
    ProbeLayer,
    ProbeOutput,
)
from glsl_infer.bundle.pass_table import Names, pack, unpack
from glsl_infer.bundle.rules import rule
from glsl_infer.errors import BundleError, pip_install
from glsl_infer.graph.host_steps import ROWS, HostStep
from glsl_infer.program import ShaderProgram, Texture
from glsl_infer.program.layout import FeatureMap, FixedMap, FixedPoint, SixteenBitMap, Value, View

CONSTANT = "constant"
PICTURE_CHANNELS = (1, 3, 4)
"""Numbers of channels of an uploaded picture: grey, colour, colour with alpha."""


def to_json(manifest: Manifest) -> dict[str, Any]:
    """Return the manifest as JSON data; ``pass_table`` has the passes."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "profile": PROFILE,
        "name": manifest.name,
        "inputs": [_input_to_json(entry) for entry in manifest.inputs],
        "limits": vars(manifest.limits),
        "textures": [_texture_to_json(texture) for texture in manifest.textures],
        "programs": [_program_to_json(program) for program in manifest.programs],
        "layers": list(manifest.layers),
        "floats": list(manifest.floats),
        "passes": {"count": len(manifest.passes), "quads": sum(len(entry.quads) for entry in manifest.passes)},
        "outputs": [_output_to_json(output) for output in manifest.outputs],
        "probe": {
            "formula": manifest.probe.formula,
            "member": manifest.probe.member,
            "layers": [{**vars(layer), "value": value_to_json(layer.value)} for layer in manifest.probe.layers],
            "outputs": [{**vars(output), "numbers": list(output.numbers)} for output in manifest.probe.outputs],
        },
        "members": dict(manifest.members),
    }


def _input_to_json(entry: Input) -> dict[str, Any]:
    fit = {} if entry.fit is None else {"fit": entry.fit}
    return {"name": entry.name, "kind": entry.kind, **fit, "value": value_to_json(entry.value)}


def _output_to_json(entry: Output) -> dict[str, Any]:
    values = [value_to_json(value) for value in entry.values]
    return {"name": entry.name, "purpose": entry.purpose, "values": values, "steps": steps_to_json(entry.steps)}


def _texture_to_json(texture: Texture) -> dict[str, Any]:
    entry: dict[str, Any] = {key: value for key, value in vars(texture).items() if value is not None and key != "clear"}
    return entry if texture.kind == CONSTANT else {**entry, "clear": list(texture.clear)}


def _program_to_json(program: ShaderProgram) -> dict[str, Any]:
    uniforms = [[name, count] for name, count in program.uniforms.items()]
    return {**vars(program), "samplers": list(program.samplers), "uniforms": uniforms}


def value_to_json(value: Value) -> dict[str, Any]:
    """Return the location of a value as JSON data."""
    entry = dict(vars(value))
    if not isinstance(value, FixedPoint):
        entry["views"] = [[view.texture, view.x, view.y] for view in value.views]
    if isinstance(value, SixteenBitMap):
        entry["bits"] = value.bits
    return {key: list(item) if isinstance(item, tuple) else item for key, item in entry.items()}


def steps_to_json(steps: tuple[HostStep, ...]) -> list[dict[str, Any]]:
    """Return host steps as JSON data."""
    return [{"step": step.step, **({"columns": step.columns} if step.step == ROWS else {})} for step in steps]


def pass_table(manifest: Manifest) -> bytes:
    """Return the member passes.bin."""
    return pack(manifest.passes, Names(manifest.layers, manifest.programs, manifest.textures, manifest.floats))


def from_json(data: Any, table: bytes, *, delay_probe: bool = False) -> Manifest:
    """Read a manifest from JSON data, strictly.

    Args:
        data: the content of manifest.json.
        table: the bytes of passes.bin.
        delay_probe: read the probe at its first use, for a bundle that has passed all checks before.

    Raises:
        BundleError: anything missing, unknown, of the wrong type, out of range, or of another version.
    """
    check_version(data)
    with rule("keys"):
        read = (WITHOUT_PROBE if delay_probe else READERS).read("manifest", data)
    name, inputs, limits, textures, programs, layers, floats, (count, quads), outputs, probe, members = read[3:]
    with rule("passes.bin"):
        passes = unpack(table, count, quads, Names(layers, programs, textures, floats))
    drawn = {entry.layer for entry in passes}
    idle = [layer for layer in layers if layer not in drawn]
    if idle:
        raise BundleError(f"layers: '{idle[0]}' has no pass; leave it out", "passes")
    return Manifest(name, inputs, limits, textures, programs, floats, passes, outputs, probe, members)


def check_version(data: Any, profiles: tuple[str, ...] = (PROFILE,)) -> None:
    """Check the three keys of every version.

    Args:
        data: the content of manifest.json.
        profiles: the accepted profiles.

    Raises:
        BundleError: another format, another version or another profile.
    """
    if not isinstance(data, dict):
        raise BundleError("manifest is not an object", "keys")
    with rule("version"):
        if data.get("format") != FORMAT:
            raise BundleError(
                f"manifest: 'format' is not '{FORMAT}': this is not a glsl-infer model; give a *.glslnn file"
            )
        version, profile = data.get("version"), data.get("profile")
        if isinstance(version, bool) or not isinstance(version, int):
            raise BundleError(f"manifest: 'version' is {version!r:.40}, not an integer")
        if version < VERSION:
            raise BundleError(
                f"the model has format version {version}, this program reads version {VERSION}; export it again"
            )
        if version > VERSION:
            raise BundleError(
                f"the model has format version {version}, this program reads up to {VERSION}; "
                f"update glsl-infer: git pull in its checkout, then {pip_install('.')}"
            )
        if profile not in profiles:
            has = " and ".join(profiles)
            raise BundleError(f"needs profile '{profile!s:.40}'; this runner has {has}; update the runner")


def _input(name: str, kind: str, fit: str | None, value: Value) -> Input:
    if kind == PICTURE:
        if not isinstance(value, FeatureMap) or len(value.views) != 1 or value.channels not in PICTURE_CHANNELS:
            raise FieldError("a picture is a feature map of 1, 3 or 4 channels with 1 view")
        if value.channels != 4 and value.gutter:
            raise FieldError(f"a picture of {value.channels} channels has a gutter of {value.gutter}, not 0")
    return Input(name, kind, value, fit)


def _output(name: str, purpose: str, values: tuple[Value, ...], steps: tuple[HostStep, ...]) -> Output:
    output = Output(name, purpose, values, steps)
    problem = purpose_problem(output, [isinstance(value, FeatureMap) for value in values])
    if problem:
        raise FieldError(problem)
    return output


def purpose_problem(output: Output, images: Sequence[bool]) -> str | None:
    """Return why an output's steps do not fit its values, or why its result does not fit its purpose; None if valid.

    Args:
        output: the output.
        images: for each value, whether it can be an image.
    """
    try:
        shape = output.shape
    except ValueError as error:
        return str(error)
    if output.purpose == CLASSES and len(shape) != 1:
        return f"the result has shape {shape}; '{CLASSES}' need a vector"
    if output.purpose == MASK and len(shape) not in (2, 3):
        return f"the result has shape {shape}; a '{MASK}' is (height, width) or (height, width, channels)"
    if output.purpose == IMAGE and (list(images) != [True] or output.steps):
        return f"an '{IMAGE}' is one 8-bit feature map without steps"
    return None


def _texture(name: str, width: int, height: int, kind: str, member: str | None, clear: Any) -> Texture:
    return Texture(name, width, height, kind, member, clear or (0, 0, 0, 0))


def _program(
    name: str, vertex: str, fragment: str, samplers: tuple[str, ...], varyings: int, pairs: Sequence[tuple[str, int]]
) -> ShaderProgram:
    uniforms = dict(pairs)
    if len(uniforms) != len(pairs):
        raise FieldError("'uniforms' has a name twice")
    for uniform, count in pairs:
        if count > 4 and count % 4:
            raise FieldError(f"uniform '{uniform:.60}' has {count} numbers; give 1 to 4, or whole vec4s")
    return ShaderProgram(name, vertex, fragment, samplers, varyings, uniforms)


def _sixteen_bit_map(*fields: Any) -> SixteenBitMap:
    return SixteenBitMap(*fields[:-1])  # bits are 16


def _whole_value(value: Value) -> Value:
    if isinstance(value, FixedPoint) and value.columns:
        raise FieldError(f"partial sums ('columns' {value.columns}); give a vector ('columns' 0) or a map")
    return value


_VIEW = [str, int, int]
_LEAST, _MOST = RANGES["coordinate"]


def _view(data: Any) -> View:
    """Read a view in a single function instead of by its description, because a file has thousands."""
    if type(data) is not list or [type(entry) for entry in data] != _VIEW:
        raise FieldError("expected [texture, x, y]")
    name, x, y = data
    if not (_LEAST <= x <= _MOST and _LEAST <= y <= _MOST):
        raise FieldError(f"expected [texture, x, y] with x and y from {_LEAST} to {_MOST}")
    return View(name if name.isascii() else text(name), x, y)


def _attribute(value: Any) -> Any:
    """Read an attribute of an operator: a number, a string, true, false, null, or a list of these, as a tuple."""
    return tuple([scalar(item) for item in value]) if isinstance(value, list) else scalar(value)


MAKE: Mapping[str, Any] = {
    "input": _input,
    "limits": Limits,
    "texture": _texture,
    "program": _program,
    "output": _output,
    "host_step": lambda step, columns: HostStep(step, columns or 0),
    "probe": Probe,
    "probe_layer": ProbeLayer,
    "probe_output": ProbeOutput,
    "fixed_point": FixedPoint,
    "fixed_map": FixedMap,
    "feature_map": FeatureMap,
    "fine_map": _sixteen_bit_map,
    "whole_value": _whole_value,
}
"""Constructors by the name of an object or a type."""

CUSTOM_READERS: Mapping[str, Any] = {"view": _view, "attribute": _attribute}
READERS = Described(MAKE, CUSTOM_READERS)


def _delayed_probe(data: Any) -> Probe:
    return DelayedProbe(lambda: READERS.read("probe", data, "manifest.probe"))


WITHOUT_PROBE = Described(MAKE, {**CUSTOM_READERS, "object probe": _delayed_probe})
