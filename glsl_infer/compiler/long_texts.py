"""Rewriting of a prepared graph: convolutions with long shader source become partial sums.

``ranges.wide`` splits convolutions with too many textures or weights for a pass. At this stage it is still unknown if
the weights can be stored in a texture: it depends on ranges, and on the effect of rounding weights to 8 bits. If they
cannot, and no uniform array is long enough, each output slice would have its own program with all weights as constants.
A network of a hundred layers had a thousand such programs of 90 kB each, which every reader checks and every driver
compiles.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from glsl_infer import ops
from glsl_infer.compiler.lower import lowered, storage_of
from glsl_infer.compiler.ranges import Calibration
from glsl_infer.compiler.ranges.wide import WideLayer, cost_of_sums, split_wide
from glsl_infer.graph import Graph
from glsl_infer.lowering.builder import Builder, Detail
from glsl_infer.lowering.calibration_maps import CalibrationMaps
from glsl_infer.lowering.conv_columns import columns_of
from glsl_infer.lowering.target import Target
from glsl_infer.program import WeightsChoice

_BEHIND = 2
"""Number of constants after those of the kernel: a residual's factor and the bias."""


def possible(graph: Graph, uniform_vectors: int) -> frozenset[str]:
    """Return the convolutions whose constants fit no uniform array. Few networks have any; these need one more plan."""
    return frozenset(
        node.name
        for node in graph.nodes
        if ops.get(node.op).convolves
        and "kernel" in node.weights
        and columns_of(node.weights["kernel"].shape, node.attrs["groups"]).count + _BEHIND > uniform_vectors
    )


def split_long(
    graph: Graph, target: Target, calibration: Calibration, tell: Callable[[str], object] = str
) -> tuple[Graph, tuple[WideLayer, ...]]:
    """Return the graph with partial sums for layers whose baked constants would cost much more than the sums.

    Args:
        graph: a prepared graph; the scales of the partial sums must be computed afterwards.
        target: options of code generation, with ``auto`` weights in atlas layout.
        calibration: images for which weights are rounded, and layers with weights of more than 8 bits.
        tell: called with a progress message for each layer.

    Returns:
        The graph, and a description of each split layer.
    """
    long = possible(graph, target.uniform_vectors) - {*target.weights_for, *calibration.known.exact}
    if not long:
        return graph, ()
    maps = CalibrationMaps(dict, has_images=bool(calibration.images or calibration.known.calibration_data))
    builder = Builder(graph, target, storage_of(graph), maps, calibration.known.exact, Detail.COST)
    choices = [choice for choice in lowered(builder, tell).choices if choice.layer in long]
    return split(graph, choices, target)


def split(graph: Graph, choices: Sequence[WeightsChoice], target: Target) -> tuple[Graph, tuple[WideLayer, ...]]:
    """Return the graph with partial sums for those of the chosen convolutions for which they cost much less."""
    reasons = {choice.layer: choice.reason for choice in choices if _too_long(graph, choice, target)}
    return split_wide(graph, uniform_vectors=target.uniform_vectors, known=reasons) if reasons else (graph, ())


def _too_long(graph: Graph, choice: WeightsChoice, target: Target) -> bool:
    node, cost = graph.by_name[choice.layer], choice.microseconds["baked"]
    if choice.mode != "baked" or cost is None or not ops.get(node.op).convolves or node.attrs["alpha"]:
        return False
    columns = columns_of(node.weights["kernel"].shape, node.attrs["groups"])
    return cost > target.exactness * cost_of_sums(choice, columns, target.uniform_vectors)
