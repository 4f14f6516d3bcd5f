"""What a runner executes: textures, shader programs and passes, as plain data.

These classes are also the entries of a bundle's manifest; docs/reference/bundle-format.md explains every field.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Union

from glsl_infer.program.layout import Value
from glsl_infer.support.records import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from glsl_infer.graph import Graph

PRELUDE = "shaders/prelude.glsl"
"""Member that every fragment shader begins with."""


@dataclass(frozen=True)
class Texture:
    """An RGBA8 texture, sampled NEAREST and CLAMP_TO_EDGE.

    Attributes:
        kind: ``input`` (the runner uploads the picture), ``target`` (passes render into it) or
            ``constant`` (its texels are the bytes of ``member``, first row first).
        clear: the bytes of a texel that nothing is drawn on: what a pass with ``clear`` fills a target with.
    """

    name: str
    width: int
    height: int
    kind: str
    member: str | None = None
    clear: tuple[int, int, int, int] = (0, 0, 0, 0)


@dataclass(frozen=True)
class ShaderProgram:
    """A compiled pair of shaders.

    Attributes:
        vertex, fragment: members with the sources; the prelude goes in front of the fragment shader.
        samplers: sampler uniforms; the k-th reads texture unit k.
        varyings: number of vec4 attributes ``corner0``... and varyings ``coord0``... it uses.
        uniforms: number of floats of each other uniform, by name (without brackets).
    """

    name: str
    vertex: str
    fragment: str
    samplers: tuple[str, ...]
    varyings: int
    uniforms: Mapping[str, int]


@dataclass(frozen=True)
class Slice:
    """``count`` float32 values of a member, from the ``offset``-th on."""

    member: str
    offset: int
    count: int


UniformValue = Union[tuple[float, ...], Slice]


@dataclass(frozen=True)
class Source:
    """Where the fragments of a pass read: a texture unit, and the step in texels from pixel to pixel."""

    unit: int
    stride_x: float
    stride_y: float


@dataclass(frozen=True)
class Quad:
    """A rectangle of the target, and for each source the texel that its first pixel reads."""

    x: int
    y: int
    width: int
    height: int
    origins: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Pass:
    """One draw of one or more quads.

    Attributes:
        layer: the graph node it belongs to.
        clear: whether the target is cleared to its colour first (at the start of a job).
        textures: what to bind, unit by unit.
    """

    layer: str
    program: str
    target: str
    clear: bool
    textures: tuple[str, ...]
    sources: tuple[Source, ...]
    quads: tuple[Quad, ...]
    uniforms: Mapping[str, UniformValue]

    def continued_by(self, other: Pass) -> bool:
        """Return whether another pass is as this one but for its quads."""
        return (
            self.program == other.program
            and self.layer == other.layer
            and self.target == other.target
            and self.textures == other.textures
            and self.sources == other.sources
            and self.uniforms == other.uniforms
        )


@dataclass(frozen=True)
class WeightsChoice:
    """Where a layer's weights are, and why; see ``lowering.weights_plan``.

    Attributes:
        mode: ``baked``, ``uniform`` or ``texture``.
        slices, pixels, columns: output slices, pixels of each, and vec4 of weights for each.
        microseconds: what the cost model says of each mode for a frame; None where the layer cannot have it.
        reason: in words.
    """

    layer: str
    mode: str
    slices: int
    pixels: int
    columns: int
    microseconds: Mapping[str, float | None]
    reason: str


@dataclass(frozen=True)
class MemoryUse:
    """What the textures that passes render into take with one method of sharing; see ``memory``.

    Attributes:
        texture_bytes, textures: of all of them, 4 bytes a texel; None where the method was not tried.
        chosen: whether this is the program's.
        note: why it was not tried.
    """

    method: str
    texture_bytes: int | None
    textures: int | None
    chosen: bool
    note: str = ""


@dataclass(frozen=True)
class CompiledNetwork:
    """A whole network for a runner, together with the graph it was made from.

    Attributes:
        graph: with weights as the textures have them, where weights lie in textures.
        values: where each node's output lies.
        choices: where the weights of each convolution are, by its name.
        members: files of the bundle: shaders and weights, by name.
        weight_members: for each node, the members that its weights can be read back from.
        findings: what was found with typical pictures; see ``lowering.findings``.
        exact: layers whose weights are finer than 8 bits, for what pictures showed; see ``compiler.exact_weights``.
        memory: what each method of sharing textures takes.
    """

    graph: Graph
    textures: tuple[Texture, ...]
    programs: tuple[ShaderProgram, ...]
    passes: tuple[Pass, ...]
    values: Mapping[str, Value]
    choices: Mapping[str, WeightsChoice]
    members: Mapping[str, bytes]
    weight_members: Mapping[str, tuple[str, ...]]
    findings: Mapping[str, tuple[NDArray[Any], ...]]
    exact: tuple[str, ...] = ()
    memory: tuple[MemoryUse, ...] = ()

    def __str__(self) -> str:
        lines = [
            f"{self.graph.name}: {len(self.textures)} textures, {len(self.programs)} programs, "
            f"{len(self.passes)} passes"
        ]
        for entry in self.passes:
            rectangle = f"{len(entry.quads)} quad{'s' * (len(entry.quads) > 1)}"
            lines.append(
                f"  {'clear ' if entry.clear else '      '}{entry.target:24} <- {', '.join(entry.textures):40} "
                f"{entry.program:28} {rectangle}"
            )
        return "\n".join(lines)
