"""Runs one layer on the GPU and says how far it is from the exact value before rounding, in stored steps."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from glsl_infer import bundle, fixed_point, lowering, ops
from glsl_infer.bundle import Bundle
from glsl_infer.gl.context import Context
from glsl_infer.graph import Graph, Node
from glsl_infer.layout import FixedPoint
from glsl_infer.session import Session

TOLERANCE = 0.52
"""A driver may round x.5 either way, and its float32 sums differ a little from float64."""


def make_bundle(graph: Graph, weights: str = "auto") -> Bundle:
    """Return the bundle of a graph that needs no optimising."""
    prepared, _ = fixed_point.prepare(graph)
    program = lowering.to_program(prepared, weights=weights)
    output = program.values[prepared.output]
    assert isinstance(output, FixedPoint)
    return bundle.make(program, [f"class {index}" for index in range(output.length)])


def exact_steps(made: Bundle, node: Node, inputs: Sequence[NDArray[np.floating]]) -> NDArray[np.float64]:
    """Return the float64 output before rounding, in steps of what its texture stores (saturated like a store)."""
    operator = ops.get(node.op)
    exact = np.asarray(operator.reference(node, [np.asarray(one, np.float64) for one in inputs]), np.float64)
    value = made.values[node.name]
    if isinstance(value, FixedPoint):
        return np.clip(exact / value.scale * 256.0, -32768, 32767)
    return np.clip(exact, 0.0, 1.0) * 255.0


def gpu_steps(session: Session, name: str, inputs: Sequence[NDArray[np.floating]]) -> NDArray[np.float64]:
    """Return what the GPU stores, in the same steps."""
    value = session.bundle.values[name]
    unit = 256.0 / value.scale if isinstance(value, FixedPoint) else 255.0
    return session.run_layer(name, inputs).astype(np.float64) * unit


def worst(
    context: Context, graph: Graph, layer: str, inputs: Sequence[NDArray[np.floating]], weights: str = "auto"
) -> float:
    """Return the largest difference of one layer, in steps."""
    made = make_bundle(graph, weights)
    with Session(made, context=context) as session:
        given = gpu_steps(session, layer, inputs)
    wanted = exact_steps(made, made.graph.by_name[layer], inputs)
    assert given.shape == wanted.shape
    return float(np.abs(given - wanted).max())
