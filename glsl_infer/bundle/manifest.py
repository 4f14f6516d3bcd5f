"""The manifest of a bundle: what a runner needs to know besides the members.

docs/bundle-format.md explains every field; ``manifest_json`` reads and writes it, ``manifest_check`` says
whether the parts fit together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from glsl_infer.program import Pass, ShaderProgram, Texture
from glsl_infer.program.layout import FeatureMap, FixedPoint, Value

FORMAT = "glslnn"
VERSION = 2
PROFILE = "es2"
"""What a driver must have: OpenGL ES 2.0 or WebGL 1, with highp floats in fragment shaders."""

FIT = "center-square/area-average"
"""How any picture becomes the network's: its centred square, averaged by area."""

PURPOSES = ("classes", "image")

PROBE_FORMULA = "((3*x*x + 5*y*y + 7*x*y) div 8 + 89*c) mod 256"
"""The probe's picture: the byte of column x, row y and channel c."""


@dataclass(frozen=True)
class Input:
    """A picture that the runner uploads: where it lies, and what its bytes stand for."""

    name: str
    value: FeatureMap
    fit: str = FIT

    @property
    def size(self) -> int:
        """Height and width in pixels."""
        return self.value.height

    @property
    def texture(self) -> str:
        """The texture of kind ``input`` that it is uploaded to."""
        return self.value.views[0].texture

    @property
    def x(self) -> int:
        """Column of its first texel."""
        return self.value.views[0].x

    @property
    def y(self) -> int:
        """Row of its first texel."""
        return self.value.views[0].y


@dataclass(frozen=True)
class Limits:
    """What the bundle needs of a driver: each is compared with the driver's own before compiling."""

    texture_units: int
    texture_size: int
    fragment_uniform_vectors: int
    varying_vectors: int
    vertex_attributes: int


@dataclass(frozen=True)
class Output:
    """A result: a vector with a number for each of the ``classes``, or an ``image``, a feature map."""

    name: str
    purpose: str
    value: FixedPoint | FeatureMap


@dataclass(frozen=True)
class ProbeLayer:
    """``count`` texels of a layer from record ``offset`` of the probe member on, and how far they may be off.

    The tolerances are in units of the stored integers (bytes, or 16-bit numbers): of the worst value and
    of the mean over all.
    """

    layer: str
    offset: int
    count: int
    max_error: float
    mean_error: float
    value: Value


@dataclass(frozen=True)
class Probe:
    """A built-in picture and what every layer must make of it."""

    formula: str
    member: str
    layers: tuple[ProbeLayer, ...]
    logits: tuple[float, ...]
    max_error: float


@dataclass(frozen=True)
class Manifest:
    """Everything that manifest.json and passes.bin say; ``floats`` are the members that uniforms are taken from."""

    name: str
    inputs: tuple[Input, ...]
    limits: Limits
    textures: tuple[Texture, ...]
    programs: tuple[ShaderProgram, ...]
    floats: tuple[str, ...]
    passes: tuple[Pass, ...]
    outputs: tuple[Output, ...]
    probe: Probe
    members: Mapping[str, str]

    @property
    def input(self) -> Input:
        """The picture: the only input."""
        return self.inputs[0]

    @property
    def layers(self) -> tuple[str, ...]:
        """The layers that draw, in the order of their first passes."""
        return tuple(dict.fromkeys(one.layer for one in self.passes))

    @property
    def jobs(self) -> int:
        """Number of changes of render target in a frame."""
        return sum(one.clear for one in self.passes)
