"""A draw, its texture units and sampler names.

Operators list the views that they read. Whether these share a texture (atlas) or have one each (planar) is visible only
in the names that a ``Binding`` returns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from glsl_infer.errors import ModelError
from glsl_infer.graph import Node
from glsl_infer.lowering import codegen
from glsl_infer.program import Quad, Slice, Source, Texture
from glsl_infer.program.layout import View
from glsl_infer.program.templates import MAX_VARYINGS

Uniforms = Mapping[str, "Sequence[float] | Slice"]

MAX_TEXTURES = 8
"""Texture units guaranteed by ES 2.0."""

MAX_SOURCES = 2 * MAX_VARYINGS
"""Largest number of coordinates. Two share a vec4 varying."""


@dataclass(frozen=True)
class Read:
    """A texture coordinate: pixel p of the draw reads texel ``(x, y) + offset + stride * p`` of the view."""

    view: View
    offset: tuple[int, int] = (0, 0)
    stride: tuple[float, float] = (1.0, 1.0)


class Binding:
    """The reads of a draw, by roles such as ``source`` and ``residual``.

    Reads of a role share a sampler, named like the role, if they share a texture. Otherwise each read has its own
    sampler, ``source0``, ``source1`` ..., so that draws can share a program if they differ only in their textures. If
    that takes more than 8 units, each texture has one sampler. Tiles of one texture with different ``View.half`` count
    as several textures, because a shader has one distance for each sampler.

    Attributes:
        samplers: (name, texture) of each unit.
        sources: ``program.Source`` of each read.
        origins: texel of each read at the first pixel, as in ``program.Quad``.
        halves: ``View.half`` for each sampler.

    Raises:
        ModelError: the draw needs more textures or coordinates than ES 2.0 guarantees.
    """

    def __init__(self, layer: str, textures: Mapping[str, Texture], **roles: Sequence[Read]) -> None:
        roles = {role: reads for role, reads in roles.items() if reads}
        self.samplers: list[tuple[str, str]] = []
        self.sources: list[Source] = []
        self.origins: list[tuple[int, int]] = []
        self.halves: dict[str, int] = {}
        self._textures = textures
        self._first: dict[str, int] = {}
        self._sampler: dict[tuple[str, int], str] = {}
        share_samplers = sum(len(reads) if len(_distinct(reads)) > 1 else 1 for reads in roles.values()) > MAX_TEXTURES
        for role, reads in roles.items():
            self._first[role] = len(self.sources)
            distinct = _distinct(reads)
            if len(distinct) == 1:
                names = [(role, distinct[0][0])] * len(reads)
            elif share_samplers:
                names = [(f"{role}{distinct.index(_texture_and_half(read))}", read.view.texture) for read in reads]
            else:
                names = [(f"{role}{index}", read.view.texture) for index, read in enumerate(reads)]
            self.samplers += dict.fromkeys(names)
            for index, (read, pair) in enumerate(zip(reads, names)):
                self._sampler[role, index] = pair[0]
                self.halves[pair[0]] = read.view.half
                self.sources.append(Source(self.samplers.index(pair), *read.stride))
                self.origins.append((read.view.x + read.offset[0], read.view.y + read.offset[1]))
        if len(self.samplers) > MAX_TEXTURES or len(self.sources) > MAX_SOURCES:
            raise ModelError.layer(
                layer,
                f"one draw would read {len(self.sources)} slices in {len(self.samplers)} textures",
                f"at most {MAX_SOURCES} slices in {MAX_TEXTURES} textures are supported; use fewer channels"
                + (" or --layout atlas" if len(self.samplers) > MAX_TEXTURES else ""),
            )

    def coordinate(self, role: str, index: int = 0) -> str:
        """Return the expression of a read's texture coordinate."""
        return codegen.coordinate(self._first[role] + index)

    def axis(self, role: str, axis: str, index: int = 0) -> str:
        """Return the expression of the ``x`` or ``y`` of a read's texture coordinate."""
        vector, components = self.coordinate(role, index).split(".")
        return f"{vector}.{components['xy'.index(axis)]}"

    def count(self, role: str) -> int:
        """Return the number of reads in a role."""
        return sum(read_role == role for read_role, _ in self._sampler)

    def sampler(self, role: str, index: int = 0) -> str:
        """Return the name of a read's sampler."""
        return self._sampler[role, index]

    def first_with_same_coordinate(self, role: str, axis: str) -> tuple[int, ...]:
        """Return, for each read of a role, the index of the first read with the same ``x`` or ``y`` coordinate."""
        coordinates: dict[tuple[float, ...], int] = {}
        first = []
        for index in range(self.count(role)):
            source, origin = self.sources[self._first[role] + index], self.origins[self._first[role] + index]
            texture = self._textures[self.samplers[source.unit][1]]
            x, y = (origin[0], source.stride_x, texture.width), (origin[1], source.stride_y, texture.height)
            first.append(coordinates.setdefault({"x": x, "y": y}[axis], index))
        return tuple(first)

    def fetch(self, role: str, index: int = 0, tap: tuple[int, int] = (0, 0), shift: str = "") -> str:
        """Return the expression that fetches a texel at an offset from the read's coordinate.

        The offset is ``tap`` (x, y) in texels, or ``shift``, a vec2 expression.
        """
        return f"texture2D({self._sampler[role, index]}, {self.place(role, index, tap, shift)})"

    def place(self, role: str, index: int = 0, tap: tuple[int, int] = (0, 0), shift: str = "") -> str:
        """Return the expression of the coordinate of ``fetch``."""
        shift = f"vec2({tap[0]}.0, {tap[1]}.0)" if any(tap) else shift
        return self.coordinate(role, index) + (f" + {shift} * {self.texel(role, index)}" if shift else "")

    def texel(self, role: str, index: int = 0) -> str:
        """Return the name of the vec2 uniform with the size of a texel in texture coordinates."""
        sizes = self._sizes(role)
        return f"{role}_texel" if len(set(sizes.values())) == 1 else f"{self._sampler[role, index]}_texel"

    def texels(self, *roles: str, steps: tuple[int, int] = (1, 1)) -> dict[str, tuple[float, float]]:
        """Return the values of the uniforms ``texel`` for the reads of some roles.

        ``steps`` (y, x) multiplies them. A dilated window passes its dilations, and can share its shader with other
        windows.
        """
        texels: dict[str, tuple[float, float]] = {}
        for role in roles:
            sizes = self._sizes(role)
            for (read_role, index), sampler in self._sampler.items():
                if read_role == role:
                    texels[self.texel(role, index)] = (sizes[sampler][0] * steps[1], sizes[sampler][1] * steps[0])
        return texels

    def declarations(self, *roles: str) -> list[str]:
        """Return GLSL declarations of varyings, samplers, and texel sizes of the reads of some roles."""
        lines = codegen.declarations(len(self.sources), [name for name, _ in self.samplers])
        return lines + [f"uniform vec2 {name};" for name in self.texels(*roles)]

    def _sizes(self, role: str) -> dict[str, tuple[float, float]]:
        """Return the texel size of each sampler of a role."""
        role_samplers = {sampler for (read_role, _), sampler in self._sampler.items() if read_role == role}
        return {
            sampler: (1.0 / self._textures[texture].width, 1.0 / self._textures[texture].height)
            for sampler, texture in self.samplers
            if sampler in role_samplers
        }


def _texture_and_half(read: Read) -> tuple[str, int]:
    return read.view.texture, read.view.half


def _distinct(reads: Sequence[Read]) -> list[tuple[str, int]]:
    return list(dict.fromkeys(map(_texture_and_half, reads)))


@dataclass(frozen=True)
class DrawCall:
    """A draw.

    Attributes:
        node: the layer.
        fragment: the fragment shader; equal texts share a program.
        target: name of the render target's texture.
        samplers: (uniform, texture) for each texture unit in use.
        sources: inputs of the fragments, in the order of the varyings.
        quads: rectangles to draw.
        uniforms: values of the other uniforms. Uniforms that the shader does not use are removed, and so are their vec2
            declarations, because readers refuse uniforms without a value. Values that are too large become constants of
            the shader.
        part: suffix of the shader's file name, for shaders of a part of the layer.
        half: ``View.half`` of the target.
        halves: ``View.half`` for each sampler.
    """

    node: Node
    fragment: str
    target: str
    samplers: Sequence[tuple[str, str]]
    sources: Sequence[Source]
    quads: Sequence[Quad]
    uniforms: Uniforms
    part: str | None = None
    half: int = 0
    halves: Mapping[str, int] = field(default_factory=dict)
