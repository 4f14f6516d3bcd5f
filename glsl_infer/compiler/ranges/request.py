"""Inputs of ``prepare``: the calibration of ranges, and the bits requested for feature maps."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from glsl_infer.graph.reference import Inputs
from glsl_infer.lowering.calibration_maps import CalibrationData
from glsl_infer.program.layout import Range


@dataclass(frozen=True)
class KnownRanges:
    """Results of an earlier calibration.

    Attributes:
        maps: ranges of feature maps in 8 bits, by layer name.
        sixteen_bit: ranges of the same maps for storage in 16 bits.
        scales: scales of 16-bit values made finer by calibration, by stage name.
        sixteen: feature maps stored in 16 bits; None if not chosen.
        exact: layers with weights of more than 8 bits.
        calibration_data: calibration data for shaders and weights.
    """

    maps: Mapping[str, Range] = field(default_factory=dict)
    sixteen_bit: Mapping[str, Range] = field(default_factory=dict)
    scales: Mapping[str, float] = field(default_factory=dict)
    sixteen: tuple[str, ...] | None = None
    exact: tuple[str, ...] = ()
    calibration_data: CalibrationData = field(default_factory=dict)


@dataclass(frozen=True)
class Calibration:
    """Sources of ranges and scales that layers do not imply.

    Attributes:
        images: calibration images: inputs of the network, as for ``reference.run``.
        known: results of an earlier calibration, which have priority over ``images``.
        percentile: percentage of the calibration values within ranges; see ``observed.extremes``.
        assumed: without images, the (low, high) of layers with an open range, for a dry run.
    """

    images: Sequence[Inputs] = ()
    known: KnownRanges = field(default_factory=KnownRanges)
    percentile: float = 100.0
    assumed: tuple[float, float] | None = None


@dataclass(frozen=True)
class Precision:
    """Bits requested for feature maps.

    Attributes:
        bits: one of ``precision.PRECISIONS``.
        layers: 8 or 16 for single layers by name, which override ``bits``; unknown names are ignored.
        tolerance, budget: limits of the search for further maps in 16 bits; see ``sensitivity.spend``. If neither is
            given and ``bits`` is ``auto``, an eighth more work is spent to reach an error of ``AUTO_TOLERANCE``, or
            ``AUTO_NUMBERS``, and up to twice the work if the outputs would need a warning.
        numbers: names of the outputs to which ``auto`` applies; None: all. For parts of networks.
    """

    bits: str = "8"
    layers: Mapping[str, int] = field(default_factory=dict)
    tolerance: float | None = None
    budget: float | None = None
    numbers: Collection[str] | None = None
