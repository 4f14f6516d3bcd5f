"""The manifest of a bundle: what a runner needs to know besides the members.

docs/bundle-format.md explains every field; ``manifest_json`` reads and writes it, ``manifest_check`` says
whether the parts fit together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from glsl_infer.program import Pass, ShaderProgram, Texture
from glsl_infer.program.layout import FeatureMap, FixedPoint, Value

FORMAT = "glslnn"
VERSION = 1

PREPROCESSING = "center-square/area-average"
"""How any picture becomes the network's pixels (``runtime.pictures.preprocess``): the only way in this version."""

PROBE_FORMULA = "((3*x*x + 5*y*y + 7*x*y) div 8 + 89*c) mod 256"
"""The probe's picture: the byte of column x, row y and channel c."""


@dataclass(frozen=True)
class Layer:
    """A node of the graph: how to compute it in the reference, and where the runner finds its output."""

    name: str
    op: str
    inputs: tuple[str, ...]
    attrs: Mapping[str, Any]
    weights: Mapping[str, tuple[int, ...]]
    members: tuple[str, ...]
    output: Value


@dataclass(frozen=True)
class Model:
    """The network: its name, its layers in order, and the layer whose output is the result."""

    name: str
    output: str
    layers: tuple[Layer, ...]


@dataclass(frozen=True)
class Input:
    """The picture: square of ``size`` pixels, uploaded to ``texture`` at texel (x, y)."""

    texture: str
    size: int
    x: int
    y: int
    preprocessing: str = PREPROCESSING


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
    """The result: ``logits``, a vector in fixed point, or ``image``, a feature map."""

    name: str
    value: FixedPoint | FeatureMap


@dataclass(frozen=True)
class ProbeLayer:
    """``count`` texels of a layer, from record ``offset`` of the probe member on, and how far they may be off.

    The tolerances are in units of the stored integers (bytes, or 16-bit numbers): of the worst value and
    of the mean over all.
    """

    layer: str
    offset: int
    count: int
    max_error: float
    mean_error: float


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
    """Everything that manifest.json says."""

    model: Model
    input: Input
    limits: Limits
    textures: tuple[Texture, ...]
    programs: tuple[ShaderProgram, ...]
    passes: tuple[Pass, ...]
    outputs: tuple[Output, ...]
    probe: Probe
    members: Mapping[str, str]

    @property
    def jobs(self) -> int:
        """Number of changes of render target in a frame."""
        return sum(one.clear for one in self.passes)
