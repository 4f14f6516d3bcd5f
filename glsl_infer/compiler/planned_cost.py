"""What a frame of a prepared graph costs, as the compiler plans it: no shader is written, and no picture is looked at.

Draws are those of the program. Instructions times pixels are those of ``weights_plan`` and ``other_work``.
"""

from __future__ import annotations

from glsl_infer import ops
from glsl_infer.compiler.gutters import gutters
from glsl_infer.compiler.ranges.bounds import ranges_of
from glsl_infer.errors import ModelError
from glsl_infer.graph import Graph
from glsl_infer.lowering import weights_plan
from glsl_infer.lowering.builder import Builder
from glsl_infer.lowering.typical import Typical
from glsl_infer.lowering.weights_plan import Cost


def planned(
    graph: Graph,
    *,
    given: bool,
    uniform_vectors: int,
    layout: str = "atlas",
    weight_bits: str = "auto",
    draw_cost: float = weights_plan.DRAW,
) -> Cost:
    """Return the cost of a prepared graph.

    Args:
        graph: with ranges, bits and scales.
        given: whether a person gives pictures, so that weights are rounded for them.
        uniform_vectors: the longest uniform array.
        layout: see ``lower.to_program``.
        weight_bits: see there.
        draw_cost: see there.

    Raises:
        ModelError: a layer that the shaders cannot do, by name.
    """
    bits = {name: chosen.bits for name, chosen in ranges_of(graph).items()}
    nothing = Typical(dict, given=given)
    builder = Builder(
        graph,
        "auto",
        {},
        layout,
        gutters(graph),
        {},
        nothing,
        uniform_vectors,
        planning=True,
        counts=True,
        weight_bits=weight_bits,
        bits=bits,
        draw_cost=draw_cost,
    )
    for node in graph.nodes:
        try:
            ops.get(node.op).passes(node, builder)
        except ModelError as refusal:
            refusal.refused = node.name
            raise
    return builder.whole
