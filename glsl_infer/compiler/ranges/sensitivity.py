"""Which feature maps to keep in 16 bits, measured: what each layer's rounding to 8 does to the outputs.

One layer at a time is rounded in the float network, and the outputs are compared. These errors are small and have
little to do with each other, so that their squares add up. 16 bits then go where a millisecond takes away the most.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from glsl_infer.compiler.ranges import precision
from glsl_infer.compiler.ranges.precision import PrecisionChoice
from glsl_infer.errors import InputError
from glsl_infer.graph import Array, Graph, Node, reference
from glsl_infer.graph.reference import Inputs
from glsl_infer.lowering.fine import ONE_DRAW
from glsl_infer.lowering.weights_plan import DRAW, INSTRUCTIONS
from glsl_infer.program.layout import slices_of

PICTURES = 4
"""Calibration pictures that are looked at, from all over the list."""

BY_MEASURE = "measured"
"""Why a map has 16 bits here."""

PER_PRODUCT = 1.25
"""Instructions for a product: a column of four takes five (``weights_plan.COLUMN``)."""

ROUNDS = 4
"""How often more maps are taken where the error is larger than their sum said."""


@dataclass(frozen=True)
class Sensitivity:
    """What the rounding of one layer does; one line of the table that ``--explain`` prints.

    Attributes:
        layer: its name.
        error: of the outputs where this layer alone is rounded to 8 bits; see ``Spent.error``.
        milliseconds: about what 16 bits add to a frame on a Pi Zero W.
        bits: what it got.
    """

    layer: str
    error: float
    milliseconds: float
    bits: int


@dataclass(frozen=True)
class Spent:
    """What a search found.

    Attributes:
        layers: all that could have 16 bits, the one that gains most for a millisecond first.
        before, error: difference between the outputs and the float network's, root mean square, as a share of the
            numbers' own spread (standard deviation), all outputs counting alike: as it was chosen, and now.
        tolerance, budget: what was asked for.
    """

    layers: tuple[Sensitivity, ...]
    before: float
    error: float
    tolerance: float | None
    budget: float | None


def spend(
    graph: Graph,
    chosen: Mapping[str, PrecisionChoice | None],
    pictures: Sequence[Inputs],
    *,
    tolerance: float | None = None,
    budget: float | None = None,
) -> tuple[dict[str, PrecisionChoice | None], Spent]:
    """Return a choice with more maps in 16 bits, until a tolerance holds or a budget is used up.

    Args:
        graph: with ranges.
        chosen: see ``precision.choose``; what it says stays.
        pictures: typical inputs.
        tolerance: how large the error may be; None: as small as the budget makes it.
        budget: milliseconds that may be added to a frame on a Pi Zero W; None: as many as it takes.

    Raises:
        InputError: there are no pictures.
    """
    if not pictures:
        raise InputError("--tolerance and --budget compare outputs on typical pictures; give --calibrate DIR")
    count = min(PICTURES, len(pictures))
    runs = [_Run(graph, pictures[index * len(pictures) // count]) for index in range(count)]
    possible = precision.possible_layers(graph)
    errors = {name: _mean(run.error({name: 8}, alone=True) for run in runs) for name in possible}
    cost = {name: milliseconds(graph, node) for name, node in possible.items()}
    groups = precision.joined_layers(graph)

    def gain(name: str) -> float:
        group = [one for one in groups[name] if one in possible]
        return sum(errors[one] ** 2 for one in group) / sum(cost[one] for one in group)

    order = sorted(possible, key=gain, reverse=True)
    made, left = dict(chosen), math.inf if budget is None else budget
    waiting = [name for name in order if name not in made and groups[name] <= possible.keys()]
    target = 0.0 if tolerance is None else tolerance

    def measured() -> float:
        assigned, _ = precision.assign(graph, made)
        bits = {node.name: node.attrs["bits"] for node in assigned.nodes if "bits" in node.attrs}
        return _mean(run.error(bits) for run in runs)

    before = found = measured()
    for _ in range(ROUNDS):
        if found <= (tolerance or 0.0) or not waiting:
            break
        rest = math.sqrt(sum(errors[name] ** 2 for name in order if made.get(name) is None))
        for name in list(waiting):
            if rest <= target:
                break
            new = [one for one in groups[name] if one not in made]
            wanted = all(made.get(one, True) for one in groups[name])  # a person may want one of them in 8 bits
            if new and wanted and sum(cost[one] for one in new) <= left:
                made.update((one, PrecisionChoice(one, BY_MEASURE)) for one in new)
                left -= sum(cost[one] for one in new)
                rest = math.sqrt(max(rest**2 - sum(errors[one] ** 2 for one in new), 0.0))
            waiting.remove(name)
        found = measured()
        target *= min(0.8, (tolerance or 0.0) / max(found, 1e-12))
    fine = {choice.layer for choice in precision.assign(graph, made)[1]}
    rows = (Sensitivity(name, errors[name], cost[name], 16 if name in fine else 8) for name in order)
    return made, Spent(tuple(rows), before, found, tolerance, budget)


def milliseconds(graph: Graph, node: Node) -> float:
    """Return about what 16 bits of a layer add to a frame on a Pi Zero W."""
    height, width, channels = graph.shapes[node.name]
    draws = slices_of(channels) if height * width > ONE_DRAW else 0
    return (max(precision.added(graph, node), 1.0) * PER_PRODUCT / INSTRUCTIONS + draws * DRAW) / 1000.0


class _Run:
    """A picture's way through the float network, of which any part can be run anew with rounding."""

    def __init__(self, graph: Graph, picture: Inputs) -> None:
        self._graph = graph
        self._values = dict(reference.all_values(graph, picture, mode="float"))

    def error(self, bits: Mapping[str, int], *, alone: bool = False) -> float:
        """Return the error of the outputs where maps are rounded to some bits; with ``alone`` those named only."""
        changed: dict[str, Array] = {}
        for node in self._graph.nodes:
            stores = node.name in bits and (not alone or bits[node.name])
            moved = any(name in changed for name in node.inputs)
            if not (stores or moved):
                continue
            value = self._values[node.name]
            if moved:
                given = [changed.get(name, self._values[name]) for name in node.inputs]
                value = reference.layer(node, given, stored=False)
            if stores and "bits" in node.attrs and value.ndim == 3:
                rounded = replace(node, attrs={**node.attrs, "bits": bits[node.name]})
                value = np.asarray(node.operator.store(rounded, value), value.dtype)
            changed[node.name] = value
        shares = []
        for layer in self._graph.output_layers:
            exact = np.asarray(self._values[layer], np.float64)
            off = np.asarray(changed.get(layer, exact), np.float64) - exact
            shares.append(float((off**2).mean()) / max(float(exact.var()), 1e-12))
        return math.sqrt(sum(shares) / len(shares))


def _mean(errors: Iterator[float]) -> float:
    """Return the root of the mean square."""
    squares = [error**2 for error in errors]
    return math.sqrt(sum(squares) / len(squares))
