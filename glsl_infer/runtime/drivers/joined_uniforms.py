"""Joins the uniforms that differ between the draws of a program, so that one call sets them before a draw.

On a Raspberry Pi, a frame's GL calls take a large part of its CPU time. A convolution with weights in uniforms has an
array of weights and further uniforms for each slice. Here they become the last elements of the array. The shader reads
the same floats, so the stored bytes do not change.

A session joins uniforms on VideoCore IV, where shaders have the most of them. The bundle itself does not change.
"""

from __future__ import annotations

import struct
from collections import ChainMap, Counter
from collections.abc import Mapping, Sequence
from typing import cast

from glsl_infer.bundle import Bundle
from glsl_infer.bundle.manifest import Manifest
from glsl_infer.program import Pass, ShaderProgram, Slice, UniformValue
from glsl_infer.support.records import dataclass, replace

UNIFORM = "joined_uniforms"
"""Name of the array in rewritten shaders."""

MEMBER = "joined-uniforms.f32"
"""Name of the member with the array's values; members of a file never have this name."""

_TYPES = ("float", "vec2", "vec3", "vec4")
_BEFORE_NAMES = (*(f"{word} " for word in (*_TYPES, "define", "int", "bool", "mat2", "mat3", "mat4")), ".")
"""Text before a name that is declared or selected."""


@dataclass(frozen=True)
class _Array:
    """The array of a program.

    Attributes:
        places: index of the first float of each joined uniform, by name.
        vectors: length in vec4.
    """

    places: Mapping[str, int]
    vectors: int


def joined(bundle: Bundle) -> Bundle:
    """Return a bundle that draws the same bytes, with one call for the uniforms of most draws."""
    manifest = bundle.manifest
    texts = Counter(program.fragment for program in manifest.programs)
    different = _different(manifest.passes)
    members, arrays, programs = dict[str, bytes](), dict[str, _Array](), list[ShaderProgram]()
    for program in manifest.programs:
        names = different.get(program.name, [])
        if len(names) > 1 and texts[program.fragment] == 1:
            text, array = _rewritten(bundle.members[program.fragment].decode("utf-8"), program.uniforms, names)
            if len(array.places) > 1:
                arrays[program.name] = array
                members[program.fragment] = text.encode("utf-8")
        programs.append(_with_uniforms(program, arrays[program.name]) if program.name in arrays else program)
    if not arrays:
        return bundle
    values = _Values({name: bundle.members[name] for name in manifest.floats})
    passes = [
        _with_array(draw, arrays[draw.program], values) if draw.program in arrays else draw for draw in manifest.passes
    ]
    members[MEMBER] = b"".join(values.rows)
    changed = Manifest(
        manifest.name,
        manifest.inputs,
        manifest.limits,
        manifest.textures,
        tuple(programs),
        (*manifest.floats, MEMBER),
        tuple(passes),
        manifest.outputs,
        manifest.probe,
        manifest.members,
    )
    # The cast is for the type of ChainMap: the bundle's members are read-only.
    all_members = ChainMap(members, cast("dict[str, bytes]", bundle.members))
    return replace(bundle, manifest=changed, members=all_members)


def _different(passes: Sequence[Pass]) -> dict[str, list[str]]:
    """Return the uniforms that differ between draws of a program, by program. The others are set once."""
    first: dict[str, Mapping[str, UniformValue]] = {}
    different: dict[str, list[str]] = {}
    for draw in passes:
        values = first.setdefault(draw.program, draw.uniforms)
        if values is draw.uniforms:
            continue
        names = different.setdefault(draw.program, [])
        names += [name for name, value in draw.uniforms.items() if name not in names and value != values[name]]
    return different


def _rewritten(text: str, sizes: Mapping[str, int], names: Sequence[str]) -> tuple[str, _Array]:
    """Return a shader that reads uniforms from the array: at most one array, which comes first, and vectors.

    Args:
        text: the shader.
        sizes: number of floats of each uniform.
        names: of the uniforms.
    """
    declared = {} if UNIFORM in text else _declared(text)
    joinable = [name for name in names if name in declared and _has_one_use(text, name)]
    arrays = [name for name in joinable if "[" in declared[name]]
    first = max(arrays, key=sizes.__getitem__, default=None)
    vectors = sorted((name for name in joinable if name not in arrays), key=lambda name: -sizes[name])
    places, end = dict[str, int](), 0
    for name in [*(name for name in arrays if name == first), *vectors]:
        if end % 4 + min(sizes[name], 4) > 4:
            end += 4 - end % 4
        places[name], end = end, end + sizes[name]
    for name, position in places.items():
        vector, lane = divmod(position, 4)
        lanes = "" if name == first else f"[{vector}].{'xyzw'[lane : lane + sizes[name]]}"
        text = text.replace(declared[name], f"#define {name} {UNIFORM}{lanes}")
    count = -(-end // 4)
    return f"uniform vec4 {UNIFORM}[{count}];\n{text}", _Array(places, count)


def _declared(text: str) -> dict[str, str]:
    """Return the declarations of uniform floats and vectors, and of arrays of vec4, by name."""
    declared = {}
    for line in f"\n{text}".split("\nuniform ")[1:]:
        declaration = line.partition(";")[0]
        glsl_type, _, name = declaration.partition(" ")
        name, bracket, _ = name.partition("[")
        if glsl_type in (("vec4",) if bracket else _TYPES):
            declared[name] = f"uniform {declaration};"
    return declared


def _has_one_use(text: str, name: str) -> bool:
    """Return whether a name is declared once. A macro replaces it everywhere, so no other variable can have it."""
    return sum([before.endswith(_BEFORE_NAMES) for before in text.split(name)[:-1]]) == 1


def _with_uniforms(program: ShaderProgram, array: _Array) -> ShaderProgram:
    uniforms = {name: count for name, count in program.uniforms.items() if name not in array.places}
    uniforms[UNIFORM] = 4 * array.vectors
    return ShaderProgram(program.name, program.vertex, program.fragment, program.samplers, program.varyings, uniforms)


class _Values:
    """Values of arrays, with equal ones stored once. They remain bytes, because small NumPy arrays delay a start.

    Args:
        floats: members with values of uniforms.

    Attributes:
        rows: positions of the arrays so far, by their bytes, in order.
    """

    def __init__(self, floats: Mapping[str, bytes]) -> None:
        self._floats, self._count = floats, 0
        self.rows: dict[bytes, Slice] = {}

    def slice(self, draw: Pass, array: _Array) -> Slice:
        """Return the array of a draw."""
        values = bytearray(16 * array.vectors)
        for name, position in array.places.items():
            data = self._bytes(draw.uniforms[name])
            values[4 * position : 4 * position + len(data)] = data
        row = bytes(values)
        if row not in self.rows:
            self.rows[row] = Slice(MEMBER, self._count, 4 * array.vectors)
            self._count += 4 * array.vectors
        return self.rows[row]

    def _bytes(self, value: UniformValue) -> bytes:
        if isinstance(value, Slice):
            return self._floats[value.member][4 * value.offset : 4 * (value.offset + value.count)]
        return struct.pack(f"<{len(value)}f", *value)


def _with_array(draw: Pass, array: _Array, values: _Values) -> Pass:
    uniforms = {name: value for name, value in draw.uniforms.items() if name not in array.places}
    uniforms[UNIFORM] = values.slice(draw, array)
    return Pass(draw.layer, draw.program, draw.target, draw.clear, draw.textures, draw.sources, draw.quads, uniforms)
