"""Which textures a draw binds, and how its fragment shader names what it reads.

Operators list the views they read; whether those share a texture (atlas) or have one each (planar) shows only
in the names that a ``Binding`` gives out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from glsl_infer.errors import ModelError
from glsl_infer.lowering import codegen
from glsl_infer.program import Source, Texture
from glsl_infer.program.layout import View
from glsl_infer.program.templates import MAX_VARYINGS

MAX_TEXTURES = 8
"""ES 2.0 promises 8 texture units."""

MAX_SOURCES = 2 * MAX_VARYINGS
"""Two sources share a vec4 varying."""


@dataclass(frozen=True)
class Read:
    """One coordinate of a fragment: pixel p of the draw reads texel ``(x, y) + offset + stride * p`` of the view."""

    view: View
    offset: tuple[int, int] = (0, 0)
    stride: tuple[float, float] = (1.0, 1.0)


class Binding:
    """What one draw reads, in roles such as ``source`` and ``residual``.

    All reads of a role that share a texture share a sampler with the role's name. Where they lie in several
    textures each has a sampler of its own, ``source0``, ``source1`` ..., so that draws that differ only in the
    textures share a program; if those were more than 8 units, each texture has one. Maps of one texture whose second
    tiles lie at different distances (``View.half``) are as if in several: a shader has one distance for each sampler.

    Attributes:
        samplers: (name, texture) of each unit.
        sources, origins: of each read; see ``program.Source`` and ``program.Quad``.
        halves: ``View.half`` of what each sampler reads.

    Raises:
        ModelError: more textures or coordinates than ES 2.0 promises.
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
        crowded = sum(len(reads) if len(_distinct(reads)) > 1 else 1 for reads in roles.values()) > MAX_TEXTURES
        for role, reads in roles.items():
            self._first[role] = len(self.sources)
            places = _distinct(reads)
            if len(places) == 1:
                chosen = [(role, places[0][0])] * len(reads)
            elif crowded:
                chosen = [(f"{role}{places.index(_place(read))}", read.view.texture) for read in reads]
            else:
                chosen = [(f"{role}{index}", read.view.texture) for index, read in enumerate(reads)]
            self.samplers += dict.fromkeys(chosen)
            for index, (read, pair) in enumerate(zip(reads, chosen)):
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
        """Return the expression of the ``x`` or the ``y`` of a read's texture coordinate."""
        vector, parts = self.coordinate(role, index).split(".")
        return f"{vector}.{parts['xy'.index(axis)]}"

    def count(self, role: str) -> int:
        """Return how many reads a role has."""
        return sum(other == role for other, _ in self._sampler)

    def sampler(self, role: str, index: int = 0) -> str:
        """Return the name of a read's sampler."""
        return self._sampler[role, index]

    def alike(self, role: str, axis: str) -> tuple[int, ...]:
        """Return for each read of a role the first one that has the same ``x`` or ``y`` coordinate."""
        places: dict[tuple[float, ...], int] = {}
        first = []
        for index in range(self.count(role)):
            source, origin = self.sources[self._first[role] + index], self.origins[self._first[role] + index]
            texture = self._textures[self.samplers[source.unit][1]]
            x, y = (origin[0], source.stride_x, texture.width), (origin[1], source.stride_y, texture.height)
            first.append(places.setdefault({"x": x, "y": y}[axis], index))
        return tuple(first)

    def fetch(self, role: str, index: int = 0, tap: tuple[int, int] = (0, 0), shift: str = "") -> str:
        """Return the expression of a texel, some texels on from the read's coordinate: ``tap`` (x, y), or a vec2."""
        return f"texture2D({self._sampler[role, index]}, {self.place(role, index, tap, shift)})"

    def place(self, role: str, index: int = 0, tap: tuple[int, int] = (0, 0), shift: str = "") -> str:
        """Return the expression of the coordinate that ``fetch`` fetches from."""
        shift = f"vec2({tap[0]}.0, {tap[1]}.0)" if any(tap) else shift
        return self.coordinate(role, index) + (f" + {shift} * {self.texel(role, index)}" if shift else "")

    def texel(self, role: str, index: int = 0) -> str:
        """Return the name of the vec2 uniform with the size of one texel, in texture coordinates."""
        sizes = self._sizes(role)
        return f"{role}_texel" if len(set(sizes.values())) == 1 else f"{self._sampler[role, index]}_texel"

    def texels(self, *roles: str, steps: tuple[int, int] = (1, 1)) -> dict[str, tuple[float, float]]:
        """Return the uniforms that ``texel`` names for the reads of some roles.

        ``steps`` is how many texels (y, x) they stand for: those from tap to tap of a dilated window, whose shader is
        the same as that of any other.
        """
        texels: dict[str, tuple[float, float]] = {}
        for role in roles:
            sizes = self._sizes(role)
            for (other, index), sampler in self._sampler.items():
                if other == role:
                    texels[self.texel(role, index)] = (sizes[sampler][0] * steps[1], sizes[sampler][1] * steps[0])
        return texels

    def declarations(self, *roles: str) -> list[str]:
        """Return the GLSL lines that declare varyings, samplers, and texel sizes of the reads of some roles."""
        lines = codegen.declarations(len(self.sources), [name for name, _ in self.samplers])
        return lines + [f"uniform vec2 {name};" for name in self.texels(*roles)]

    def _sizes(self, role: str) -> dict[str, tuple[float, float]]:
        """Return the texel size of each sampler of a role."""
        mine = {sampler for (other, _), sampler in self._sampler.items() if other == role}
        return {
            sampler: (1.0 / self._textures[texture].width, 1.0 / self._textures[texture].height)
            for sampler, texture in self.samplers
            if sampler in mine
        }


def _place(read: Read) -> tuple[str, int]:
    return read.view.texture, read.view.half


def _distinct(reads: Sequence[Read]) -> list[tuple[str, int]]:
    return list(dict.fromkeys(map(_place, reads)))
