"""Consistency checks of a manifest, on which runners rely.

Size limits let an untrusted file cause an error instead of exhausting the memory. ``format_constants`` has them, and so
do the readers in Java and TypeScript. Each limit, except for the dimensions, is at least eight times the need of the
largest exports tried (X22 at 385x385). They also bound the reader's work: its memory per pair of layers and its
multiplications per weight.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from typing import TypeVar

from glsl_infer.bundle.format_constants import (
    MAX_DRAWN_TEXELS,
    MAX_LAYERS,
    MAX_NUMBER,
    MAX_PASSES,
    MAX_PROGRAMS,
    MAX_QUADS,
    MAX_RESULT,
    MAX_SHADER_BYTES,
    MAX_TEXTURE_BYTES,
    MAX_TEXTURES,
)
from glsl_infer.bundle.manifest import CLASSES, PICTURE, Input, Limits, Manifest, Output
from glsl_infer.bundle.rules import rule
from glsl_infer.errors import BundleError
from glsl_infer.program import PRELUDE, Pass, ShaderProgram, Slice, Texture
from glsl_infer.program.layout import FixedMap, FixedPoint, SixteenBitMap, Value, slices_of, textures_of
from glsl_infer.program.templates import MAX_VARYINGS
from glsl_infer.program.texels import shape_of

LABELS = "labels.txt"
GRAPH = "graph.json"
INPUT = "input"
"""Kind of the textures for uploads."""

Named = TypeVar("Named", Texture, ShaderProgram, Input, Output)


def check(manifest: Manifest, sizes: Mapping[str, int]) -> None:
    """Refuse a manifest whose parts contradict one another.

    Args:
        manifest: the result of ``manifest_json.from_json``.
        sizes: bytes of every member.

    Raises:
        BundleError: names the first wrong part.
    """
    with rule("caps"):
        check_caps(manifest, sizes)
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
        raise BundleError("the manifest has no passes")
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
    """Refuse a pass whose names, textures, quads or uniforms do not fit its program and its target."""
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
            raise BundleError(f"{where}: a quad is outside its target")
    _check_uniforms(entry, where, program, sizes)


def _check_uniforms(entry: Pass, where: str, program: ShaderProgram, sizes: Mapping[str, int]) -> None:
    """Refuse uniforms that a program does not have, of another length, or beyond the end of their member."""
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


def check_value(value: Value, where: str, textures: Mapping[str, Texture]) -> None:
    """Refuse a value of another size than its textures; ``where`` names it in messages."""
    if isinstance(value, FixedPoint):
        texture = textures.get(value.texture)
        if texture is None or value.size[0] > texture.width or value.size[1] > texture.height:
            raise BundleError(f"{where}: its values do not fit texture '{value.texture}'")
        return
    if isinstance(value, FixedMap):
        fits = value.channels % 4 == 0 and len(value.views) == value.channels // 2
    else:
        fits = len(value.views) == slices_of(value.channels, 2 if isinstance(value, SixteenBitMap) else 4)
        if len(value.scales) not in (1, value.channels) or len(value.zeros) not in (1, value.channels):
            raise BundleError(
                f"{where}: {len(value.scales)} scales, {len(value.zeros)} zeros; give one, or one a channel"
            )
        if 0.0 in value.scales:
            raise BundleError(f"{where}: a scale is 0")
        if value.largest > MAX_NUMBER:
            raise BundleError(f"{where}: scales and zeros give values beyond {MAX_NUMBER:g}")
    if not fits:
        raise BundleError(f"{where}: {len(value.views)} views for {value.channels} channels")
    for view in value.views:
        texture = textures.get(view.texture)
        if texture is None or view.x + value.width > texture.width or view.y + value.height > texture.height:
            raise BundleError(f"{where}: a view is outside its texture")


def check_inputs(manifest: Manifest, textures: Mapping[str, Texture]) -> None:
    """Refuse inputs that do not fit their textures, and ``input`` textures without an input or with two."""
    owner: dict[str, str] = {}
    for entry in manifest.inputs:
        where = f"input '{entry.name}'"
        check_value(entry.value, where, textures)
        for name in entry.textures:
            texture = textures[name]
            if texture.kind != INPUT:
                raise BundleError(f"{where}: texture '{name}' is of kind '{texture.kind}', not '{INPUT}'")
            if name in owner:
                raise BundleError(f"{where}: texture '{name}' belongs to input '{owner[name]}' too; give each its own")
            if entry.kind == PICTURE and entry.channels != 4 and any(texture.clear):
                raise BundleError(
                    f"{where}: texture '{name}' of a picture without alpha must have 'clear' [0, 0, 0, 0]"
                )
            owner[name] = entry.name
    unused = [texture.name for texture in textures.values() if texture.kind == INPUT and texture.name not in owner]
    if unused:
        raise BundleError(f"texture '{unused[0]}' is of kind '{INPUT}', but belongs to no input; leave it out")


def check_outputs(manifest: Manifest, textures: Mapping[str, Texture], written: set[str]) -> None:
    """Refuse outputs that do not fit their textures or are never drawn, and a second output for classes."""
    for output in manifest.outputs:
        where = f"output '{output.name}'"
        for value in output.values:
            check_value(value, where, textures)
            _check_drawn(value, where, written)
    classes = [output.name for output in manifest.outputs if output.purpose == CLASSES]
    if len(classes) > 1:
        raise BundleError(f"outputs '{classes[0]}' and '{classes[1]}' are both for '{CLASSES}'; at most one may be")


def check_probe(
    manifest: Manifest, textures: Mapping[str, Texture], written: set[str], sizes: Mapping[str, int]
) -> None:
    """Refuse a probe without exactly one entry for each layer and each output, or with missing records."""
    names = manifest.layers
    entries = Counter(layer.layer for layer in manifest.probe.layers)
    wrong = [name for name in (*names, *entries) if name not in names or entries[name] != 1]
    if wrong:
        raise BundleError(f"probe: layer '{wrong[0]}' is not drawn, or has not exactly one entry")
    for layer in manifest.probe.layers:
        where = f"probe: layer '{layer.layer}'"
        check_value(layer.value, where, textures)
        views = not isinstance(layer.value, FixedPoint)  # only views can be in an input texture
        _check_drawn(
            layer.value, where, {name for name in textures if views and textures[name].kind == INPUT} | written
        )
        if 8 * (layer.offset + layer.count) > sizes[manifest.probe.member]:
            raise BundleError(f"probe: the texels of layer '{layer.layer}' end beyond the member")
    if len(manifest.probe.outputs) != len(manifest.outputs):
        raise BundleError(
            f"probe: {len(manifest.probe.outputs)} outputs, where the model has {len(manifest.outputs)}; give one each"
        )
    for output, expected in zip(manifest.outputs, manifest.probe.outputs):
        count = probed_numbers(output)
        if len(expected.numbers) != count:
            raise BundleError(f"probe: {len(expected.numbers)} numbers of output '{output.name}', not {count}")


def probed_numbers(output: Output) -> int:
    """Return the number of the probe's values for an output: all values of a single vector, otherwise 0."""
    value = output.values[0]
    return value.length if len(output.values) == 1 and isinstance(value, FixedPoint) else 0


def _check_drawn(value: Value, where: str, written: set[str]) -> None:
    undrawn = [name for name in textures_of(value) if name not in written]
    if undrawn:
        raise BundleError(f"{where}: nothing is drawn into texture '{undrawn[0]}', where its output should be")


def check_caps(manifest: Manifest, sizes: Mapping[str, int]) -> None:
    """Refuse a manifest that exceeds a limit.

    Args:
        manifest: the result of ``manifest_json.from_json``; its parts have not been checked against each other.
        sizes: bytes of every member.

    Raises:
        BundleError: a limit is exceeded; names the quantity and the limit.
    """
    texels = sum(texture.width * texture.height for texture in manifest.textures)
    quads = [quad for entry in manifest.passes for quad in entry.quads]
    # Sizes of inputs can exceed the textures, because views can overlap.
    input_sizes = [math.prod(entry.shape) for entry in manifest.inputs]
    output_sizes = [sum(math.prod(shape_of(value)) for value in output.values) for output in manifest.outputs]
    for subject, count, cap in (
        ("layers", len(manifest.layers), MAX_LAYERS),
        ("textures", len(manifest.textures), MAX_TEXTURES),
        ("programs", len(manifest.programs), MAX_PROGRAMS),
        ("passes", len(manifest.passes), MAX_PASSES),
        ("quads", len(quads), MAX_QUADS),
        ("bytes of textures", 4 * texels, MAX_TEXTURE_BYTES),
        ("numbers in an input", max(input_sizes, default=0), MAX_RESULT),
        ("numbers in an output", max(output_sizes, default=0), MAX_RESULT),
        ("texels drawn in a frame", sum(quad.width * quad.height for quad in quads), MAX_DRAWN_TEXELS),
    ):
        if count > cap:
            raise BundleError(f"{count} {subject}; a model has at most {cap}")
    for name, size in sizes.items():
        if name.startswith("shaders/") and size > MAX_SHADER_BYTES:
            raise BundleError(f"member '{name}' has {size} bytes of GLSL; a shader has at most {MAX_SHADER_BYTES}")
