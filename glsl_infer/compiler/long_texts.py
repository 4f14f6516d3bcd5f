"""Rewriting of a prepared graph: convolutions with long shader source become partial sums.

``ranges.wide`` splits convolutions with too many textures or weights for a pass. At this stage it is still unknown if
the weights can be stored in a texture: it depends on ranges, and on the effect of rounding weights to 8 bits. If they
cannot, and no uniform array is long enough, each output slice would have its own program with all weights as constants.
A network of a hundred layers had a thousand such programs of 90 kB each, which every reader checks and every driver
compiles.
"""

from __future__ import annotations

from collections.abc import Collection

from glsl_infer import ops
from glsl_infer.compiler.planned_cost import Plans
from glsl_infer.compiler.ranges.wide import WideLayer, cost_of_sums, split_wide
from glsl_infer.graph import Graph, Node
from glsl_infer.lowering.conv_columns import columns_of
from glsl_infer.lowering.target import Target
from glsl_infer.program import WeightsChoice

_RESIDUAL_AND_BIAS = 2
"""Number of constants after those of the kernel: a residual's factor and the bias."""


def split_long(
    graph: Graph, target: Target, plans: Plans, exact: Collection[str] = ()
) -> tuple[Graph, tuple[WideLayer, ...]]:
    """Return the graph with partial sums for layers whose baked constants would cost much more than the sums.

    Args:
        graph: a prepared graph; the scales of the partial sums must be computed afterwards.
        target: options of code generation, with ``auto`` weights in atlas layout.
        plans: plans for this target.
        exact: layers with weights of more than 8 bits, which are not split.

    Returns:
        The graph, and a description of each split layer.
    """
    long_layers = {node.name for node in graph.nodes if _exceeds_arrays(node, target.uniform_vectors)}
    long_layers -= {*target.weights_for, *exact}
    if not long_layers:  # as in most networks
        return graph, ()
    choices = [target.choice(layer) for layer in plans.layer_weights(graph) if layer.name in long_layers]
    reasons = {choice.layer: choice.reason for choice in choices if _too_long(graph, choice, target)}
    return split_wide(graph, target, reasons) if reasons else (graph, ())


def _exceeds_arrays(node: Node, uniform_vectors: int) -> bool:
    """Return whether the constants of a convolution fit no uniform array."""
    if not ops.get(node.op).convolves or "kernel" not in node.weights:
        return False
    columns = columns_of(node.weights["kernel"].shape, node.attrs["groups"])
    return columns.count + _RESIDUAL_AND_BIAS > uniform_vectors


def _too_long(graph: Graph, choice: WeightsChoice, target: Target) -> bool:
    node, cost = graph.by_name[choice.layer], choice.microseconds["baked"]
    if choice.mode != "baked" or cost is None or not ops.get(node.op).convolves or node.attrs["alpha"]:
        return False
    columns = columns_of(node.weights["kernel"].shape, node.attrs["groups"])
    return cost > target.exactness * cost_of_sums(choice, columns, target.uniform_vectors)
