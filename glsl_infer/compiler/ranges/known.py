"""Ranges known before calibration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from glsl_infer.lowering.findings import Findings
from glsl_infer.program.layout import Range


@dataclass(frozen=True)
class KnownRanges:
    """Results of an earlier calibration.

    Attributes:
        maps: ranges of feature maps in 8 bits, by layer name.
        fine: ranges of the same maps for storage in 16 bits.
        scales: scales of 16-bit values made finer by calibration, by stage name.
        sixteen: feature maps stored in 16 bits; None if not chosen.
        exact: layers with weights of more than 8 bits.
        findings: calibration data for shaders and weights.
    """

    maps: Mapping[str, Range] = field(default_factory=dict)
    fine: Mapping[str, Range] = field(default_factory=dict)
    scales: Mapping[str, float] = field(default_factory=dict)
    sixteen: tuple[str, ...] | None = None
    exact: tuple[str, ...] = ()
    findings: Findings = field(default_factory=dict)
