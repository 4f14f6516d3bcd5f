"""The manifest as JSON, both ways.

Reading is strict: unknown keys, missing ones, wrong types and numbers out of range are refused.
bundle.schema.json says the same for other tools.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, TypeVar

from glsl_infer.bundle import json_fields
from glsl_infer.bundle.ends_json import input_from_json, input_to_json, output_from_json, output_to_json
from glsl_infer.bundle.format_constants import (
    FORMAT,
    MAX_FLOATS,
    MAX_INPUTS,
    MAX_LAYERS,
    MAX_OUTPUTS,
    PROFILE,
    RANGES,
    VERSION,
)
from glsl_infer.bundle.json_fields import Fields
from glsl_infer.bundle.manifest import Manifest
from glsl_infer.bundle.parts_json import (
    limits_from_json,
    program_from_json,
    program_to_json,
    texture_from_json,
    texture_to_json,
)
from glsl_infer.bundle.pass_table import Names, pack, unpack
from glsl_infer.bundle.probe_json import probe_from_json, probe_to_json
from glsl_infer.bundle.rules import rule
from glsl_infer.errors import BundleError, pip_install

Part = TypeVar("Part")


def to_json(manifest: Manifest) -> dict[str, Any]:
    """Return the manifest as JSON data; ``pass_table`` has the passes."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "profile": PROFILE,
        "name": manifest.name,
        "inputs": [input_to_json(entry) for entry in manifest.inputs],
        "limits": vars(manifest.limits),
        "textures": [texture_to_json(texture) for texture in manifest.textures],
        "programs": [program_to_json(program) for program in manifest.programs],
        "layers": list(manifest.layers),
        "floats": list(manifest.floats),
        "passes": {"count": len(manifest.passes), "quads": sum(len(entry.quads) for entry in manifest.passes)},
        "outputs": [output_to_json(output) for output in manifest.outputs],
        "probe": probe_to_json(manifest.probe),
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
    with rule("keys"):
        name = fields.text("name")
        inputs = _parts(fields, "inputs", input_from_json, MAX_INPUTS)
        with rule("limits"):
            limits = limits_from_json(fields.any("limits"))
        textures = _parts(fields, "textures", texture_from_json)
        programs = _parts(fields, "programs", program_from_json)
        layers, floats = _unique(fields, "layers", MAX_LAYERS), _unique(fields, "floats", MAX_FLOATS)
        counts = Fields(fields.any("passes"), "passes")
        count, quads = counts.integer("count", *RANGES["passes"]), counts.integer("quads", *RANGES["quads"])
        counts.done()
        outputs = _parts(fields, "outputs", output_from_json, MAX_OUTPUTS)
        with rule("probe"):
            probe = probe_from_json(fields.any("probe"))
        members = {
            key: json_fields.text(value, f"members['{key:.60}']") for key, value in fields.mapping("members").items()
        }
        fields.done()
    with rule("passes.bin"):
        passes = unpack(table, count, quads, Names(layers, programs, textures, floats))
    drawn = {entry.layer for entry in passes}
    idle = [layer for layer in layers if layer not in drawn]
    if idle:
        raise BundleError(f"layers: '{idle[0]}' has no pass; leave it out", "passes")
    return Manifest(name, inputs, limits, textures, programs, floats, passes, outputs, probe, members)


def _parts(fields: Fields, key: str, read: Callable[[Any, str], Part], most: int | None = None) -> tuple[Part, ...]:
    """Read a list of parts under the rule of their name."""
    entries = fields.any(key)
    with rule(key):
        entries = json_fields.items(entries, f"{fields.where}: '{key}'")
        if most is not None and not 1 <= len(entries) <= most:
            raise BundleError(f"{len(entries)} {key}; a model has 1 to {most}")
        return tuple(read(entry, f"{key}[{i}]") for i, entry in enumerate(entries))


def _unique(fields: Fields, key: str, most: int) -> tuple[str, ...]:
    names = fields.texts(key)
    if len(names) > most:
        raise BundleError(f"{len(names)} {key}; a model has at most {most}", "caps")
    for name, count in Counter(names).items():
        if count > 1:
            raise BundleError(f"{key}: '{name:.60}' is there twice; give every entry its own name", "unique names")
    return names


def check_version(data: Any, profiles: tuple[str, ...] = (PROFILE,)) -> Fields:
    """Look at the three keys that every version has, and return the others.

    Args:
        data: what manifest.json holds.
        profiles: those that will do.

    Raises:
        BundleError: another format, a newer version or another profile.
    """
    with rule("keys"):
        fields = Fields(data, "manifest")
    with rule("version"):
        if fields.optional("format") != FORMAT:
            raise BundleError(
                f"manifest: 'format' is not '{FORMAT}': this is no glsl-infer model; give a *.glslnn file"
            )
        version = fields.integer("version", 1, 1 << 30)
        if version < VERSION:
            raise BundleError(
                f"the model has format version {version}, this program reads version {VERSION}; export it again"
            )
        if version > VERSION:
            raise BundleError(
                f"the model has format version {version}, this program reads up to {VERSION}; "
                f"update glsl-infer: git pull in its checkout, then {pip_install('.')}"
            )
        profile = fields.text("profile")
        if profile not in profiles:
            has = " and ".join(profiles)
            raise BundleError(f"needs profile '{profile:.40}'; this runner has {has}; update the runner")
    return fields
