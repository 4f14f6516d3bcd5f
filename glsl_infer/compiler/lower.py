"""Graph -> program: every operator appends its textures, shaders and passes to a ``Builder``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from glsl_infer import ops
from glsl_infer.compiler import sharing
from glsl_infer.compiler.typical import typical_maps
from glsl_infer.errors import InputError, ModelError
from glsl_infer.graph import Graph
from glsl_infer.lowering.builder import Builder
from glsl_infer.lowering.cut_sums import Typical
from glsl_infer.lowering.weights_plan import UNIFORM_VECTORS, WEIGHTS_MODES
from glsl_infer.ops.operator import ViewOperator
from glsl_infer.program import Program
from glsl_infer.program.layout import LAYOUTS, FixedMap, Share, textures_of


def to_program(
    graph: Graph,
    *,
    weights: str = "auto",
    weights_for: Mapping[str, str] | None = None,
    layout: str = "atlas",
    memory: str = "auto",
    uniform_vectors: int = UNIFORM_VECTORS,
    pictures: Sequence[NDArray[np.uint8]] = (),
) -> Program:
    """Turn a prepared graph into textures, shaders and passes.

    Args:
        graph: what ``prepare.prepare`` returned.
        weights: ``baked`` (constants, a program for each slice), ``uniform`` (an array, a program for each
            kind of layer), ``texture`` (one draw for all slices, where a layer can have it) or ``auto`` (each where it
            costs least; see ``weights_plan``).
        weights_for: the same for single layers, by their names, whatever ``weights`` is.
        layout: ``atlas`` (all slices of a layer in one texture) or ``planar`` (a texture for each).
        memory: how textures are shared, see ``memory``; ``auto`` is the method that needs the fewest bytes.
        uniform_vectors: the longest uniform array, in vec4; see ``weights_plan.UNIFORM_VECTORS``.
        pictures: as the network reads them, for shaders of devices that cut sums (``compiler.typical``).

    Raises:
        ModelError: a layer that the shaders cannot do, by name.
        InputError: an unknown weights mode, layout or memory method; ``weights_for`` a layer whose weights have no
            choice, or not this one.
        MissingExtraError: ``flow`` without networkx.
    """
    alone = weights_for or {}
    for mode in (weights, *alone.values()):
        if mode not in WEIGHTS_MODES:
            raise InputError(f"weights '{mode}'; choose one of {', '.join(WEIGHTS_MODES)}")
    if layout not in LAYOUTS:
        raise InputError(f"layout '{layout}'; choose one of {', '.join(LAYOUTS)}")
    needed = gutters(graph)
    typical = Typical(lambda: typical_maps(graph, pictures))
    _require_a_gutter_of_zeros(graph, needed)

    def built(shares: Mapping[str, Share]) -> Builder:
        builder = Builder(graph, weights, alone, layout, needed, shares, typical, uniform_vectors)
        for node in graph.nodes:
            ops.get(node.op).passes(node, builder)
        return builder

    builder = built({})
    output, picture = builder.values[graph.output], builder.values[graph.input.name]
    if isinstance(output, FixedMap) or set(textures_of(picture)) & set(textures_of(output)):
        raise ModelError.layer(
            graph.output, "the picture itself is the output, or part of it", "end the network in a layer that computes"
        )
    program = builder.finish()
    choices = list(program.choices)
    for name in alone:
        if name not in choices:
            raise InputError(f"no layer '{name}' has weights to choose for; there are: {', '.join(choices)}")
    shares, uses = sharing.plan(program, builder.grids, memory)
    return replace(built(shares).finish() if shares else program, memory=uses)


def _require_a_gutter_of_zeros(graph: Graph, needed: Mapping[str, int]) -> None:
    """Refuse padding around a view of a picture whose gutter, bytes of 0, is not the value 0."""
    for reader in graph.consumers[graph.input.name] if any(graph.input.attrs["zeros"]) else ():
        if isinstance(ops.get(reader.op), ViewOperator) and needed[reader.name]:
            raise ModelError.layer(
                reader.name,
                "padding around it and the picture in it, of which byte 0 is not the value 0",
                "let a 1x1 convolution of the picture come first, or take the picture over [0, 1]",
            )


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
