"""Graph -> program: every operator appends its textures, shaders and passes to a ``Builder``."""

from __future__ import annotations

from glsl_infer import ops
from glsl_infer.errors import InputError, ModelError
from glsl_infer.graph import Graph
from glsl_infer.layout import LAYOUTS, FixedMap, textures_of
from glsl_infer.lowering.builder import WEIGHTS_MODES, Builder
from glsl_infer.ops.operator import ViewOperator
from glsl_infer.program import Program


def to_program(graph: Graph, *, weights: str = "auto", layout: str = "atlas") -> Program:
    """Turn a prepared graph into textures, shaders and passes.

    Args:
        graph: what ``prepare.prepare`` returned.
        weights: ``baked`` (constants, a program for each slice), ``uniform`` (an array, a program for each
            kind of layer) or ``auto`` (each where it costs less).
        layout: ``atlas`` (all slices of a layer in one texture) or ``planar`` (a texture for each).

    Raises:
        ModelError: a layer that the shaders cannot do, by name.
        InputError: an unknown weights mode or layout.
    """
    if weights not in WEIGHTS_MODES:
        raise InputError(f"weights '{weights}'; choose one of {', '.join(WEIGHTS_MODES)}")
    if layout not in LAYOUTS:
        raise InputError(f"layout '{layout}'; choose one of {', '.join(LAYOUTS)}")
    builder = Builder(graph, weights, layout, gutters(graph))
    for node in graph.nodes:
        ops.get(node.op).passes(node, builder)
    output, picture = builder.values[graph.output], builder.values[graph.input.name]
    if isinstance(output, FixedMap) or set(textures_of(picture)) & set(textures_of(output)):
        raise ModelError.layer(
            graph.output, "the picture itself is the output, or part of it", "end the network in a layer that computes"
        )
    return builder.finish()


def gutters(graph: Graph) -> dict[str, int]:
    """Return how many texels of 0 each output needs around its tiles: as many as its readers pad."""
    needed: dict[str, int] = {}
    for node in reversed(graph.nodes):
        needed[node.name] = 0
        for reader in graph.consumers[node.name]:
            operator = ops.get(reader.op)
            if isinstance(operator, ViewOperator):
                needed[node.name] = max(needed[node.name], needed[reader.name])
            elif reader.inputs[0] == node.name:
                needed[node.name] = max(needed[node.name], operator.padding(reader))
    return needed
