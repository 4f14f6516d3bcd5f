"""Intervals of values distinguished by the readers of a layer.

A sigmoid has almost the same result for 7 and for 700. A map read only by sigmoids needs no steps beyond, and the
steps within become finer. Copies of a map have the intervals of their own readers.
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
"""Largest remaining change of a function beyond the ends, as a share of its range: half a step of 8 bits."""

PLACES = 2.0 ** (np.arange(-16 * 8, 16 * 8 + 1) / 16.0)
"""Magnitudes at which functions are sampled: from 1/256 to 256."""


def reach(graph: Graph) -> dict[str, Ends]:
    """Return the interval in which the readers of each value distinguish values; its ends are infinite if unlimited."""
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
    """Return the ends beyond which a function that never falls is nearly constant; infinite for other functions."""
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
