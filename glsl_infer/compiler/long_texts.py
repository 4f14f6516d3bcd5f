"""Rewriting of a prepared graph: convolutions with long shader source become partial sums.

``ranges.wide`` splits convolutions with too many textures or weights for a pass. At this stage it is still unknown if
the weights can be stored in a texture: it depends on ranges, and on the effect of rounding weights to 8 bits. If they
cannot, and no uniform array is long enough, each output slice would have its own program with all weights as constants.
A network of a hundred layers had a thousand such programs of 90 kB each, which every reader checks and every driver
compiles.
"""

from __future__ import annotations

from collections.abc import Sequence

from glsl_infer import ops
from glsl_infer.compiler.ranges.wide import WideLayer, cost_of_sums, split_wide
from glsl_infer.graph import Graph
from glsl_infer.lowering.conv_columns import columns_of
from glsl_infer.lowering.target import EXACTNESS
from glsl_infer.lowering.weights_plan import UNIFORM_VECTORS
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


def split(
    graph: Graph, choices: Sequence[WeightsChoice], uniform_vectors: int = UNIFORM_VECTORS
) -> tuple[Graph, tuple[WideLayer, ...]]:
    """Return the graph with partial sums for layers whose baked constants would cost much more than the sums.

    Args:
        graph: a prepared graph in atlas layout; the scales of the partial sums must be computed afterwards.
        choices: the choices for its weights; see ``lower.weights_choices``.
        uniform_vectors: see ``lower.to_program``.

    Returns:
        The graph, and a description of each split layer.
    """
    reasons = {choice.layer: choice.reason for choice in choices if _too_long(graph, choice, uniform_vectors)}
    return split_wide(graph, uniform_vectors=uniform_vectors, known=reasons) if reasons else (graph, ())


def _too_long(graph: Graph, choice: WeightsChoice, uniform_vectors: int) -> bool:
    node, cost = graph.by_name[choice.layer], choice.microseconds["baked"]
    if choice.mode != "baked" or cost is None or not ops.get(node.op).convolves or node.attrs["alpha"]:
        return False
    columns = columns_of(node.weights["kernel"].shape, node.attrs["groups"])
    return cost > EXACTNESS * cost_of_sums(choice, columns, uniform_vectors)
