"""Merges programs that differ only in their shared coordinates, so that llvmpipe compiles fewer.

If the tiles read by a draw are in one row or one column of their texture, the exporter interpolates their common
coordinate once, which saves VideoCore IV instructions (``lowering.taps.Coordinates``). Layers with another pattern of
tiles then have another program. This module gives each fetch the coordinate of its own source. The float is identical,
because both are computed from the same numbers, and the sources of such programs often become equal.

A session merges programs on llvmpipe alone (docs/engineering/performance.md).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from glsl_infer.bundle import Bundle
from glsl_infer.program import Pass, ShaderProgram, Texture
from glsl_infer.support.records import replace

_FETCH = re.compile(r"(texture2D\(\w+, vec2\()coord(\d)\.([xz])(, (?:WAIT\()?)coord(\d)\.([yw])(\)+;)")
"""A fetch at purely interpolated coordinates: the varyings, and the half of each."""

Identity = tuple[str, str, tuple[str, ...], int, tuple[tuple[str, int], ...]]
"""Key of equal programs: the source, and the manifest's entry."""


def merged(bundle: Bundle) -> Bundle:
    """Return a bundle that draws the same bytes with at most as many programs."""
    manifest, members = bundle.manifest, dict(bundle.members)
    textures = {texture.name: texture for texture in manifest.textures}
    by_program: dict[str, list[Pass]] = {}
    for draw in manifest.passes:
        by_program.setdefault(draw.program, []).append(draw)
    alike: dict[Identity, list[ShaderProgram]] = {}
    for program in manifest.programs:
        text = members[program.fragment].decode("utf-8")
        text = _with_own(text, by_program.get(program.name, ()), textures)
        alike.setdefault(_identity(program, text), []).append(program)
    names: dict[str, str] = {}
    for (text, *_), programs in alike.items():
        names.update({program.name: programs[0].name for program in programs})
        if len(programs) > 1:  # a single program keeps its common coordinates
            members[programs[0].fragment] = text.encode("utf-8")
    passes = tuple(replace(draw, program=names[draw.program]) for draw in manifest.passes)
    merged = tuple(programs[0] for programs in alike.values())
    return replace(bundle, manifest=replace(manifest, programs=merged, passes=passes), members=members)


def _identity(program: ShaderProgram, text: str) -> Identity:
    return text, program.vertex, program.samplers, program.varyings, tuple(sorted(program.uniforms.items()))


def _with_own(text: str, passes: Sequence[Pass], textures: Mapping[str, Texture]) -> str:
    """Return a shader with fetch n at the coordinate of source n; unchanged if that coordinate could differ."""
    fetches = [
        (2 * int(match[2]) + (match[3] == "z"), 2 * int(match[5]) + (match[6] == "w"))
        for match in _FETCH.finditer(text)
    ]
    sources = {len(draw.sources) for draw in passes}
    if sources != {len(fetches)} or text.count("texture2D(") != len(fetches):
        return text
    if not all(_same(draw, textures, fetches) for draw in passes):
        return text
    indices = iter(range(len(fetches)))

    def with_own_coordinate(fetch: re.Match[str]) -> str:
        varying, second = divmod(next(indices), 2)
        x, y = "zw" if second else "xy"
        return f"{fetch[1]}coord{varying}.{x}{fetch[4]}coord{varying}.{y}{fetch[7]}"

    return _FETCH.sub(with_own_coordinate, text)


def _same(draw: Pass, textures: Mapping[str, Texture], fetches: list[tuple[int, int]]) -> bool:
    """Return whether fetch n of a pass, at the x of one source and the y of another, is at those of source n."""
    sizes = [textures[draw.textures[source.unit]] for source in draw.sources]
    for index, (x, y) in enumerate(fetches):
        if max(x, y) >= len(draw.sources):
            return False
        source, along_x, along_y = draw.sources[index], draw.sources[x], draw.sources[y]
        if (source.stride_x, sizes[index].width) != (along_x.stride_x, sizes[x].width):
            return False
        if (source.stride_y, sizes[index].height) != (along_y.stride_y, sizes[y].height):
            return False
        for quad in draw.quads:
            if quad.origins[index] != (quad.origins[x][0], quad.origins[y][1]):
                return False
    return True
