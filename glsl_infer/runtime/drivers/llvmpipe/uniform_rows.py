"""Stores uniform arrays as rows of one float texture, because llvmpipe compiles and draws fetches faster.

A bundle sets ``uniform vec4 weights[N]`` before each draw. Here each array that any draw sets is a row of a texture of
32-bit floats. Before a draw only the coordinate of the row is set, with as many calls, and the shader fetches the
elements. A fetch returns the same bits, so the stored bytes do not change.

A session rewrites the shaders on llvmpipe alone; the bundle itself has uniforms (performance.md).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from glsl_infer.bundle import Bundle
from glsl_infer.program import Pass, Slice, UniformValue
from glsl_infer.support.ndarray import NDArray
from glsl_infer.support.records import dataclass, replace

SAMPLER = "uniform_rows"
"""Name of the texture's uniform in rewritten shaders."""

LEAST_VECTORS = 2
"""Minimum length in vec4 of an array that becomes a row. A single vec4, as in shaders with weights in textures, is read
as fast from a uniform.
"""

MOST_VECTORS = 600
"""Maximum length in vec4 of an array that becomes a row. With more, Mesa 22.3's llvmpipe was wrong by up to half of the
range in some shaders (tests/gl/test_wide_conv2d.py), where constants in the source are right: it cannot do so many
fetches.
"""

MOST_BYTES = 64 << 20
"""Size limit of the texture; X22's takes 0.25 MB, Inception-ResNet's 57 MB. Slices can overlap, so that a small file
could otherwise need far more.
"""

_READ = r"\b{0}\[([^\[\]]*)\]"
_DECLARATION = r"(?m)^uniform vec4 {0}\[\w+\];"


@dataclass(frozen=True)
class Rows:
    """A bundle that draws the same bytes, and its additional texture.

    Attributes:
        bundle: with rewritten shaders, and with coordinates of rows where passes had arrays.
        values: float32 (height, width, 4), with zeros after the end of an array; None if all arrays stay uniforms and
            the bundle is unchanged.
    """

    bundle: Bundle
    values: NDArray[np.float32] | None


def with_rows(bundle: Bundle, largest: int) -> Rows:
    """Return a bundle with its uniform arrays in a texture.

    Args:
        bundle: the bundle to draw.
        largest: maximum width and height of a texture in texels. If the rows would exceed it or ``MOST_BYTES``, the
            longest arrays stay uniforms, which llvmpipe takes ten times as long to compile.
    """
    manifest, members = bundle.manifest, dict(bundle.members)
    arrays, slices, width = _that_fit(bundle, largest)
    if not slices:
        return Rows(bundle, None)
    values = np.zeros((len(slices), 4 * width), np.float32)
    for row, array in zip(values, slices):
        row[: array.count] = np.frombuffer(members[array.member], "<f4")[array.offset : array.offset + array.count]
    programs = []
    for program in manifest.programs:
        names = arrays[program.name]
        text = bundle.members[program.fragment].decode("utf-8")
        members[program.fragment] = rewritten(text, names, width).encode("utf-8")
        kept_uniforms = {name: count for name, count in program.uniforms.items() if name not in names}
        programs.append(replace(program, uniforms={**kept_uniforms, **{_row(name): 1 for name in names}}))
    middles = {array: ((index + 0.5) / len(slices),) for index, array in enumerate(slices)}
    passes = tuple(_with_coordinates(draw, arrays[draw.program], middles) for draw in manifest.passes)
    changed = replace(manifest, programs=tuple(programs), passes=passes)
    return Rows(replace(bundle, manifest=changed, members=members), values.reshape(len(slices), width, 4))


def rewritten(text: str, names: Sequence[str], width: int) -> str:
    """Return a shader that fetches the elements of some arrays from the texture.

    Args:
        text: the shader. It declares each array once, and otherwise only reads its elements.
        names: of the arrays.
        width: of the texture, in texels.
    """
    for index, name in enumerate(names):
        reader = [
            *([] if index else [f"uniform sampler2D {SAMPLER};"]),
            f"uniform float {_row(name)};",
            f"vec4 {_at(name)}(int k) {{",
            f"    return texture2D({SAMPLER}, vec2((float(k) + 0.5) * {1.0 / width:.9e}, {_row(name)}));",
            "}",
        ]
        before, after = re.split(_DECLARATION.format(name), text)
        # Macros above the declaration can read the array, because they are used after it.
        before, after = (re.sub(_READ.format(name), rf"{_at(name)}(\1)", source) for source in (before, after))
        text = before + "\n".join(reader) + after
    return text


def _arrays(bundle: Bundle) -> dict[str, list[str]]:
    """Return the arrays of each program that can become rows."""
    declared: dict[str, set[str]] = {}
    for draw in bundle.manifest.passes:
        declared.setdefault(draw.program, set()).update(
            name for name, value in draw.uniforms.items() if not isinstance(value, Slice)
        )
    return {
        program.name: [
            name
            for name, count in program.uniforms.items()
            if 4 * LEAST_VECTORS <= count <= 4 * MOST_VECTORS
            and name not in declared.get(program.name, ())
            and _only_read(bundle.members[program.fragment].decode("utf-8"), name)
        ]
        for program in bundle.manifest.programs
    }


def _that_fit(bundle: Bundle, largest: int) -> tuple[dict[str, list[str]], list[Slice], int]:
    """Return the arrays of each program that become rows, the rows, and the length of the longest in vec4."""
    arrays = _arrays(bundle)
    lengths = {program.name: program.uniforms for program in bundle.manifest.programs}
    widths = {lengths[program][name] // 4 for program, names in arrays.items() for name in names}
    for width in sorted(widths, reverse=True):
        fitting_arrays = {
            program: [name for name in names if lengths[program][name] <= 4 * width]
            for program, names in arrays.items()
        }
        rows = list(dict.fromkeys(_slices(bundle.manifest.passes, fitting_arrays)))
        if max(width, len(rows)) <= largest and 16 * width * len(rows) <= MOST_BYTES:
            return fitting_arrays, rows, width
    return arrays, [], 0


def _only_read(text: str, name: str) -> bool:
    """Return whether a shader declares an array of vec4 and only reads elements, without using this module's names."""
    code = re.sub(r"//[^\n]*", "", text)
    mentions, reads = re.findall(rf"\b{name}\b", code), re.findall(_READ.format(name), code)
    conflict = re.search(rf"\b({SAMPLER}|{_row(name)}|{_at(name)})\b", code)
    return len(re.findall(_DECLARATION.format(name), text)) == 1 and len(mentions) == len(reads) and conflict is None


def _slices(passes: Iterable[Pass], arrays: Mapping[str, Sequence[str]]) -> Iterable[Slice]:
    for draw in passes:
        for name, value in draw.uniforms.items():
            if isinstance(value, Slice) and name in arrays[draw.program]:
                yield value


def _with_coordinates(draw: Pass, names: Sequence[str], middles: Mapping[Slice, tuple[float, ...]]) -> Pass:
    uniforms: dict[str, UniformValue] = {}
    for name, value in draw.uniforms.items():
        if isinstance(value, Slice) and name in names:
            uniforms[_row(name)] = middles[value]
        else:
            uniforms[name] = value
    return replace(draw, uniforms=uniforms)


def _row(name: str) -> str:
    return f"{name}_row"


def _at(name: str) -> str:
    return f"{name}_at"
