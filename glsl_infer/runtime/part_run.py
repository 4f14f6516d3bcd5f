"""Measurements of one part of a model in a frame."""

from __future__ import annotations

from glsl_infer.support.records import dataclass


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
