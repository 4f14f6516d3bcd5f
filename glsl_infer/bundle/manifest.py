"""The manifest of a bundle: everything that a runner needs except for the members' contents.

docs/reference/bundle-format.md explains every field. ``manifest_json`` reads and writes it, and ``manifest_check``
checks its consistency.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from glsl_infer.bundle.format_constants import FORMAT, INPUT_KINDS, PROBE_FORMULA, PROFILE, VERSION
from glsl_infer.errors import InputError
from glsl_infer.graph import host_steps
from glsl_infer.graph.host_steps import HostStep
from glsl_infer.graph.picture import CENTER_CROP, CENTER_SQUARE, FITS, LETTERBOX, STRETCH
from glsl_infer.graph.purposes import CLASSES, IMAGE, MASK, PURPOSES, VALUES
from glsl_infer.program import Pass, ShaderProgram, Texture
from glsl_infer.program.layout import FeatureMap, FixedMap, FixedPoint, SixteenBitMap, Value, textures_of
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
    "DelayedProbe",
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
    """An input, uploaded by the runner: a picture or an array of values, its location, and the meaning of its bytes.

    Attributes:
        fit: rule for pictures of other sizes; None for numeric inputs.
    """

    name: str
    kind: str
    value: FeatureMap | SixteenBitMap | FixedMap | FixedPoint
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
            InputError: the input is not a picture, or not square.
        """
        if self.kind != PICTURE or self.height != self.width:
            raise InputError(f"input '{self.name}' has shape {self.shape}; only a model with a square image will do")
        return self.height

    @property
    def textures(self) -> tuple[str, ...]:
        """The textures of kind ``input`` for its upload; one for a picture."""
        return textures_of(self.value)


@dataclass(frozen=True)
class Limits:
    """Requirements of the bundle, compared with the driver's limits before compiling."""

    texture_units: int
    texture_size: int
    fragment_uniform_vectors: int
    varying_vectors: int
    vertex_attributes: int


@dataclass(frozen=True)
class Output:
    """A result: values from the passes, host steps for the CPU, and its purpose (``PURPOSES``).

    Attributes:
        values: locations of the inputs of the host steps. Empty in the manifest of several parts.
        tensors: names of the inputs of the host steps, which the parts compute; only in the manifest of several parts.
        shapes: of these tensors; derived from the parts.
    """

    name: str
    purpose: str
    values: tuple[FixedPoint | FeatureMap | SixteenBitMap | FixedMap, ...]
    steps: tuple[HostStep, ...] = ()
    tensors: tuple[str, ...] = ()
    shapes: tuple[tuple[int, ...], ...] = ()

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the result.

        Raises:
            ValueError: the steps do not fit the values; impossible in a bundle from a file.
        """
        return host_steps.shape_of(self.steps, self.shapes or [shape_of(value) for value in self.values])


@dataclass(frozen=True)
class ProbeLayer:
    """``count`` texels of a layer, from record ``offset`` of the probe member on, and their tolerances.

    The tolerances are in units of the stored integers (bytes, or 16-bit integers): ``max_error`` for the worst value
    and ``mean_error`` for the mean over all values.
    """

    layer: str
    offset: int
    count: int
    max_error: float
    mean_error: float
    value: Value


@dataclass(frozen=True)
class ProbeOutput:
    """Expected output: the vector before host steps, or an empty tuple, and the tolerance."""

    numbers: tuple[float, ...]
    max_error: float


@dataclass(frozen=True)
class Probe:
    """Built-in inputs, and the expected result of every layer and every output."""

    formula: str
    member: str
    layers: tuple[ProbeLayer, ...]
    outputs: tuple[ProbeOutput, ...]


class DelayedProbe(Probe):
    """A probe that is read at its first use, because only self-checks need it.

    Then it becomes a ``Probe``, so the methods of records, such as ``==``, ``hash`` and ``replace``, work as usual.

    Args:
        read: returns the probe.
    """

    def __init__(self, read: Callable[[], Probe]) -> None:
        vars(self)["read"] = read

    def __getattr__(self, name: str) -> Any:
        if name not in Probe.__match_args__:
            raise AttributeError(name)
        _become_probe(self)
        return vars(self)[name]

    def __eq__(self, other: object) -> bool:
        _become_probe(self)
        return self == other  # calls Probe.__eq__, because the class has changed

    def __hash__(self) -> int:
        _become_probe(self)
        return hash(self)  # calls Probe.__hash__


def _become_probe(probe: DelayedProbe) -> None:
    """Read the fields and change the class to ``Probe``, unless another thread has done so."""
    read = vars(probe).get("read")
    if read is not None:
        vars(probe).update(vars(read()))
        vars(probe).pop("read", None)
        object.__setattr__(probe, "__class__", Probe)


@dataclass(frozen=True)
class Manifest:
    """Contents of manifest.json and passes.bin; ``floats`` are the members with values of uniforms."""

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
            InputError: there are several, or it is numeric.
        """
        if len(self.inputs) != 1 or self.inputs[0].kind != PICTURE:
            kinds = ", ".join(f"'{entry.name}' ({entry.kind})" for entry in self.inputs)
            raise InputError(
                f"the model's inputs are {kinds}; this needs a model whose only input is an image; "
                "glsl-infer run accepts all models"
            )
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
        """The output for classes, or None."""
        return next((entry for entry in self.outputs if entry.purpose == CLASSES), None)

    @property
    def layers(self) -> tuple[str, ...]:
        """The layers with passes, in the order of their first passes."""
        return tuple(dict.fromkeys(entry.layer for entry in self.passes))

    @property
    def jobs(self) -> int:
        """Number of changes of render target in a frame."""
        return sum(entry.clear for entry in self.passes)
