"""Whether the parts of a manifest fit together: what a runner may rely on without looking."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TypeVar

from glsl_infer.bundle import caps
from glsl_infer.bundle.manifest import Limits, Manifest
from glsl_infer.errors import BundleError
from glsl_infer.program import PRELUDE, Pass, ShaderProgram, Slice, Texture
from glsl_infer.program.layout import FixedMap, FixedPoint, Value, slices_of, textures_of
from glsl_infer.program.templates import MAX_VARYINGS

LABELS = "labels.txt"
GRAPH = "graph.json"

Named = TypeVar("Named", Texture, ShaderProgram)


def check(manifest: Manifest, sizes: Mapping[str, int]) -> None:
    """Refuse a manifest whose parts contradict one another.

    Args:
        manifest: what ``manifest_json.from_json`` returned.
        sizes: bytes of every member.

    Raises:
        BundleError: naming the first part that does not fit.
    """
    caps.check(manifest, sizes)
    textures = _unique(manifest.textures, "texture")
    programs = _unique(manifest.programs, "program")
    for name in (GRAPH, PRELUDE, LABELS, manifest.probe.member):
        _member(name, sizes)
    for texture in textures.values():
        _check_texture(texture, sizes)
    for program in programs.values():
        _member(program.vertex, sizes)
        _member(program.fragment, sizes)
    for name in manifest.floats:
        if _member(name, sizes) % 4 or not name.endswith(".f32"):
            raise BundleError(f"floats: member '{name}' holds no 32-bit floats")
    if not manifest.passes:
        raise BundleError("there is no pass")
    written: set[str] = set()
    drawn: set[tuple[str, str]] = set()
    previous = None
    for index, one in enumerate(manifest.passes):
        where = f"pass {index} (layer '{one.layer}')"
        _check_pass(one, where, textures, programs, sizes)
        unwritten = [t for t in one.textures if textures[t].kind == "target" and t not in written]
        if unwritten:
            raise BundleError(f"{where}: reads texture '{unwritten[0]}' before anything is drawn into it")
        if one.clear != (previous is None or previous != one.target):
            raise BundleError(f"{where}: 'clear' must be true exactly where the target changes")
        if one.clear and (one.layer, one.target) in drawn:
            raise BundleError(f"{where}: clears '{one.target}', into which the layer has drawn before")
        drawn.add((one.layer, one.target))
        written.add(one.target)
        previous = one.target
    _check_input(manifest, textures)
    _check_output(manifest, textures, written)
    _check_probe(manifest, textures, written, sizes)
    needed = needed_limits(manifest.textures, manifest.programs)
    if manifest.limits != needed:
        raise BundleError(f"limits are {manifest.limits}, but the contents need {needed}")


def needed_limits(textures: tuple[Texture, ...], programs: tuple[ShaderProgram, ...]) -> Limits:
    """Return what textures and programs need of a driver (uniforms in vec4, each rounded up)."""
    return Limits(
        texture_units=max(len(program.samplers) for program in programs),
        texture_size=max(max(texture.width, texture.height) for texture in textures),
        fragment_uniform_vectors=max(sum(slices_of(n) for n in program.uniforms.values()) for program in programs),
        varying_vectors=max(program.varyings for program in programs),
        vertex_attributes=1 + max(program.varyings for program in programs),
    )


def _unique(entries: tuple[Named, ...], kind: str) -> dict[str, Named]:
    by_name: dict[str, Named] = {}
    for entry in entries:
        if entry.name in by_name:
            raise BundleError(f"two {kind}s are called '{entry.name}'")
        by_name[entry.name] = entry
    if not by_name:
        raise BundleError(f"there is no {kind}")
    return by_name


def _member(name: str, sizes: Mapping[str, int]) -> int:
    if name not in sizes:
        raise BundleError(f"member '{name}' is missing")
    return sizes[name]


def _check_texture(texture: Texture, sizes: Mapping[str, int]) -> None:
    if (texture.kind == "constant") != (texture.member is not None):
        raise BundleError(f"texture '{texture.name}': a member belongs to constant textures, and only to those")
    if texture.member is not None and _member(texture.member, sizes) != 4 * texture.width * texture.height:
        raise BundleError(f"texture '{texture.name}': its member has not 4 bytes for each of its texels")


def _check_pass(
    one: Pass,
    where: str,
    textures: Mapping[str, Texture],
    programs: Mapping[str, ShaderProgram],
    sizes: Mapping[str, int],
) -> None:
    if one.program not in programs:
        raise BundleError(f"{where}: no program is called '{one.program}'")
    unknown = [name for name in (*one.textures, one.target) if name not in textures]
    if unknown:
        raise BundleError(f"{where}: no texture is called '{unknown[0]}'")
    program, target = programs[one.program], textures[one.target]
    if target.kind != "target" or one.target in one.textures:
        raise BundleError(f"{where}: '{one.target}' is read in the same pass, or no target at all")
    if len(one.textures) != len(program.samplers) or any(source.unit >= len(one.textures) for source in one.sources):
        raise BundleError(f"{where}: its textures do not fit the samplers of program '{program.name}'")
    if (len(one.sources) + 1) // 2 != program.varyings or program.varyings > MAX_VARYINGS:
        raise BundleError(f"{where}: {len(one.sources)} sources do not fit {program.varyings} varyings")
    if not one.quads:
        raise BundleError(f"{where}: draws nothing")
    for quad in one.quads:
        inside = quad.x + quad.width <= target.width and quad.y + quad.height <= target.height
        if quad.width < 1 or quad.height < 1 or not inside:
            raise BundleError(f"{where}: a quad lies outside the target")
    if set(one.uniforms) != set(program.uniforms):
        raise BundleError(f"{where}: its uniforms are not those of program '{program.name}'")
    for name, value in one.uniforms.items():
        count = value.count if isinstance(value, Slice) else len(value)
        if count != program.uniforms[name]:
            raise BundleError(f"{where}: uniform '{name}' has {count} numbers, not {program.uniforms[name]}")
        if isinstance(value, Slice):
            size = _member(value.member, sizes)
            if not value.member.endswith(".f32") or size % 4:
                raise BundleError(f"{where}: uniform '{name}': member '{value.member}' holds no 32-bit floats")
            if 4 * (value.offset + value.count) > size:
                raise BundleError(f"{where}: uniform '{name}' ends beyond its member")


def check_value(value: Value, where: str, textures: Mapping[str, Texture]) -> None:
    """Refuse a value that does not fit its textures; ``where`` names it in messages."""
    if isinstance(value, FixedPoint):
        texture = textures.get(value.texture)
        if texture is None or value.size[0] > texture.width or value.size[1] > texture.height:
            raise BundleError(f"{where}: its output does not fit its texture")
        return
    if isinstance(value, FixedMap):
        fits = value.channels % 4 == 0 and len(value.views) == value.channels // 2
    else:
        fits = len(value.views) == slices_of(value.channels)
        if len(value.scales) not in (1, value.channels) or len(value.zeros) not in (1, value.channels):
            raise BundleError(
                f"{where}: {len(value.scales)} scales, {len(value.zeros)} zeros; give one, or one a channel"
            )
        if 0.0 in value.scales:
            raise BundleError(f"{where}: a scale is 0")
    if not fits:
        raise BundleError(f"{where}: {len(value.views)} views for {value.channels} channels")
    for view in value.views:
        texture = textures.get(view.texture)
        if texture is None or view.x + value.width > texture.width or view.y + value.height > texture.height:
            raise BundleError(f"{where}: a view lies outside its texture")


def _check_input(manifest: Manifest, textures: Mapping[str, Texture]) -> None:
    if len(manifest.inputs) != 1:
        raise BundleError(f"{len(manifest.inputs)} inputs; this version has exactly one")
    entry = manifest.input
    picture = textures.get(entry.texture)
    if picture is None or picture.kind != "input":
        raise BundleError(f"input: no input texture is called '{entry.texture}'")
    check_value(entry.value, "input", textures)
    if entry.value.height != entry.value.width or entry.value.channels != 3:
        raise BundleError("input: the picture must be square with 3 channels")


def _check_output(manifest: Manifest, textures: Mapping[str, Texture], written: set[str]) -> None:
    if len(manifest.outputs) != 1:
        raise BundleError(f"{len(manifest.outputs)} outputs; this version has exactly one")
    output = manifest.outputs[0]
    check_value(output.value, f"output '{output.name}'", textures)
    undrawn = [name for name in textures_of(output.value) if name not in written]
    if undrawn:
        raise BundleError(f"output '{output.name}': nothing is drawn into texture '{undrawn[0]}'")
    if len(manifest.probe.logits) != (output.value.length if isinstance(output.value, FixedPoint) else 0):
        raise BundleError("probe: its logits do not fit the output")


def _check_probe(
    manifest: Manifest, textures: Mapping[str, Texture], written: set[str], sizes: Mapping[str, int]
) -> None:
    names = manifest.layers
    entries = Counter(layer.layer for layer in manifest.probe.layers)
    wrong = [name for name in (*names, *entries) if name not in names or entries[name] != 1]
    if wrong:
        raise BundleError(f"probe: layer '{wrong[0]}' is not drawn, or has not exactly one entry")
    for layer in manifest.probe.layers:
        where = f"probe: layer '{layer.layer}'"
        check_value(layer.value, where, textures)
        vector = isinstance(layer.value, FixedPoint)  # only views may lie in the picture
        undrawn = [
            name
            for name in textures_of(layer.value)
            if name not in written and (vector or textures[name].kind != "input")
        ]
        if undrawn:
            raise BundleError(f"{where}: nothing is drawn into texture '{undrawn[0]}', where its output should be")
        if 8 * (layer.offset + layer.count) > sizes[manifest.probe.member]:
            raise BundleError(f"probe: the texels of layer '{layer.layer}' end beyond the member")
