"""Preparation of an optimised graph: every stored value gets a range or scale, and some layers become several stages.

Both the exact reference and ``compiler.lower.to_program`` work from a prepared graph.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from glsl_infer import ops
from glsl_infer.bundle.format_constants import MAX_LAYERS, MAX_RESULT, MAX_TEXTURE_BYTES
from glsl_infer.compiler.ranges import precision as precision_of_layers
from glsl_infer.compiler.ranges.eight_bits import RangeChoice, assign_ranges, too_large
from glsl_infer.compiler.ranges.expected_error import Fold
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
    pictures, before = calibration.images, calibration.known
    tolerance, budget, by_itself = precision.tolerance, precision.budget, precision.bits == precision_of_layers.AUTO
    require_possible_size(graph)
    require_stored_values(graph)
    graph = with_lowest(assign_input_ranges(graph, pictures), pictures, before.maps, calibration.assumed)
    searches = by_itself and bool(pictures) and tolerance is None and budget is None
    assigned = assign_ranges(graph, calibration)
    ranged, ranges, folds = assigned.graph, assigned.choices, assigned.folds
    wider = {**before.sixteen_bit, **assigned.wider}
    require_finite_ranges(ranged)
    requested_bits = {name: bits for name, bits in precision.layers.items() if name in ranged.by_name}
    learnt = {
        choice.layer: _range_of(ranged, choice.layer) for choice in ranges if choice.by.partition(" ")[0] in LEARNT
    }
    if before.sixteen is not None and by_itself and tolerance is None and budget is None:
        chosen = precision_of_layers.stored(ranged, before.sixteen, requested_bits)
        searches = False
    else:
        chosen = precision_of_layers.choose(ranged, precision.bits, requested_bits, precision.numbers)
    spent, cost_8bit = None, None
    runs: Runs | None = None
    dense: dict[str, tuple[Node, list[Node]]] = {}
    parts: Parts = {}

    def drawn(precise: Graph, *, products: bool = False) -> Graph:
        roomy, _ = widen_ranges(precise, wider, ())
        narrow, _ = split_wide(_for_shaders(roomy, target, dense, products=products), target, before=parts)
        return dedupe_zero_maps(assign_scales(narrow, (), before.scales)[0])

    if tolerance is not None or budget is not None:
        samples = [(image, Fold()) for image in pictures]
        chosen, spent = spend(ranged, chosen, samples, Limits(tolerance, budget))
    elif searches:
        enough = AUTO_NUMBERS if any(choice and choice.why == BY_RULE for choice in chosen.values()) else AUTO_TOLERANCE
        counted = None
        if plan is not None:
            # The work that fetched gates save is available for precision.
            cost_8bit = plan(drawn(precision_of_layers.assign(ranged, {})[0], products=True))
            counted = partial(_times, cost_8bit, plan, drawn, target.draw_cost)
        measured = runs = of_graph(ranged, pictures, len(folds), assigned.clipped).with_clipped()

        def badness(stored: Graph) -> float:
            outputs = measured.errors(OnGpu(stored, folds), causes=False).outputs
            return max(output.badness for output in outputs)

        samples = [(sample.image, Fold() if sample.fold is None else folds[sample.fold]) for sample in runs.samples]
        limits = Limits(enough, share=AUTO_SHARE, images=PICTURES_OF_FEW if len(pictures) < FEW else PICTURES)
        chosen, spent = spend(ranged, chosen, samples, limits, counted, badness)
    precise, fine = precision_of_layers.assign(ranged, chosen)
    precise, ranges = widen_ranges(precise, wider, ranges)
    narrow, wide = split_wide(_for_shaders(precise, target, dense), target, before=parts)
    if shorten is not None:
        narrow, more = shorten(dedupe_zero_maps(assign_scales(narrow, (), before.scales)[0]))
        wide += more
    scaled, scales = assign_scales(narrow, pictures, before.scales)
    scaled = dedupe_zero_maps(scaled)
    require_finite_ranges(scaled)
    ranges = tuple(choice for choice in ranges if choice.layer in scaled.by_name)
    fine = tuple(layer for layer in fine if layer.layer in scaled.by_name)
    return PreparedGraph(
        scaled,
        ranges,
        wide,
        scales,
        fine,
        spent,
        wider,
        learnt,
        cost_8bit,
        folds,
        assigned.clipped,
        runs,
    )


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


def _times(
    cost_8bit: Cost, plan: Callable[[Graph], Cost], drawn: Callable[[Graph], Graph], draw_cost: float, stored: Graph
) -> CostRatios:
    """Return the cost of a graph with bits as multiples of ``cost_8bit``; a draw takes ``draw_cost`` microseconds."""
    cost = plan(drawn(stored))
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
    whole = np.zeros((height, width, channels * groups, filters), np.float32)
    for f in range(filters):
        first = f // (filters // groups) * channels
        whole[:, :, first : first + channels, f] = kernel[..., f]
    return replace(node.with_attrs(groups=1), weights={**node.weights, "kernel": whole})
