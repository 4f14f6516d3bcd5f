"""Preparation of an optimised graph: every stored value gets a range or scale, and some layers become several stages.

Both the exact reference and ``compiler.lower.to_program`` work from a prepared graph.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from glsl_infer import ops
from glsl_infer.bundle.format_constants import MAX_LAYERS, MAX_RESULT, MAX_TEXTURE_BYTES
from glsl_infer.compiler.ranges import precision as precision_of_layers
from glsl_infer.compiler.ranges.cross_validation import Fold
from glsl_infer.compiler.ranges.eight_bits import AssignedRanges, RangeChoice, assign_ranges, too_large
from glsl_infer.compiler.ranges.fixed_point import ScaleChoice, assign_scales, split_dense
from glsl_infer.compiler.ranges.headroom import widen_ranges
from glsl_infer.compiler.ranges.inputs import assign_input_ranges, with_lowest
from glsl_infer.compiler.ranges.precision import BY_RULE, PrecisionChoice
from glsl_infer.compiler.ranges.request import Calibration, KnownRanges, Precision
from glsl_infer.compiler.ranges.rewrites import (
    dedupe_zero_maps,
    gated_convolutions,
    gated_sums,
    means_in_two_passes,
)
from glsl_infer.compiler.ranges.sensitivity import (
    AUTO_NUMBERS,
    AUTO_SHARE,
    AUTO_TOLERANCE,
    PICTURES,
    PICTURES_OF_FEW,
    CostRatios,
    Limits,
    Spent,
    spend,
)
from glsl_infer.compiler.ranges.squeeze import squeeze_in_two_passes
from glsl_infer.compiler.ranges.unseen import OnGpu, Runs, of_graph
from glsl_infer.compiler.ranges.varied import FEW
from glsl_infer.compiler.ranges.wide import Parts, WideLayer, split_wide
from glsl_infer.errors import ModelError, with_article
from glsl_infer.graph import Graph, Node
from glsl_infer.graph.picture import has_alpha_lane
from glsl_infer.graph.reference import Inputs
from glsl_infer.lowering.target import Target
from glsl_infer.lowering.weights_plan import Cost
from glsl_infer.ops.operator import GraphOnlyOperator, ViewOperator
from glsl_infer.program.layout import Range

__all__ = ["Calibration", "KnownRanges", "Precision", "PreparedGraph", "prepare"]

LEARNT = ("error", "layer", "maximum", "percentile")
"""Names of the ways to choose ranges from calibration images."""


@dataclass(frozen=True)
class PreparedGraph:
    """A prepared graph with a record of the decisions on ranges, scales and bits.

    Attributes:
        graph: the graph with ranges, scales and stages.
        ranges: one choice for each 8-bit feature map.
        wide: one entry for each convolution with partial sums.
        scales: one choice for each 16-bit value.
        precision: one choice for each feature map in 16 bits.
        spent: effect of each layer's rounding on the outputs, if it was measured.
        wider: ranges for 16 bits of layers whose range in 8 bits was learnt from calibration images.
        learnt: the learnt ranges in 8 bits.
        cost_8bit: cost of the program with all maps in 8 bits, if it was counted.
        folds: ranges learnt without each part of the calibration images.
        clipped: for each calibration image, the largest share of a layer's energy beyond the ranges of its fold.
        runs: outputs of the float network for some calibration images, if they were needed.
    """

    graph: Graph
    ranges: tuple[RangeChoice, ...]
    wide: tuple[WideLayer, ...]
    scales: tuple[ScaleChoice, ...]
    precision: tuple[PrecisionChoice, ...] = ()
    spent: Spent | None = None
    wider: Mapping[str, Range] = field(default_factory=dict)
    learnt: Mapping[str, Range] = field(default_factory=dict)
    cost_8bit: Cost | None = None
    folds: tuple[Fold, ...] = ()
    clipped: tuple[float, ...] = ()
    runs: Runs | None = None


def prepare(
    graph: Graph,
    calibration: Calibration | None = None,
    *,
    target: Target | None = None,
    precision: Precision | None = None,
    plan: Callable[[Graph], Cost] | None = None,
    shorten: Callable[[Graph], tuple[Graph, tuple[WideLayer, ...]]] | None = None,
) -> PreparedGraph:
    """Prepare an optimised graph for shaders.

    Args:
        graph: the result of ``optimize.optimize``.
        calibration: calibration images and known ranges; default: none.
        target: the layout and the limits of the program; default: ``Target()``.
        precision: bits of feature maps; default: 8.
        plan: function to count the cost of a prepared graph; without it, shares are estimated.
        shorten: function to split further layers of a prepared graph into partial sums. Calibration of scales
            follows it.

    Raises:
        InputError: an unknown precision, or a layer without support for its bits.
        ModelError: a layer has no shader for its inputs, or its range is unknown without calibration images.
    """
    calibration, target, precision = calibration or Calibration(), target or Target(), precision or Precision()
    images, known = calibration.images, calibration.known
    require_possible_size(graph)
    require_stored_values(graph)
    with_inputs = with_lowest(assign_input_ranges(graph, images), images, known.maps, calibration.assumed)
    assigned = assign_ranges(with_inputs, calibration)
    require_finite_ranges(assigned.graph)

    stages = _Stages(target, {**known.sixteen_bit, **assigned.wider}, known.scales)
    bits = _choose_bits(assigned, calibration, precision, stages, plan)
    with_bits, sixteen_bit = precision_of_layers.assign(assigned.graph, bits.chosen)
    widened, ranges = widen_ranges(with_bits, stages.wider, assigned.choices)
    split, wide = stages.split(widened)
    if shorten is not None:
        split, shortened = shorten(stages.with_known_scales(split))
        wide += shortened

    scaled, scales = assign_scales(split, images, known.scales)
    prepared = dedupe_zero_maps(scaled)
    require_finite_ranges(prepared)
    return PreparedGraph(
        prepared,
        tuple(choice for choice in ranges if choice.layer in prepared.by_name),
        wide,
        scales,
        tuple(choice for choice in sixteen_bit if choice.layer in prepared.by_name),
        bits.spent,
        stages.wider,
        _learnt_ranges(assigned),
        bits.cost_8bit,
        assigned.folds,
        assigned.clipped,
        bits.runs,
    )


class _Stages:
    """Rewrites of a graph with ranges into operators with shaders. Stages of equal layers are computed once.

    Attributes:
        target: the layout and the limits of the program.
        wider: ranges of layers for 16 bits, by name.
    """

    def __init__(self, target: Target, wider: Mapping[str, Range], known_scales: Mapping[str, float]) -> None:
        self.target, self.wider, self._known_scales = target, wider, known_scales
        self._dense: dict[str, tuple[Node, list[Node]]] = {}
        self._parts: Parts = {}

    def split(self, graph: Graph, *, products: bool = False) -> tuple[Graph, tuple[WideLayer, ...]]:
        """Return a graph of operators with shaders, and its convolutions with partial sums.

        ``products`` keeps the products with gates that convolutions read.
        """
        for_shaders = _for_shaders(graph, self.target, self._dense, products=products)
        return split_wide(for_shaders, self.target, before=self._parts)

    def with_known_scales(self, graph: Graph) -> Graph:
        """Return a graph with scales from earlier calibrations or interval bounds."""
        return dedupe_zero_maps(assign_scales(graph, (), self._known_scales)[0])

    def as_drawn(self, graph: Graph, *, products: bool = False) -> Graph:
        """Return a graph with bits as it will be drawn, apart from calibrated scales; ``products`` as for ``split``."""
        widened, _ = widen_ranges(graph, self.wider, ())
        return self.with_known_scales(self.split(widened, products=products)[0])


@dataclass(frozen=True)
class _Bits:
    """Bits of the layers.

    Attributes:
        chosen: as of ``precision.choose``.
        spent, cost_8bit, runs: as of ``PreparedGraph``; None without a search for maps in 16 bits.
    """

    chosen: Mapping[str, PrecisionChoice | None]
    spent: Spent | None = None
    cost_8bit: Cost | None = None
    runs: Runs | None = None


def _choose_bits(
    assigned: AssignedRanges,
    calibration: Calibration,
    precision: Precision,
    stages: _Stages,
    plan: Callable[[Graph], Cost] | None,
) -> _Bits:
    """Return the bits of the layers: as requested, as in an earlier calibration, or by a search.

    Args:
        assigned: the graph with ranges.
        calibration: calibration images and known ranges.
        precision: the requested bits, and the limits of a search.
        stages: rewrites of the graph.
        plan: function to count the cost of a prepared graph.
    """
    graph, known_layers = assigned.graph, calibration.known.sixteen
    requested_bits = {name: bits for name, bits in precision.layers.items() if name in graph.by_name}
    has_limits = precision.tolerance is not None or precision.budget is not None
    is_automatic = precision.bits == precision_of_layers.AUTO and not has_limits
    if is_automatic and known_layers is not None:
        return _Bits(precision_of_layers.stored(graph, known_layers, requested_bits))
    chosen = precision_of_layers.choose(graph, precision.bits, requested_bits, precision.numbers)
    if has_limits:
        samples = [(image, Fold()) for image in calibration.images]
        return _Bits(*spend(graph, chosen, samples, Limits(precision.tolerance, precision.budget)))
    if is_automatic and calibration.images:
        return _search_bits(assigned, calibration.images, chosen, stages, plan)
    return _Bits(chosen)


def _search_bits(
    assigned: AssignedRanges,
    images: Sequence[Inputs],
    chosen: Mapping[str, PrecisionChoice | None],
    stages: _Stages,
    plan: Callable[[Graph], Cost] | None,
) -> _Bits:
    """Return a choice with more maps in 16 bits, until the outputs for new images are exact enough.

    Args:
        assigned: the graph with ranges.
        images: calibration images.
        chosen: choices to keep.
        stages: rewrites of the graph.
        plan: function to count the cost of a prepared graph.
    """
    graph, folds = assigned.graph, assigned.folds
    cost_8bit, cost_ratios = None, None
    if plan is not None:
        # The work that fetched gates save is available for precision.
        in_8_bits = precision_of_layers.assign(graph, {})[0]
        cost_8bit = plan(stages.as_drawn(in_8_bits, products=True))
        cost_ratios = partial(_cost_ratios, cost_8bit, plan, stages)
    runs = of_graph(graph, images, len(folds), assigned.clipped).with_clipped()

    def badness(with_bits: Graph) -> float:
        outputs = runs.errors(OnGpu(with_bits, folds), causes=False).outputs
        return max(output.badness for output in outputs)

    samples = [(sample.image, Fold() if sample.fold is None else folds[sample.fold]) for sample in runs.samples]
    has_numbers = any(choice and choice.why == BY_RULE for choice in chosen.values())
    limits = Limits(
        AUTO_NUMBERS if has_numbers else AUTO_TOLERANCE,
        share=AUTO_SHARE,
        images=PICTURES_OF_FEW if len(images) < FEW else PICTURES,
    )
    return _Bits(*spend(graph, chosen, samples, limits, cost_ratios, badness), cost_8bit, runs)


def _learnt_ranges(assigned: AssignedRanges) -> dict[str, Range]:
    """Return the ranges learnt from calibration images, by layer."""
    layers = [choice.layer for choice in assigned.choices if choice.by.partition(" ")[0] in LEARNT]
    return {layer: _range_of(assigned.graph, layer) for layer in layers}


def _for_shaders(
    graph: Graph, target: Target, dense: dict[str, tuple[Node, list[Node]]], *, products: bool = False
) -> Graph:
    """Return a graph of operators with shaders.

    ``products`` keeps the products with gates that convolutions read, and the dense layers of means.
    """
    fused = gated_sums(carry_offset_in_alpha(graph))
    fused = fused if products else gated_convolutions(fused, target.layout)
    split = split_dense(fused, dense)
    return means_in_two_passes(split if products else squeeze_in_two_passes(split))


def _range_of(graph: Graph, layer: str) -> Range:
    attrs = graph.by_name[layer].attrs
    return Range(tuple(attrs["scales"]), tuple(attrs["zeros"]))


def _cost_ratios(cost_8bit: Cost, plan: Callable[[Graph], Cost], stages: _Stages, with_bits: Graph) -> CostRatios:
    """Return the cost of a graph with bits as multiples of ``cost_8bit``."""
    cost, draw_cost = plan(stages.as_drawn(with_bits)), stages.target.draw_cost
    # A network that only moves values can be without any draw.
    time = cost.microseconds(draw_cost) / max(cost_8bit.microseconds(draw_cost), 1.0)
    return CostRatios(*cost.over(cost_8bit), time)


def require_possible_size(graph: Graph) -> None:
    """Refuse graphs beyond the limits of the format before calibration, because later stages only enlarge them."""
    drawn = [node for node in graph.nodes if not (node.operator.is_input or isinstance(node.operator, ViewOperator))]
    if len(drawn) > MAX_LAYERS:
        raise ModelError(f"{len(drawn):,} layers; a model has at most {MAX_LAYERS:,}")
    for name, shape in graph.shapes.items():
        elements, ends = math.prod(shape), name in graph.output_layers or graph.by_name[name].operator.is_input
        most = MAX_RESULT if ends else MAX_TEXTURE_BYTES
        if elements > most:
            raise ModelError.layer(name, f"{elements:,} numbers", f"at most {most:,} are possible here")


def require_stored_values(graph: Graph) -> None:
    """Refuse infinite or NaN weights, operators without a shader or stages, and operators of maps on vectors."""
    for node in graph.nodes:
        operator = ops.get(node.op)
        for name, weights in node.weights.items():
            if not np.isfinite(weights).all():
                advice = "the training has diverged; export a checkpoint from before"
                raise ModelError.layer(node.name, f"a {name} with numbers that are infinite or none", advice)
        for name, setting in node.attrs.items():
            if isinstance(setting, float) and not math.isfinite(setting):
                raise ModelError.layer(node.name, f"{with_article(name)} of {setting}", "give a finite number")
        if isinstance(operator, GraphOnlyOperator) and not operator.staged:
            raise operator.refusal(node)
        if len(graph.shapes[node.name]) == 1 and "scale" not in operator.attrs and not operator.staged:
            advice = "apply it to a feature map, or give the Dense layer before it an activation"
            raise ModelError.layer(node.name, f"{with_article(node.op)} of a vector", advice)


def require_finite_ranges(graph: Graph) -> None:
    """Refuse layers with ranges or scales beyond float32, learnt from images or computed from weights."""
    for node in graph.nodes:
        attributes = [node.attrs.get(key) for key in ("scales", "zeros", "scale")]
        if not all(np.isfinite(np.asarray(values, np.float32)).all() for values in attributes if values is not None):
            raise too_large(node.name)


def carry_offset_in_alpha(graph: Graph) -> Graph:
    """Make convolutions that pad a picture take the offset from its alpha lane, if byte 0 is not the value 0.

    The alpha of the picture is 1 inside and 0 in the gutter, so the padding is 0 in spite of the offset.
    """
    nodes = []
    for node in graph.nodes:
        reads_picture = "alpha" in node.attrs and has_alpha_lane(graph.by_name[node.inputs[0]])
        if reads_picture and any(node.attrs["padding"]) and any(graph.by_name[node.inputs[0]].attrs["zeros"]):
            nodes.append(_ungrouped(node).with_attrs(alpha=True))
        else:
            nodes.append(node)
    return graph.rebuilt(nodes)


def _ungrouped(node: Node) -> Node:
    """Return the same convolution in one group, because the alpha lane belongs to none of the channels."""
    groups = node.attrs["groups"]
    if groups == 1:
        return node
    kernel = node.weights["kernel"]
    height, width, channels, filters = kernel.shape
    ungrouped = np.zeros((height, width, channels * groups, filters), np.float32)
    for f in range(filters):
        first = f // (filters // groups) * channels
        ungrouped[:, :, first : first + channels, f] = kernel[..., f]
    return replace(node.with_attrs(groups=1), weights={**node.weights, "kernel": ungrouped})
