"""Which values the readers of a layer can tell apart.

A sigmoid makes the same of 7 and of 700: a map that only sigmoids read needs no steps beyond, and the steps within are
so much finer. What only copies such a map hands on what its own readers tell apart.
"""

from __future__ import annotations

import math

import numpy as np

from glsl_infer import ops
from glsl_infer.graph import Graph, Node, host_steps
from glsl_infer.graph.activations import Activation
from glsl_infer.graph.activations.sigmoids import SIGMOID
from glsl_infer.ops.operator import CopyOperator

Ends = tuple[float, float]
"""The lowest and the highest value of interest."""

ALL: Ends = (-math.inf, math.inf)
TAIL = 1.0 / 512.0
"""Of a function's range, what it may still rise beyond the ends: half a step of 8 bits."""

PLACES = 2.0 ** (np.arange(-16 * 8, 16 * 8 + 1) / 16.0)
"""Sizes at which functions are looked at: from 1/256 to 256."""


def reach(graph: Graph) -> dict[str, Ends]:
    """Return the ends between which the readers of each value tell values apart; infinite where they always do."""
    found: dict[str, Ends] = {}
    for node in reversed(graph.nodes):
        ends = [_of_reader(reader, found) for reader in graph.consumers[node.name]]
        for output in graph.outputs:
            if node.name in output.layers:
                first = next((step.step for step in output.steps if step.step not in _MOVING), "")
                ends.append(of_function(SIGMOID) if first == host_steps.SIGMOID else ALL)
        found[node.name] = (min(low for low, _ in ends), max(high for _, high in ends)) if ends else ALL
    return found


_MOVING = (host_steps.ROWS, host_steps.CONCATENATE)


def _of_reader(reader: Node, found: dict[str, Ends]) -> Ends:
    if ops.get(reader.op).activates and len(reader.inputs) == 1:
        return of_function(reader.activation)
    return found[reader.name] if isinstance(reader.operator, CopyOperator) else ALL


def of_function(function: Activation) -> Ends:
    """Return the ends beyond which a function that never falls is as good as constant."""
    if not function.rises or any(isinstance(part, tuple) for part in function.constants.values()):
        return ALL
    span = function.high - function.low
    tail = TAIL * span if math.isfinite(span) else 0.0
    places = np.concatenate([-PLACES[::-1], [0.0], PLACES])
    with np.errstate(all="ignore"):
        values = function(places)
    low = places[values <= function.low + tail]
    high = places[values >= function.high - tail]
    return float(low.max()) if len(low) else -math.inf, float(high.min()) if len(high) else math.inf
