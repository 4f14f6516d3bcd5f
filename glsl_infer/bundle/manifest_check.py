"""Consistency checks of a manifest, so that a runner can rely on its parts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from glsl_infer.bundle import caps
from glsl_infer.bundle.ends_check import check_inputs, check_outputs, check_probe
from glsl_infer.bundle.manifest import Input, Limits, Manifest, Output
from glsl_infer.bundle.rules import rule
from glsl_infer.errors import BundleError
from glsl_infer.program import PRELUDE, Pass, ShaderProgram, Slice, Texture
from glsl_infer.program.layout import slices_of
from glsl_infer.program.templates import MAX_VARYINGS

LABELS = "labels.txt"
GRAPH = "graph.json"

Named = TypeVar("Named", Texture, ShaderProgram, Input, Output)


def check(manifest: Manifest, sizes: Mapping[str, int]) -> None:
    """Refuse a manifest whose parts contradict one another.

    Args:
        manifest: the result of ``manifest_json.from_json``.
        sizes: bytes of every member.

    Raises:
        BundleError: names the first part that does not fit.
    """
    with rule("caps"):
        caps.check(manifest, sizes)
    with rule("unique names"):
        textures = _by_name(manifest.textures, "texture")
        programs = _by_name(manifest.programs, "program")
        _by_name(manifest.inputs, "input")
        _by_name(manifest.outputs, "output")
    for name in (GRAPH, PRELUDE, LABELS, manifest.probe.member):
        _member(name, sizes)
    with rule("textures"):
        for texture in textures.values():
            _check_texture(texture, sizes)
    for program in programs.values():
        _member(program.vertex, sizes)
        _member(program.fragment, sizes)
    with rule("uniforms"):
        for name in manifest.floats:
            if _member(name, sizes) % 4 or not name.endswith(".f32"):
                raise BundleError(f"floats: member '{name}' holds no 32-bit floats; name *.f32 members of whole floats")
    with rule("passes"):
        written = _check_passes(manifest, textures, programs, sizes)
    with rule("inputs"):
        check_inputs(manifest, textures)
    with rule("outputs"):
        check_outputs(manifest, textures, written)
    with rule("probe"):
        check_probe(manifest, textures, written, sizes)
    needed = needed_limits(manifest.textures, manifest.programs)
    if manifest.limits != needed:
        raise BundleError(f"limits are {manifest.limits}, but the contents need {needed}", "limits")


def needed_limits(textures: tuple[Texture, ...], programs: tuple[ShaderProgram, ...]) -> Limits:
    """Return the requirements of textures and programs on a driver (uniforms in vec4, each rounded up)."""
    return Limits(
        texture_units=max(len(program.samplers) for program in programs),
        texture_size=max(max(texture.width, texture.height) for texture in textures),
        fragment_uniform_vectors=max(sum(slices_of(n) for n in program.uniforms.values()) for program in programs),
        varying_vectors=max(program.varyings for program in programs),
        vertex_attributes=1 + max(program.varyings for program in programs),
    )


def _by_name(entries: tuple[Named, ...], kind: str) -> dict[str, Named]:
    by_name: dict[str, Named] = {}
    for entry in entries:
        if entry.name in by_name:
            raise BundleError(f"two {kind}s are called '{entry.name}'; give each its own name")
        by_name[entry.name] = entry
    if not by_name:
        raise BundleError(f"there is no {kind}; a model has 1 or more", f"{kind}s")
    return by_name


def _member(name: str, sizes: Mapping[str, int]) -> int:
    if name not in sizes:
        raise BundleError(f"member '{name}' is missing; export the model again", "members")
    return sizes[name]


def _check_texture(texture: Texture, sizes: Mapping[str, int]) -> None:
    if (texture.kind == "constant") != (texture.member is not None):
        raise BundleError(f"texture '{texture.name}': a member belongs to constant textures, and only to those")
    if texture.member is not None and _member(texture.member, sizes) != 4 * texture.width * texture.height:
        raise BundleError(f"texture '{texture.name}': its member has not 4 bytes for each of its texels")


def _check_passes(
    manifest: Manifest, textures: Mapping[str, Texture], programs: Mapping[str, ShaderProgram], sizes: Mapping[str, int]
) -> set[str]:
    """Check every pass, and return the names of the render targets."""
    if not manifest.passes:
        raise BundleError("there is no pass")
    written: set[str] = set()
    drawn: set[tuple[str, str]] = set()
    previous = None
    for index, entry in enumerate(manifest.passes):
        where = f"pass {index} (layer '{entry.layer}')"
        _check_pass(entry, where, textures, programs, sizes)
        unwritten = [t for t in entry.textures if textures[t].kind == "target" and t not in written]
        if unwritten:
            raise BundleError(f"{where}: reads texture '{unwritten[0]}' before anything is drawn into it")
        if entry.clear != (previous is None or previous != entry.target):
            raise BundleError(f"{where}: 'clear' must be true exactly where the target changes")
        if entry.clear and (entry.layer, entry.target) in drawn:
            raise BundleError(f"{where}: clears '{entry.target}', into which the layer has drawn before")
        drawn.add((entry.layer, entry.target))
        written.add(entry.target)
        previous = entry.target
    return written


def _check_pass(
    entry: Pass,
    where: str,
    textures: Mapping[str, Texture],
    programs: Mapping[str, ShaderProgram],
    sizes: Mapping[str, int],
) -> None:
    if entry.program not in programs:
        raise BundleError(f"{where}: no program is called '{entry.program}'")
    unknown = [name for name in (*entry.textures, entry.target) if name not in textures]
    if unknown:
        raise BundleError(f"{where}: no texture is called '{unknown[0]}'")
    program, target = programs[entry.program], textures[entry.target]
    if target.kind != "target" or entry.target in entry.textures:
        raise BundleError(f"{where}: '{entry.target}' is read in the same pass, or no target at all")
    if len(entry.textures) != len(program.samplers) or any(
        source.unit >= len(entry.textures) for source in entry.sources
    ):
        raise BundleError(f"{where}: its textures do not fit the samplers of program '{program.name}'")
    if (len(entry.sources) + 1) // 2 != program.varyings or program.varyings > MAX_VARYINGS:
        raise BundleError(f"{where}: {len(entry.sources)} sources do not fit {program.varyings} varyings")
    if not entry.quads:
        raise BundleError(f"{where}: draws nothing")
    for quad in entry.quads:
        inside = quad.x + quad.width <= target.width and quad.y + quad.height <= target.height
        if quad.width < 1 or quad.height < 1 or not inside:
            raise BundleError(f"{where}: a quad lies outside the target")
    _check_uniforms(entry, where, program, sizes)


def _check_uniforms(entry: Pass, where: str, program: ShaderProgram, sizes: Mapping[str, int]) -> None:
    if set(entry.uniforms) != set(program.uniforms):
        raise BundleError(f"{where}: its uniforms are not those of program '{program.name}'", "uniforms")
    for name, value in entry.uniforms.items():
        count = value.count if isinstance(value, Slice) else len(value)
        if count != program.uniforms[name]:
            raise BundleError(
                f"{where}: uniform '{name}' has {count} numbers, not {program.uniforms[name]}", "uniforms"
            )
        if isinstance(value, Slice):
            size = _member(value.member, sizes)
            if not value.member.endswith(".f32") or size % 4:
                raise BundleError(
                    f"{where}: uniform '{name}': member '{value.member}' holds no 32-bit floats", "uniforms"
                )
            if 4 * (value.offset + value.count) > size:
                raise BundleError(f"{where}: uniform '{name}' ends beyond its member", "uniforms")
