"""Counts of the work in a frame, and of the bytes that it moves between CPU and GPU."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sized

from glsl_infer.bundle import Bundle
from glsl_infer.bundle.manifest import Manifest
from glsl_infer.program.layout import FixedPoint, Value, textures_of, tile_bytes
from glsl_infer.support.records import dataclass


@dataclass(frozen=True)
class Statistics:
    """Exact counts of the work in one frame, without the upload of inputs and the read-back of outputs.

    Attributes:
        passes: draws.
        jobs: changes of render target.
        programs: shader programs in the bundle.
        gl_calls: GL calls between upload and read-back.
        texture_bytes: bytes of all textures, constant ones included; 4 per texel.
    """

    passes: int
    jobs: int
    programs: int
    gl_calls: int
    texture_bytes: int

    @classmethod
    def of(cls, manifest: Manifest, frame: Sized) -> Statistics:
        """Return the counts of a model. ``frame`` holds the calls of one frame."""
        return cls(
            passes=len(manifest.passes),
            jobs=manifest.jobs,
            programs=len(manifest.programs),
            gl_calls=len(frame),
            texture_bytes=sum(4 * texture.width * texture.height for texture in manifest.textures),
        )


@dataclass(frozen=True)
class PartRun:
    """Measurements of one part in the last frame.

    Attributes:
        kind: ``gpu`` or ``cpu``.
        operators: the names of a CPU part's operators, or of a GPU part's layers.
        seconds: time including upload and read-back.
        uploaded, read_back: bytes to the GPU and back.
    """

    kind: str
    operators: tuple[str, ...]
    seconds: float
    uploaded: int
    read_back: int

    @classmethod
    def of(cls, bundle: Bundle | None, operators: tuple[str, ...], seconds: float) -> PartRun:
        """Return the measurements of a part; ``bundle`` is that of a part on the GPU."""
        if bundle is None:
            return cls("cpu", operators, seconds, 0, 0)
        return cls("gpu", operators, seconds, uploaded(bundle), read_back(bundle))


def uploaded(bundle: Bundle, inputs: Collection[str] | None = None) -> int:
    """Return the bytes that a frame of a GPU part uploads: of all inputs, or of those named."""
    return sum(
        tile_bytes(model_input.value)
        for model_input in bundle.manifest.inputs
        if inputs is None or model_input.name in inputs
    )


def read_back(bundle: Bundle) -> int:
    """Return the bytes that a frame of a GPU part reads back: entire textures of maps, the texels of vectors."""
    return sum(_texture_bytes(bundle, output.values) for output in bundle.manifest.outputs)


def _texture_bytes(bundle: Bundle, values: Iterable[Value]) -> int:
    sizes = {texture.name: 4 * texture.width * texture.height for texture in bundle.manifest.textures}
    total = 0
    for value in values:
        if isinstance(value, FixedPoint):
            total += tile_bytes(value)
        else:
            total += sum(sizes[name] for name in textures_of(value))
    return total
