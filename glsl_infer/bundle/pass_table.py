"""passes.bin: the draws of a frame as a binary table, specified in docs/reference/bundle-format.md.

As JSON, thousands of passes took megabytes, and most of the time for reading a bundle.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np

from glsl_infer.bundle.format_constants import GLSL_LIMITS, MAX_PASSES, MAX_QUADS, MAX_TABLE_BYTES, RANGES
from glsl_infer.errors import BundleError
from glsl_infer.program import Pass, Quad, ShaderProgram, Slice, Source, Texture, UniformValue
from glsl_infer.support.records import dataclass, replace

MEMBER = "passes.bin"
MAX_SIDE = RANGES["side"][1]

_HEAD = struct.Struct("<HHHBB")
_SOURCE = struct.Struct("<Bff")
_SLICE = struct.Struct("<HI")
_LITERAL, _FROM_MEMBER = 0, 1


@dataclass(frozen=True)
class Names:
    """Targets of the table's indices."""

    layers: Sequence[str]
    programs: Sequence[ShaderProgram]
    textures: Sequence[Texture]
    floats: Sequence[str]


def float_members(passes: Sequence[Pass]) -> tuple[str, ...]:
    """Return the members with values of uniforms, in alphabetical order."""
    values = (value for entry in passes for value in entry.uniforms.values())
    return tuple(sorted({value.member for value in values if isinstance(value, Slice)}))


def as_stored(entry: Pass) -> Pass:
    """Return a pass with its strides and uniforms rounded to 32-bit floats, as read back from the table."""
    return replace(
        entry,
        sources=tuple(Source(source.unit, *_rounded((source.stride_x, source.stride_y))) for source in entry.sources),
        uniforms={
            name: value if isinstance(value, Slice) else _rounded(value) for name, value in entry.uniforms.items()
        },
    )


def _rounded(numbers: Sequence[float]) -> tuple[float, ...]:
    return tuple(np.array(numbers, "<f4").tolist())


def pack(passes: Sequence[Pass], names: Names) -> bytes:
    """Return the table of passes; all their names are in ``names``."""
    layers = {name: index for index, name in enumerate(names.layers)}
    programs = {program.name: (index, program) for index, program in enumerate(names.programs)}
    textures = {texture.name: index for index, texture in enumerate(names.textures)}
    floats = {name: index for index, name in enumerate(names.floats)}
    parts: list[bytes] = []
    for entry in passes:
        index, program = programs[entry.program]
        parts.append(
            _HEAD.pack(layers[entry.layer], index, textures[entry.target], int(entry.clear), len(entry.textures))
        )
        parts.append(struct.pack(f"<{len(entry.textures)}H", *(textures[name] for name in entry.textures)))
        parts.append(bytes([len(entry.sources)]))
        parts += [_SOURCE.pack(source.unit, source.stride_x, source.stride_y) for source in entry.sources]
        parts.append(struct.pack("<I", len(entry.quads)))
        numbers = [
            [quad.x, quad.y, quad.width, quad.height, *(number for origin in quad.origins for number in origin)]
            for quad in entry.quads
        ]
        # Values beyond 16 bits become 32,767, which readers refuse. The export then reports too large a model.
        parts.append(np.clip(np.array(numbers), -(1 << 15), (1 << 15) - 1).astype("<i2").tobytes())
        for name in program.uniforms:
            value = entry.uniforms[name]
            if isinstance(value, Slice):
                parts.append(bytes([_FROM_MEMBER]) + _SLICE.pack(floats[value.member], value.offset))
            else:
                parts.append(bytes([_LITERAL]) + np.array(value, "<f4").tobytes())
    return b"".join(parts)


class _Bytes:
    """Sequential reader; its errors name the incomplete pass."""

    def __init__(self, data: bytes) -> None:
        self._data, self.at, self.where = data, 0, ""

    def take(self, count: int) -> bytes:
        end = self.at + count
        if end > len(self._data):
            raise BundleError(f"{self.where}: {MEMBER} ends within it")
        part, self.at = self._data[self.at : end], end
        return part

    def integer(self, width: int) -> int:
        return int.from_bytes(self.take(width), "little")

    def floats(self, count: int, most: int) -> tuple[float, ...]:
        numbers: tuple[float, ...] = struct.unpack(f"<{count}f", self.take(4 * count))  # too few to need an array
        for number in numbers:
            if not abs(number) <= most:  # also refuses NaN
                raise _not_finite(self.where)
        return numbers


def _not_finite(where: str) -> BundleError:
    return BundleError(f"{where}: a number that is not finite, or too large")


def unpack(data: bytes, count: int, quads: int, names: Names) -> tuple[Pass, ...]:
    """Return the passes of a table.

    Args:
        data: the bytes of the member.
        count: number of passes in the manifest.
        quads: number of quads of all passes in the manifest.
        names: the targets of indices.

    Raises:
        BundleError: names the wrong pass.
    """
    if count > MAX_PASSES or quads > MAX_QUADS:
        raise BundleError(f"{count} passes with {quads} quads; a model has at most {MAX_PASSES} and {MAX_QUADS}")
    if len(data) > MAX_TABLE_BYTES:
        raise BundleError(f"{MEMBER} has {len(data)} bytes; a model has at most {MAX_TABLE_BYTES}")
    source = _Bytes(data)
    quads_left = quads
    passes: list[Pass] = []
    for index in range(count):
        source.where = f"pass {index}"
        entry = _unpack_pass(source, names, quads_left)
        quads_left -= len(entry.quads)
        passes.append(entry)
    if quads_left:
        raise BundleError(f"{MEMBER}: {quads - quads_left} quads in {count} passes, but {quads} in the manifest")
    if source.at != len(data):
        raise BundleError(f"{MEMBER}: {len(data) - source.at} bytes are left over after pass {count - 1}")
    return tuple(passes)


def _unpack_pass(source: _Bytes, names: Names, quads_left: int) -> Pass:
    """Read a pass; ``quads_left`` is the number of quads in the manifest that earlier passes do not have.

    Raises:
        BundleError: an index or a number is out of range.
    """
    where = source.where
    layer, program_index, target, clear, texture_count = _HEAD.unpack(source.take(_HEAD.size))
    texture_indices = struct.unpack(f"<{texture_count}H", source.take(2 * texture_count))
    sources = _unpack_sources(source)
    quad_count = source.integer(4)
    if not 1 <= quad_count <= quads_left:
        raise BundleError(f"{where}: {quad_count} quads, where the manifest leaves {quads_left}")
    _require_index(where, "layer", layer, names.layers)
    _require_index(where, "program", program_index, names.programs)
    for texture_index in (target, *texture_indices):
        _require_index(where, "texture", texture_index, names.textures)
    if clear > 1:
        raise BundleError(f"{where}: 'clear' is {clear}, not 0 or 1")
    program = names.programs[program_index]
    return Pass(
        names.layers[layer],
        program.name,
        names.textures[target].name,
        bool(clear),
        tuple(names.textures[texture_index].name for texture_index in texture_indices),
        sources,
        _unpack_quads(source, quad_count, len(sources)),
        {name: _unpack_uniform(source, length, names.floats) for name, length in program.uniforms.items()},
    )


def _require_index(where: str, subject: str, index: int, targets: Sequence[object]) -> None:
    """Refuse an index beyond its targets."""
    if index >= len(targets):
        raise BundleError(f"{where}: {subject} {index} of {len(targets)}")


def _unpack_sources(source: _Bytes) -> tuple[Source, ...]:
    """Read the sources of a pass.

    Raises:
        BundleError: their number, a texture unit or a stride is out of range.
    """
    count = source.integer(1)
    least, most = RANGES["sources"]
    if not least <= count <= most:
        raise BundleError(f"{source.where}: {count} sources; {least} to {most} are possible")
    sources = []
    for unit, stride_x, stride_y in _SOURCE.iter_unpack(source.take(_SOURCE.size * count)):
        if not (abs(stride_x) <= MAX_SIDE and abs(stride_y) <= MAX_SIDE):
            raise _not_finite(source.where)
        if unit > RANGES["unit"][1]:
            raise BundleError(f"{source.where}: texture unit {unit}; 0 to {RANGES['unit'][1]} are possible")
        sources.append(Source(unit, stride_x, stride_y))
    return tuple(sources)


def _unpack_quads(source: _Bytes, count: int, sources: int) -> tuple[Quad, ...]:
    length = 4 + 2 * sources
    numbers = struct.unpack(f"<{length * count}h", source.take(2 * length * count))
    least = min([min(numbers[column::length]) for column in range(4)])
    if least < 0 or min(numbers) < -MAX_SIDE or max(numbers) > MAX_SIDE:
        raise BundleError(f"{source.where}: a quad beyond {MAX_SIDE} texels")
    origins = zip(*[zip(numbers[at::length], numbers[at + 1 :: length]) for at in range(4, length, 2)])
    return tuple(map(Quad, numbers[::length], numbers[1::length], numbers[2::length], numbers[3::length], origins))


def _unpack_uniform(source: _Bytes, length: int, floats: Sequence[str]) -> UniformValue:
    kind = source.integer(1)
    if kind == _LITERAL:
        return source.floats(length, GLSL_LIMITS["uniform"])
    if kind != _FROM_MEMBER:
        raise BundleError(f"{source.where}: a uniform of kind {kind}; 0 and 1 are possible")
    member, offset = _SLICE.unpack(source.take(_SLICE.size))
    if member >= len(floats):
        raise BundleError(f"{source.where}: member {member} of {len(floats)} with floats")
    return Slice(floats[member], offset, length)
