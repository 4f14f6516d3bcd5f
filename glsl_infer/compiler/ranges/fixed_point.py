"""Graph -> graph: dense layers become passes of 16-bit fixed point, and every vector gets its scale.

The scale of a stored vector is the smallest power of two that fits the interval bound of its values.
Where the step (scale/256, times what a stored unit is worth in the layer's output) would exceed 1/128, the
bound is too pessimistic to be useful: twice the largest value seen on calibration pictures takes its
place, and what lies beyond saturates. Where small numbers end a network, 1/128 is much: no bound is more than
``AMPLE`` times what the first pictures show.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from glsl_infer import ops
from glsl_infer.compiler.ranges import calibration
from glsl_infer.compiler.ranges.bounds import bounds_of
from glsl_infer.graph import Graph, Node
from glsl_infer.graph.reference import Inputs
from glsl_infer.ops.dense_products import BLOCK
from glsl_infer.ops.dense_sum import MAX_COUNT
from glsl_infer.program import quantize

LARGEST_STEP = 1.0 / 128.0

AMPLE = 64.0
"""Even two pictures show a 64th of what others will; a step is a 512th of what they show, then."""

FEW = 2
"""Pictures that show it."""

MOST_AT_ONCE = 128
"""Inputs of a dense layer that one pass adds up. With more, a texel of it takes longer than the passes that it saves:
few texels leave most of a GPU idle."""

MOST_SUMMED, MOST_FETCHED = 128, 4096
"""Columns of partial sums that a last pass adds up alone, and those of all pairs of outputs together. Its pairs are
drawn apart, so a fetch takes VideoCore IV some 0.09 us: all of them less than the job of a shorter sum, 460."""


@dataclass(frozen=True)
class ScaleChoice:
    """How the scale of one stored vector was chosen; one line of the export report.

    Attributes:
        bound: interval bound of the values, in stored units; twice that for a wide convolution's partial sums.
        calibrated: largest value on the calibration pictures, or None without any.
        scale: the choice, a power of two.
        step: distance of two neighbouring stored values, in units of the layer's output.
        by: ``bound``, ``calibration`` or ``ranges`` (a file of ranges).
    """

    layer: str
    bound: float
    calibrated: float | None
    scale: float
    step: float
    by: str

    @property
    def too_coarse(self) -> bool:
        """Whether the step exceeds what calibration would have been asked for."""
        return self.by == "bound" and self.step > LARGEST_STEP


def split_dense(graph: Graph, before: dict[str, tuple[Node, list[Node]]] | None = None) -> Graph:
    """Give every dense node weights on the 16-bit grid, and cut those of many inputs into products and sums.

    Args:
        graph: with ranges.
        before: what was made of dense nodes, of graphs that differ in other nodes; it gets what is made here.
    """
    known = {} if before is None else before
    nodes: list[Node] = []
    for node in graph.nodes:
        if not ops.get(node.op).staged:
            nodes.append(node)
            continue
        if node.name not in known or not _alike(known[node.name][0], node):
            known[node.name] = node, _split(node)
        nodes += known[node.name][1]
    return graph.rebuilt(nodes)


def _alike(one: Node, other: Node) -> bool:
    """Return whether the same is made of two dense nodes of one name."""
    ends = [(node.inputs, node.attrs["activation"], *map(id, node.weights.values())) for node in (one, other)]
    return ends[0] == ends[1]


def assign_scales(
    graph: Graph, pictures: Sequence[Inputs] = (), known: Mapping[str, float] = MappingProxyType({})
) -> tuple[Graph, tuple[ScaleChoice, ...]]:
    """Set the ``scale`` of every node that stores 16-bit fixed point, in a graph whose dense layers are split.

    ``known`` are scales that pictures told before; see ``stored``.
    """
    bounds = bounds_of(graph, of_maps=False)
    storing = {
        node.name: node for node in graph.nodes if "scale" in ops.get(node.op).attrs and not node.operator.is_input
    }
    largest = {name: float(max(np.abs(bounds[name][0]).max(), np.abs(bounds[name][1]).max())) for name in storing}
    largest = {name: ops.get(storing[name].op).margin * bound for name, bound in largest.items()}
    units = {name: _unit(graph, node) for name, node in storing.items()}
    coarse = [
        name
        for name in storing
        if name not in known and quantize.power_of_two_scale(largest[name]) / 256.0 * units[name] > LARGEST_STEP
    ]
    others = [name for name in storing if name not in known and name not in coarse]
    first = _largest(graph, [*coarse, *others], pictures[:FEW])
    more = _largest(graph, coarse, pictures[FEW:])
    seen = {name: max(first[name], more.get(name, 0.0)) for name in coarse if name in first}
    ample = {name: AMPLE * first[name] for name in others if name in first}
    choices = {name: _choose(name, largest[name], seen.get(name), ample.get(name), units[name]) for name in storing}
    choices.update(
        {
            name: replace(choices[name], scale=scale, by="ranges", step=scale / 256.0 * units[name])
            for name, scale in known.items()
            if name in choices
        }
    )
    nodes = [node.with_attrs(scale=choices[node.name].scale) if node.name in choices else node for node in graph.nodes]
    return graph.rebuilt(nodes), tuple(choices.values())


def _largest(graph: Graph, names: Sequence[str], pictures: Sequence[Inputs]) -> dict[str, float]:
    found = calibration.extremes(graph, names, pictures) if names and pictures else {}
    return {name: float(max(np.abs(low).max(), np.abs(high).max())) for name, (low, high) in found.items()}


def _choose(layer: str, bound: float, seen: float | None, ample: float | None, unit: float) -> ScaleChoice:
    scale, by = quantize.power_of_two_scale(bound), "bound"
    likely = ample if seen is None else 2.0 * seen
    if likely and quantize.power_of_two_scale(likely) < scale:
        scale, by = quantize.power_of_two_scale(likely), "calibration"
    return ScaleChoice(layer, bound, seen, scale, scale / 256.0 * unit, by)


def _unit(graph: Graph, node: Node) -> float:
    """Return what one stored unit of partial sums is worth in the layer's output; 1 of other values."""
    if not ops.get(node.op).is_partial(node):
        return 1.0
    while ops.get(node.op).is_partial(node):
        (node,) = graph.consumers[node.name]
    return ops.get(node.op).unit(node)


def _split(node: Node) -> list[Node]:
    kernel, bias = node.weights["kernel"].astype(np.float64), node.weights["bias"].astype(np.float64)
    inputs, outputs = kernel.shape
    largest = np.abs(kernel).max(axis=0)
    row_scale = np.array([quantize.power_of_two_scale(float(value)) for value in largest])
    # Row scales are stored as whole multiples, 1 to 2**14, of a common unit.
    row_unit = float(row_scale.max()) * 2.0**-14
    row_scale = np.maximum(row_scale, row_unit)
    bias_scale = quantize.power_of_two_scale(float(np.abs(bias).max()))
    integers = np.stack([quantize.fixed16(kernel[:, j], row_scale[j]) for j in range(outputs)], axis=1)

    last = {"activation": node.attrs["activation"], "scale": None, "bias_scale": bias_scale, "row_unit": row_unit}
    constants = {
        "row_scale": row_scale.astype(np.float32),
        "bias": quantize.store16(bias, bias_scale).astype(np.float32),
    }
    weights = {"kernel": (integers / 256.0).astype(np.float32)}
    columns = -(-inputs // BLOCK)
    if inputs <= MOST_AT_ONCE:
        return [Node(node.name, "dense_at_once", node.inputs, last, {**weights, **constants})]
    shortenings, alone = 0, columns <= MOST_SUMMED and columns * -(-outputs // 2) <= MOST_FETCHED
    while columns > MAX_COUNT and not alone:
        columns, shortenings = -(-columns // MAX_COUNT), shortenings + 1
    attrs = {"columns": columns * MAX_COUNT**shortenings, "scale": None}
    nodes = [Node(f"{node.name}-products", "dense_products", node.inputs, attrs, weights)]
    for index in range(shortenings):
        attrs = {"count": MAX_COUNT, "last": False, "scale": None}
        nodes.append(Node(f"{node.name}-sum{index + 1}", "dense_sum", (nodes[-1].name,), attrs))
    last = {"count": columns, "last": True, **last}
    return [*nodes, Node(node.name, "dense_sum", (nodes[-1].name,), last, constants)]
