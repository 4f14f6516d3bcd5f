"""The compiler as one function, from an imported graph to a bundle in memory. It reads and writes no files."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from glsl_infer.bundle import Bundle
from glsl_infer.compiler import long_texts, lower, optimize
from glsl_infer.compiler.assemble import to_bundle
from glsl_infer.compiler.planned_cost import Plans
from glsl_infer.compiler.ranges import PreparedGraph, precision, prepare
from glsl_infer.compiler.ranges.stored import KnownRanges
from glsl_infer.compiler.ranges.wide import WideLayer
from glsl_infer.graph import Graph
from glsl_infer.graph.reference import Inputs
from glsl_infer.lowering import weights_plan
from glsl_infer.lowering.weights_plan import UNIFORM_VECTORS
from glsl_infer.program import CompiledNetwork
from glsl_infer.support import blas

Tell = Callable[[str], None]
"""Progress callback; its argument is a short message about the next step."""


@dataclass(frozen=True)
class Options:
    """Options of an export.

    Attributes:
        weights, weights_for, layout, memory, uniform_vectors, weight_bits, draw_cost: see ``lower.to_program``.
        percentile: percentage of the calibration values within ranges; see ``observed.extremes``.
        input_range: values of byte 0 and byte 255 of the only picture; see ``importers.keras.to_graph``.
        input_ranges: the same by input name, and the lowest and highest value of inputs other than pictures.
        fits: how an image is fitted to the size of the input, by input name.
        purposes: purposes of outputs, by output name.
        input_sizes: (height, width) of inputs of variable size, by input name.
        input_shapes: complete shapes of inputs including the batch, in the file's order, which replace those of the
            file.
        constants: values of inputs to replace by constants, by input name.
        outputs: names of the outputs to export; none: all.
        delegate: compute layers without a shader on the CPU; else they are refused.
        delegate_for: layers to compute on the CPU even if there is a shader.
        ranges: ranges of an earlier calibration; see ``compiler.ranges.stored``.
        precision, precision_for: bits of feature maps; see ``compiler.ranges.precision.choose``.
        tolerance, budget: limits for further maps in 16 bits; see ``compiler.ranges.sensitivity.spend``.
    """

    weights: str = "auto"
    weights_for: Mapping[str, str] = field(default_factory=dict)
    layout: str = "atlas"
    memory: str = "auto"
    percentile: float = 100.0
    input_range: tuple[float, float] | None = None
    uniform_vectors: int = UNIFORM_VECTORS
    weight_bits: str = "auto"
    draw_cost: float = weights_plan.DRAW
    input_ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    fits: Mapping[str, str] = field(default_factory=dict)
    purposes: Mapping[str, str] = field(default_factory=dict)
    input_sizes: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    input_shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    constants: Mapping[str, Any] = field(default_factory=dict)
    outputs: tuple[str, ...] = ()
    delegate: bool = True
    delegate_for: Sequence[str] = ()
    ranges: KnownRanges | None = None
    precision: str = precision.AUTO
    precision_for: Mapping[str, int] = field(default_factory=dict)
    tolerance: float | None = None
    budget: float | None = None


class _Told(Sequence[Inputs]):
    """Calibration images with a progress message for each image during iteration."""

    def __init__(self, pictures: Sequence[Inputs], tell: Tell, numbers: Sequence[int] = (), total: int = 0) -> None:
        self._pictures, self._tell = pictures, tell
        self._numbers, self._total = numbers or range(1, len(pictures) + 1), total or len(pictures)

    def __len__(self) -> int:
        return len(self._pictures)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return _Told(self._pictures[index], self._tell, self._numbers[index], self._total)
        return self._pictures[index]

    def __iter__(self) -> Iterator[Inputs]:
        for number, picture in zip(self._numbers, self._pictures):
            self._tell(f"calibrating: {number} of {self._total}")
            yield picture


def tell_nobody(_: str) -> None:
    """Ignore a progress message."""


@blas.one_thread()
def build(
    graph: Graph,
    labels: Sequence[str],
    *,
    options: Options | None = None,
    calibration: Sequence[Inputs] = (),
    tell: Tell = tell_nobody,
    numbers: Collection[str] | None = None,
    optimised: Graph | None = None,
) -> tuple[Bundle, CompiledNetwork, PreparedGraph]:
    """Turn an imported graph into a bundle in memory.

    Args:
        graph: a graph from an importer.
        labels: one for each class; none for a network without an output for classes.
        options: options of the export; default: ``Options()``.
        calibration: calibration images in the form of the network's inputs, for ranges not implied by the layer,
            and for scales too coarse if taken from interval bounds; see ``prepare``.
        tell: called with a progress message at every step.
        numbers: for a part of a network, the outputs eligible for 16 bits (``precision.choose``).
        optimised: the result of ``optimize.optimize`` for the graph, if available: it is a copy of all weights.

    Returns:
        The bundle, its program, and the graph with ranges and scales.

    Raises:
        ModelError: an unsupported layer, by name.
        InputError: labels or options do not fit the network.
    """
    options = options or Options()
    pictures = _Told(calibration, tell)
    most = weights_plan.longest_array(options.weights, options.uniform_vectors)
    small = optimised or optimize.optimize(graph)
    if numbers is None:
        precision.require_known(small, options.precision_for)
    before = options.ranges or KnownRanges()

    def shorten(planned: Graph) -> tuple[Graph, tuple[WideLayer, ...]]:
        long = long_texts.possible(planned, most) - {*options.weights_for, *before.exact}
        if not long:
            return planned, ()
        choices = lower.weights_choices(
            planned,
            options.weights_for,
            given=bool(calibration or before.findings),
            uniform_vectors=most,
            weight_bits=options.weight_bits,
            tell=tell,
            draw_cost=options.draw_cost,
            exact=before.exact,
        )
        return long_texts.split(planned, [choice for choice in choices if choice.layer in long], most)

    prepared = prepare(
        small,
        pictures,
        percentile=options.percentile,
        layout=options.layout,
        uniform_vectors=most,
        precision=options.precision,
        precision_for=options.precision_for,
        numbers=numbers,
        known_ranges=options.ranges,
        tolerance=options.tolerance,
        budget=options.budget,
        plan=Plans(
            given=True,
            uniform_vectors=most,
            weight_bits=options.weight_bits,
            draw_cost=options.draw_cost,
        )
        if options.layout == "atlas"
        else None,
        shorten=shorten if options.weights == "auto" and options.layout == "atlas" else None,
    )
    typical = lower.typical_of(prepared.graph, calibration, before.findings)
    program = lower.to_program(
        prepared.graph,
        weights=options.weights,
        weights_for=options.weights_for,
        layout=options.layout,
        memory=options.memory,
        uniform_vectors=most,
        tell=tell,
        samples=calibration,
        weight_bits=options.weight_bits,
        typical=typical,
        findings=before.findings,
        exact=before.exact,
        draw_cost=options.draw_cost,
        in_eight=prepared.cost_8bit if options.weight_bits == options.weights == "auto" else None,
        error=prepared.spent.error if prepared.spent else 0.0,
        enough=(prepared.spent.tolerance or 0.0) if prepared.spent else 0.0,
    )
    del typical  # Frees hundreds of megabytes of maps.
    return to_bundle(program, labels, tell), program, prepared
