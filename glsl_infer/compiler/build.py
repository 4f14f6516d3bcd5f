"""The compiler as one function, from an imported graph to a bundle in memory. It reads and writes no files."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from glsl_infer.bundle import Bundle
from glsl_infer.compiler import long_texts, lower, optimize
from glsl_infer.compiler.assemble import to_bundle
from glsl_infer.compiler.exact_weights import FinerWeights
from glsl_infer.compiler.planned_cost import Plans
from glsl_infer.compiler.ranges import Calibration, KnownRanges, Precision, PreparedGraph, precision, prepare
from glsl_infer.compiler.ranges.sensitivity import MOST_COST
from glsl_infer.compiler.ranges.wide import WideLayer
from glsl_infer.graph import Graph
from glsl_infer.graph.reference import Inputs
from glsl_infer.lowering.target import Target
from glsl_infer.program import CompiledNetwork
from glsl_infer.support import blas
from glsl_infer.support.progress import ProgressCallback, no_progress


@dataclass(frozen=True)
class Options(Target):
    """Options of an export: those of its target, and the following.

    Attributes:
        percentile: percentage of the calibration values within ranges; see ``observed.extremes``.
        delegate: compute layers without a shader on the CPU; else they are refused.
        delegate_for: layers to compute on the CPU even if there is a shader.
        ranges: ranges of an earlier calibration; see ``compiler.ranges.stored``.
        precision, precision_for: bits of feature maps; see ``compiler.ranges.precision.choose``.
        tolerance, budget: limits for further maps in 16 bits; see ``compiler.ranges.sensitivity.spend``.
    """

    percentile: float = 100.0
    delegate: bool = True
    delegate_for: Sequence[str] = ()
    ranges: KnownRanges = field(default_factory=KnownRanges)
    precision: str = precision.AUTO
    precision_for: Mapping[str, int] = field(default_factory=dict)
    tolerance: float | None = None
    budget: float | None = None


class _CountedImages(Sequence[Inputs]):
    """Calibration images with a progress message for each image during iteration."""

    def __init__(
        self, pictures: Sequence[Inputs], progress: ProgressCallback, numbers: Sequence[int] = (), total: int = 0
    ) -> None:
        self._pictures, self._progress = pictures, progress
        self._numbers, self._total = numbers or range(1, len(pictures) + 1), total or len(pictures)

    def __len__(self) -> int:
        return len(self._pictures)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return _CountedImages(self._pictures[index], self._progress, self._numbers[index], self._total)
        return self._pictures[index]

    def __iter__(self) -> Iterator[Inputs]:
        for number, picture in zip(self._numbers, self._pictures):
            self._progress(f"calibrating: {number} of {self._total}")
            yield picture


@blas.one_thread()
def build(
    graph: Graph,
    labels: Sequence[str],
    *,
    options: Options | None = None,
    calibration: Sequence[Inputs] = (),
    progress: ProgressCallback = no_progress,
) -> tuple[Bundle, CompiledNetwork, PreparedGraph]:
    """Optimise an imported graph, and compile it as ``from_optimized`` does."""
    return from_optimized(optimize.optimize(graph), labels, options=options, calibration=calibration, progress=progress)


@blas.one_thread()
def from_optimized(
    graph: Graph,
    labels: Sequence[str],
    *,
    options: Options | None = None,
    calibration: Sequence[Inputs] = (),
    progress: ProgressCallback = no_progress,
    numbers: Collection[str] | None = None,
) -> tuple[Bundle, CompiledNetwork, PreparedGraph]:
    """Turn an optimised graph into a bundle in memory. The GPU computes all layers.

    Args:
        graph: an optimised graph.
        labels: one for each class; none for a network without an output for classes.
        options: options of the export; default: ``Options()``.
        calibration: calibration images in the form of the network's inputs, for ranges not implied by the layer,
            and for scales too coarse if taken from interval bounds; see ``prepare``.
        progress: called with a progress message at every step.
        numbers: for a part of a network, the outputs eligible for 16 bits (``precision.choose``).

    Returns:
        The bundle, its program, and the graph with ranges and scales.

    Raises:
        ModelError: an unsupported layer, by name.
        InputError: labels or options do not fit the network.
    """
    options = options or Options()
    target = options.with_longest_array()
    if numbers is None:
        precision.require_known(graph, options.precision_for)
    settings = Calibration(calibration, options.ranges, options.percentile)
    prepared = _prepared(
        graph, target, options, replace(settings, images=_CountedImages(calibration, progress)), numbers
    )
    finer, spent = None, prepared.spent
    if prepared.cost_8bit is not None and spent is not None and options.weights == options.weight_bits == "auto":
        is_far = (spent.times or 0.0) > MOST_COST
        finer = FinerWeights(prepared.cost_8bit, spent.error, spent.tolerance or 0.0, is_far)
    program = lower.to_program(prepared.graph, target, settings, finer=finer, progress=progress)
    return to_bundle(program, labels, progress), program, prepared


def _prepared(
    graph: Graph, target: Target, options: Options, calibration: Calibration, numbers: Collection[str] | None
) -> PreparedGraph:
    """Prepare an optimised graph. The plans of its layers, which refer to all weights, are freed on return."""
    precise = Precision(options.precision, options.precision_for, options.tolerance, options.budget, numbers)
    if options.layout != "atlas":
        return prepare(graph, calibration, target=target, precision=precise)
    plans = Plans(target, calibrated=bool(calibration.images or calibration.known.calibration_data))

    def shorten(with_ranges: Graph) -> tuple[Graph, tuple[WideLayer, ...]]:
        return long_texts.split_long(with_ranges, target, plans, calibration.known.exact)

    return prepare(
        graph,
        calibration,
        target=target,
        precision=precise,
        plan=plans,
        shorten=shorten if options.weights == "auto" else None,
    )
