"""Estimated cost of a frame. The work of layers is estimated from instruction counts of Mesa's vc4 compiler."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from glsl_infer.graph import Graph
from glsl_infer.lowering.weights_plan import Cost
from glsl_infer.program.layout import slices_of

INSTRUCTIONS_PER_DENSE_WEIGHT = 29.0
"""Instructions for each weight of a dense layer: 930 for 32 weights, measured with Mesa's vc4 compiler."""

DENSE_OPERATORS = ("dense_products", "dense_at_once", "mean_products", "dense_of_sums")
"""Operators that multiply by the weights of a dense layer."""

INSTRUCTIONS_PER_FRAGMENT: Mapping[str, tuple[float, float]] = {
    "add": (31.0, 56.0),
    "binary": (190.0, 220.0),
    "gated_sum": (270.0, 330.0),
    "max_pool": (38.0, 123.0),
    "upsample_bilinear": (89.0, 187.0),
}
"""Instructions for a fragment of an 8-bit map, and for each of the two stores of a 16-bit map."""

DEFAULT_INSTRUCTIONS = (40.0, 90.0)
"""Instructions of all other operators, in the form of ``INSTRUCTIONS_PER_FRAGMENT``."""


def frame_cost(
    graph: Graph, bits: Mapping[str, int], convolutions: Mapping[str, tuple[float, int]], draw_layers: Sequence[str]
) -> Cost:
    """Return the cost of a frame of a program.

    Args:
        graph: graph with split dense layers.
        bits: of feature maps, by layer.
        convolutions: (work, draws) of the convolutions.
        draw_layers: the layer of each draw; those of ``convolutions`` are ignored.
    """
    other_draws = [layer for layer in draw_layers if layer not in convolutions]
    work = sum(work for work, _ in convolutions.values()) + other_work(graph, {*other_draws}, bits)
    return Cost(work, len(other_draws) + sum(draws for _, draws in convolutions.values()))


def other_work(graph: Graph, layers: Collection[str], bits: Mapping[str, int]) -> float:
    """Return the estimated instructions times pixels of some layers.

    Args:
        graph: graph with split dense layers.
        layers: names of the layers with draws, except convolutions.
        bits: of feature maps, by layer.
    """
    work = 0.0
    for node in graph.nodes:
        if node.name in layers and node.op in DENSE_OPERATORS:
            work += INSTRUCTIONS_PER_DENSE_WEIGHT * node.weights["kernel"].size
        elif node.name in layers and len(graph.shapes[node.name]) == 3:
            height, width, channels = graph.shapes[node.name]
            draws = 2 if bits.get(node.name, 8) == 16 else 1
            instructions = INSTRUCTIONS_PER_FRAGMENT.get(node.op, DEFAULT_INSTRUCTIONS)[draws - 1]
            work += height * width * slices_of(channels) * draws * instructions
    return work
