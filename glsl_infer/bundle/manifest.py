"""The manifest of a bundle: what a runner needs to know besides the members.

docs/reference/bundle-format.md explains every field; ``manifest_json`` reads and writes it, ``manifest_check`` says
whether the parts fit together.
"""

from __future__ import annotations

from collections.abc import Mapping

from glsl_infer.bundle.format_constants import FORMAT, INPUT_KINDS, PROBE_FORMULA, PROFILE, VERSION
from glsl_infer.errors import InputError
from glsl_infer.graph import host_steps
from glsl_infer.graph.host_steps import HostStep
from glsl_infer.graph.picture import CENTER_CROP, CENTER_SQUARE, FITS, LETTERBOX, STRETCH
from glsl_infer.graph.purposes import CLASSES, IMAGE, MASK, PURPOSES, VALUES
from glsl_infer.program import Pass, ShaderProgram, Texture
from glsl_infer.program.layout import FeatureMap, FineMap, FixedMap, FixedPoint, Value, textures_of
from glsl_infer.program.texels import shape_of
from glsl_infer.support.records import dataclass

__all__ = [
    "CENTER_CROP",
    "CENTER_SQUARE",
    "CLASSES",
    "FITS",
    "FORMAT",
    "IMAGE",
    "INPUT_KINDS",
    "LETTERBOX",
    "MASK",
    "NUMBERS",
    "PICTURE",
    "PROBE_FORMULA",
    "PROFILE",
    "PURPOSES",
    "STRETCH",
    "VALUES",
    "VERSION",
    "Input",
    "Limits",
    "Manifest",
    "Output",
    "Probe",
    "ProbeLayer",
    "ProbeOutput",
]

PICTURE, NUMBERS = INPUT_KINDS


@dataclass(frozen=True)
class Input:
    """What the runner uploads: a picture or numbers, where they lie, and what they stand for.

    Attributes:
        fit: how any picture becomes this one; None for numbers.
    """

    name: str
    kind: str
    value: FeatureMap | FineMap | FixedMap | FixedPoint
    fit: str | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """``(height, width, channels)`` of a picture or a map, ``(length,)`` of a vector."""
        return shape_of(self.value)

    @property
    def height(self) -> int:
        """Rows of a picture or a map; 1 of a vector."""
        return 1 if isinstance(self.value, FixedPoint) else self.value.height

    @property
    def width(self) -> int:
        """Columns of a picture or a map; the length of a vector."""
        return self.value.length if isinstance(self.value, FixedPoint) else self.value.width

    @property
    def channels(self) -> int:
        """Channels of a picture or a map; 1 of a vector."""
        return 1 if isinstance(self.value, FixedPoint) else self.value.channels

    @property
    def size(self) -> int:
        """Pixels of a side of a square picture.

        Raises:
            InputError: it is not square, or no picture.
        """
        if self.kind != PICTURE or self.height != self.width:
            raise InputError(f"input '{self.name}' has shape {self.shape}; only a model with a square picture will do")
        return self.height

    @property
    def textures(self) -> tuple[str, ...]:
        """The textures of kind ``input`` that it is uploaded to; one for a picture."""
        return textures_of(self.value)


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
    """A result: values that the passes leave, what the CPU does with them, and what it is for (``PURPOSES``)."""

    name: str
    purpose: str
    values: tuple[FixedPoint | FeatureMap | FineMap | FixedMap, ...]
    steps: tuple[HostStep, ...] = ()

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the result.

        Raises:
            ValueError: the steps do not fit the values; never in a bundle that was read.
        """
        return host_steps.shape_of(self.steps, [shape_of(value) for value in self.values])


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
class ProbeOutput:
    """What an output must be: the vector before host steps, or no numbers, and how far it may be off."""

    numbers: tuple[float, ...]
    max_error: float


@dataclass(frozen=True)
class Probe:
    """Built-in inputs, what every layer must make of them, and every output."""

    formula: str
    member: str
    layers: tuple[ProbeLayer, ...]
    outputs: tuple[ProbeOutput, ...]


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
        """The only input, which is a picture.

        Raises:
            InputError: there are several, or it takes numbers.
        """
        if len(self.inputs) != 1 or self.inputs[0].kind != PICTURE:
            kinds = ", ".join(f"'{entry.name}' ({entry.kind})" for entry in self.inputs)
            raise InputError(f"the model's inputs are {kinds}; this needs a model with one picture and nothing else")
        return self.inputs[0]

    @property
    def output(self) -> Output:
        """The only output.

        Raises:
            InputError: there are several.
        """
        if len(self.outputs) != 1:
            names = ", ".join(f"'{entry.name}'" for entry in self.outputs)
            raise InputError(f"the model's outputs are {names}; this needs a model with one output")
        return self.outputs[0]

    @property
    def classes(self) -> Output | None:
        """The output that is for classes, if there is one."""
        return next((entry for entry in self.outputs if entry.purpose == CLASSES), None)

    @property
    def layers(self) -> tuple[str, ...]:
        """The layers that draw, in the order of their first passes."""
        return tuple(dict.fromkeys(entry.layer for entry in self.passes))

    @property
    def jobs(self) -> int:
        """Number of changes of render target in a frame."""
        return sum(entry.clear for entry in self.passes)
