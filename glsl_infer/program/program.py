"""Executable form of a network: textures, shader programs and passes, as plain data.

These classes are also the entries of a bundle's manifest; docs/reference/bundle-format.md defines all fields.
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
"""Bundle member prepended to each fragment shader."""


@dataclass(frozen=True)
class Texture:
    """An RGBA8 texture, sampled NEAREST and CLAMP_TO_EDGE.

    Attributes:
        kind: ``input`` (the runner uploads the image), ``target`` (passes render into it) or ``constant`` (its texels
            are the bytes of ``member``, first row first).
        clear: RGBA bytes of texels outside the quads, set by passes with ``clear``.
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
        vertex, fragment: members with the sources; the prelude is prepended to the fragment shader.
        samplers: sampler uniforms; the k-th one reads texture unit k.
        varyings: number of vec4 attributes ``corner0``... and varyings ``coord0``...
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
    """``count`` float32 values of a member, from index ``offset`` on."""

    member: str
    offset: int
    count: int


UniformValue = Union[tuple[float, ...], Slice]


@dataclass(frozen=True)
class Source:
    """An input of a pass: a texture unit, and the step in texels between pixels of the target."""

    unit: int
    stride_x: float
    stride_y: float


@dataclass(frozen=True)
class Quad:
    """A rectangle of the target, and for each source the texel read by its first pixel."""

    x: int
    y: int
    width: int
    height: int
    origins: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Pass:
    """A draw call with one or more quads.

    Attributes:
        layer: graph node computed by this pass.
        clear: whether to clear the target first (at the start of a job).
        textures: textures to bind, in the order of units.
    """

    layer: str
    program: str
    target: str
    clear: bool
    textures: tuple[str, ...]
    sources: tuple[Source, ...]
    quads: tuple[Quad, ...]
    uniforms: Mapping[str, UniformValue]

    @property
    def pixels(self) -> int:
        """Number of pixels that the pass draws."""
        return sum(quad.width * quad.height for quad in self.quads)

    def continued_by(self, following: Pass) -> bool:
        """Return whether another pass differs only in its quads."""
        return (
            self.program == following.program
            and self.layer == following.layer
            and self.target == following.target
            and self.textures == following.textures
            and self.sources == following.sources
            and self.uniforms == following.uniforms
        )


@dataclass(frozen=True)
class WeightsChoice:
    """Storage of a layer's weights, and the reason; ``lowering.weights_plan`` chooses it.

    Attributes:
        mode: ``baked``, ``uniform`` or ``texture``.
        slices, pixels, columns: output slices, pixels of each, and vec4 of weights for each.
        microseconds: estimated time for a frame by mode; None for modes that the layer does not support.
        reason: explanation for the user.
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
    """Memory of the render targets with one method of sharing textures; ``compiler.memory`` plans it.

    Attributes:
        texture_bytes, textures: size of all textures at 4 bytes a texel, and their number.
        chosen: whether the program uses this method.
    """

    method: str
    texture_bytes: int
    textures: int
    chosen: bool


@dataclass(frozen=True)
class CompiledNetwork:
    """A network for a runner, together with its graph.

    Attributes:
        graph: its weights are rounded like those in the textures.
        values: textures of each node's output.
        choices: storage of the weights of each convolution, by name.
        members: files of the bundle by name: shaders and weights.
        weight_members: for each node, the members from which its weights can be decoded.
        calibration_data: arrays derived from calibration images (``lowering.calibration_maps``).
        exact: layers whose weights have more than 8 bits, because calibration images need it
            (``compiler.exact_weights``).
        memory: memory of each method of sharing textures.
    """

    graph: Graph
    textures: tuple[Texture, ...]
    programs: tuple[ShaderProgram, ...]
    passes: tuple[Pass, ...]
    values: Mapping[str, Value]
    choices: Mapping[str, WeightsChoice]
    members: Mapping[str, bytes]
    weight_members: Mapping[str, tuple[str, ...]]
    calibration_data: Mapping[str, tuple[NDArray[Any], ...]]
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
