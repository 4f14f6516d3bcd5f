"""Fixed-point stages: dense layers become passes of 16-bit fixed point, and every vector gets its scale.

The scale of a stored vector is the smallest power of two that fits the interval bound of its values. If the step
(scale/256, times the value of a stored unit in the layer's output) exceeds 1/128, the bound is too pessimistic. It is
then replaced by twice the largest value on the calibration images, and values beyond saturate. For networks that end in
small values, 1/128 is too coarse. Therefore the range is at most ``AMPLE`` times as large as the first images show.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from glsl_infer import ops
from glsl_infer.compiler.ranges import observed
from glsl_infer.compiler.ranges.intervals import bounds_of
from glsl_infer.graph import Graph, Node
from glsl_infer.graph.reference import Inputs
from glsl_infer.ops.dense_at_once import MOST_INPUTS
from glsl_infer.ops.dense_products import BLOCK
from glsl_infer.ops.dense_sum import MAX_COUNT
from glsl_infer.program import quantize

LARGEST_STEP = 1.0 / 128.0

AMPLE = 64.0
"""Ratio of the largest allowed value to the largest of two images.

It allows for other images with values 64 times as large. A step is then 1/512 of the largest observed value.
"""

FEW = 2
"""Number of images for ``AMPLE``."""

MOST_SUMMED, MOST_FETCHED = 128, 4096
"""Largest number of columns of partial sums in a single last pass, and of columns times pairs of outputs.

Each pair is a separate draw, so a fetch takes VideoCore IV about 0.09 us. All fetches together take less than the job
of a shorter sum, which takes 460 us.
"""


@dataclass(frozen=True)
class ScaleChoice:
    """Choice of the scale of one stored vector; one line of the export report.

    Attributes:
        layer: name of the stage.
        bound: interval bound of the values, in stored units; twice that for a wide convolution's partial sums.
        calibrated: largest value on the calibration images, or None without any.
        scale: the chosen scale, a power of two.
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
        """True if the scale is from the interval bound and its step exceeds ``LARGEST_STEP``."""
        return self.by == "bound" and self.step > LARGEST_STEP


def split_dense(graph: Graph, before: dict[str, tuple[Node, list[Node]]] | None = None) -> Graph:
    """Round the weights of dense nodes to the 16-bit grid, and split nodes with many inputs into products and sums.

    Args:
        graph: a graph with ranges.
        before: cache of split dense nodes, for graphs that differ in other nodes; it is updated.
    """
    cache = {} if before is None else before
    nodes: list[Node] = []
    for node in graph.nodes:
        if not ops.get(node.op).staged:
            nodes.append(node)
            continue
        if node.name not in cache or not _alike(cache[node.name][0], node):
            cache[node.name] = node, _stages(node)
        nodes += cache[node.name][1]
    return graph.rebuilt(nodes)


def _alike(first: Node, other: Node) -> bool:
    """Return whether two dense nodes of one name have the same stages."""
    keys = [(node.inputs, node.attrs["activation"], *map(id, node.weights.values())) for node in (first, other)]
    return keys[0] == keys[1]


def assign_scales(
    graph: Graph, images: Sequence[Inputs] = (), known: Mapping[str, float] = MappingProxyType({})
) -> tuple[Graph, tuple[ScaleChoice, ...]]:
    """Set the ``scale`` of every node that stores 16-bit fixed point, in a graph whose dense layers are split.

    Args:
        graph: a graph with ranges.
        images: calibration inputs, as for ``reference.run``.
        known: scales from an earlier calibration, by stage name; see ``stored``.
    """
    bounds = _result_bounds(graph)
    units = {name: _unit(graph, graph.by_name[name]) for name in bounds}
    open_names = [name for name in bounds if name not in known]
    coarse = [name for name in open_names if _step(bounds[name], units[name]) > LARGEST_STEP]
    fine_enough = [name for name in open_names if name not in coarse]
    first = _largest(graph, [*coarse, *fine_enough], images[:FEW])
    further = _largest(graph, coarse, images[FEW:])
    seen = {name: max(first[name], further.get(name, 0.0)) for name in coarse if name in first}
    ample = {name: AMPLE * first[name] for name in fine_enough if name in first}
    choices = {}
    for name, bound in bounds.items():
        choices[name] = _choose(name, bound, seen.get(name), ample.get(name), units[name])
        if name in known:
            scale = known[name]
            choices[name] = replace(choices[name], scale=scale, by="ranges", step=scale / 256.0 * units[name])
    nodes = [node.with_attrs(scale=choices[node.name].scale) if node.name in choices else node for node in graph.nodes]
    return graph.rebuilt(nodes), tuple(choices.values())


def _result_bounds(graph: Graph) -> dict[str, float]:
    """Return a bound of the magnitude of every computed value in 16-bit fixed point, with the operator's margin."""
    bounds = bounds_of(graph, of_maps=False)
    result = {}
    for node in graph.nodes:
        operator = ops.get(node.op)
        if "scale" in operator.attrs and not operator.is_input:
            low, high = bounds[node.name]
            result[node.name] = operator.margin * float(max(np.abs(low).max(), np.abs(high).max()))
    return result


def _step(bound: float, unit: float) -> float:
    """Return the step in the layer's output of values with a scale for ``bound``."""
    return quantize.power_of_two_scale(bound) / 256.0 * unit


def _largest(graph: Graph, names: Sequence[str], images: Sequence[Inputs]) -> dict[str, float]:
    """Return the largest magnitude of layers on some images; nothing without layers or images."""
    extremes = observed.extremes(graph, names, images) if names and images else {}
    return {name: float(max(np.abs(low).max(), np.abs(high).max())) for name, (low, high) in extremes.items()}


def _choose(layer: str, bound: float, seen: float | None, ample: float | None, unit: float) -> ScaleChoice:
    scale, by = quantize.power_of_two_scale(bound), "bound"
    likely = ample if seen is None else 2.0 * seen
    if likely and quantize.power_of_two_scale(likely) < scale:
        scale, by = quantize.power_of_two_scale(likely), "calibration"
    return ScaleChoice(layer, bound, seen, scale, scale / 256.0 * unit, by)


def _unit(graph: Graph, node: Node) -> float:
    """Return the value of one stored unit of partial sums in the layer's output; 1 for other values."""
    if not ops.get(node.op).is_partial(node):
        return 1.0
    while ops.get(node.op).is_partial(node):
        (node,) = graph.consumers[node.name]
    return ops.get(node.op).unit(node)


def _stages(node: Node) -> list[Node]:
    """Return the nodes that compute a dense layer: one for few inputs, else products and sums."""
    kernel, bias = node.weights["kernel"].astype(np.float64), node.weights["bias"].astype(np.float64)
    inputs, outputs = kernel.shape
    largest = np.abs(kernel).max(axis=0)
    row_scale = np.array([quantize.power_of_two_scale(float(value)) for value in largest])
    # Row scales are stored as integer multiples, 1 to 2**14, of a common unit.
    row_unit = float(row_scale.max()) * 2.0**-14
    row_scale = np.maximum(row_scale, row_unit)
    bias_scale = quantize.power_of_two_scale(float(np.abs(bias).max()))
    integers = np.stack([quantize.encode_fixed16(kernel[:, j], row_scale[j]) for j in range(outputs)], axis=1)

    last = {"activation": node.attrs["activation"], "scale": None, "bias_scale": bias_scale, "row_unit": row_unit}
    constants = {
        "row_scale": row_scale.astype(np.float32),
        "bias": quantize.round_to_fixed16(bias, bias_scale).astype(np.float32),
    }
    weights = {"kernel": (integers / 256.0).astype(np.float32)}
    columns = -(-inputs // BLOCK)
    if inputs <= MOST_INPUTS:
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
