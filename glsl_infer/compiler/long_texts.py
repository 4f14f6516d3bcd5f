"""Prepared graph -> prepared graph: convolutions whose weights would be long texts become partial sums.

``ranges.wide`` splits what cannot be one pass for each slice before anybody knows whether weights can lie in a texture:
that depends on ranges, and on what rounding them to 8 bits does. Where they cannot, and no uniform array is long
enough, each output slice would have a program of its own, with all weights as constants. A network of a hundred layers
had a thousand such programs of 90 kB each, which every reader checks and every driver compiles.
"""

from __future__ import annotations

from collections.abc import Sequence

from glsl_infer import ops
from glsl_infer.compiler.ranges.wide import EXACTNESS, WideLayer, cost_of_sums, split_wide
from glsl_infer.graph import Graph
from glsl_infer.lowering.conv_columns import columns_of
from glsl_infer.lowering.weights_plan import UNIFORM_VECTORS
from glsl_infer.program import WeightsChoice

_BEHIND = 2
"""Constants behind a kernel's: a residual's factor and the bias."""


def possible(graph: Graph, uniform_vectors: int) -> frozenset[str]:
    """Return the convolutions whose constants fit no uniform array: few networks have any, and need one more plan."""
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
    """Return the graph with those layers as partial sums whose constants would cost much more than these do.

    Args:
        graph: a prepared graph in atlas layout; scales of partial sums are to be found anew.
        choices: where its weights would be; see ``lower.weights_choices``.
        uniform_vectors: see ``lower.to_program``.
    """
    reasons = {choice.layer: choice.reason for choice in choices if _too_long(graph, choice, uniform_vectors)}
    return split_wide(graph, uniform_vectors=uniform_vectors, known=reasons) if reasons else (graph, ())


def _too_long(graph: Graph, choice: WeightsChoice, uniform_vectors: int) -> bool:
    node, cost = graph.by_name[choice.layer], choice.microseconds["baked"]
    if choice.mode != "baked" or cost is None or not ops.get(node.op).convolves or node.attrs["alpha"]:
        return False
    columns = columns_of(node.weights["kernel"].shape, node.attrs["groups"])
    return cost > EXACTNESS * cost_of_sums(choice, columns, uniform_vectors)
