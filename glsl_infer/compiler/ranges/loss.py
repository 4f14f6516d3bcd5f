"""Search for the 8-bit feature map with the largest loss, and its gain from 16 bits.

It is used for a bundle whose outputs differ too much from those of its model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from glsl_infer.compiler.ranges import precision
from glsl_infer.compiler.ranges.held_out import Fold
from glsl_infer.compiler.ranges.rounded_runs import Runs
from glsl_infer.compiler.ranges.sensitivity import looked_at
from glsl_infer.graph import Graph
from glsl_infer.graph.reference import Inputs


@dataclass(frozen=True)
class Loss:
    """The feature map whose rounding to 8 bits has the largest effect on the outputs.

    Attributes:
        layer: its name.
        alone: error if only this map is rounded; see ``sensitivity.Spent.error``.
        error: error of the network as it is stored.
        in_sixteen: error of the network with this map in 16 bits.
    """

    layer: str
    alone: float
    error: float
    in_sixteen: float


def loses_most(graph: Graph, pictures: Sequence[Inputs]) -> Loss | None:
    """Return the 8-bit map with the largest loss among those with support for 16 bits, or None.

    Args:
        graph: the graph of a bundle, or a prepared one. ``sensitivity.MOST_WORK`` limits the measured layers.
        pictures: calibration inputs, at least one.
    """
    possible = {name for name, node in precision.possible_layers(graph).items() if node.attrs["bits"] != 16}
    if not possible:
        return None
    names, count = looked_at(graph, possible, len(pictures))
    runs = Runs(graph, pictures[:count], [Fold()] * count, dict.fromkeys(sorted(names)))
    errors = runs.errors
    if not errors:
        return None
    worst = max(errors, key=lambda name: errors[name])
    stored = {node.name: node.attrs["bits"] for node in graph.nodes if node.attrs.get("bits") in precision.BITS}
    finer = dict.fromkeys(precision.joined_layers(graph)[worst] & stored.keys(), 16)
    return Loss(worst, errors[worst], runs.error(stored), runs.error({**stored, **finer}))
