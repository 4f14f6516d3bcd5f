"""Ranges that are known before any picture is looked at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from glsl_infer.lowering.findings import Findings
from glsl_infer.program.layout import Range


@dataclass(frozen=True)
class KnownRanges:
    """What a calibration found before.

    Attributes:
        maps: of feature maps in 8 bits, by the layer's name.
        fine: other ranges of the same, for those that are stored in 16 bits.
        scales: of 16-bit values that calibration made finer, by the stage's name.
        sixteen: feature maps that were stored in 16 bits; None where nobody has chosen.
        exact: layers whose weights were kept finer than 8 bits.
        findings: what was found with typical pictures for shaders and weights.
    """

    maps: Mapping[str, Range] = field(default_factory=dict)
    fine: Mapping[str, Range] = field(default_factory=dict)
    scales: Mapping[str, float] = field(default_factory=dict)
    sixteen: tuple[str, ...] | None = None
    exact: tuple[str, ...] = ()
    findings: Findings = field(default_factory=dict)
