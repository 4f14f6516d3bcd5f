"""Which feature maps to keep in 16 bits, measured: what each layer's rounding to 8 does to the outputs.

One layer at a time is rounded in the float network, and the outputs are compared. These errors are small and have
little to do with each other, so that their squares add up. 16 bits then go where a millisecond takes away the most.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
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

AUTO_TOLERANCE, AUTO_SHARE = 0.02, 0.12
"""Where nobody asks for more: the error that is small enough, and the share of work and draws that 16 bits may add."""

MOST_WORK = 4e10
"""Operations of the float network that a search takes at most: about a minute of one core. A large network is looked
at from its end, where maps are small, with fewer pictures.
"""


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
        tolerance, budget, share: what was asked for, see ``spend``.
    """

    layers: tuple[Sensitivity, ...]
    before: float
    error: float
    tolerance: float | None
    budget: float | None
    share: float | None = None


def spend(
    graph: Graph,
    chosen: Mapping[str, PrecisionChoice | None],
    pictures: Sequence[Inputs],
    *,
    tolerance: float | None = None,
    budget: float | None = None,
    share: float | None = None,
) -> tuple[dict[str, PrecisionChoice | None], Spent]:
    """Return a choice with more maps in 16 bits, until a tolerance holds or a budget or share is used up.

    Args:
        graph: with ranges.
        chosen: see ``precision.choose``; what it says stays.
        pictures: typical inputs.
        tolerance: how large the error may be; None: as small as the budget makes it.
        budget: milliseconds that may be added to a frame on a Pi Zero W; None: as many as it takes.
        share: of the work in 8 bits, and of the draws, that all maps in 16 bits may add, those of ``chosen`` among
            them; None: any.

    Raises:
        InputError: there are no pictures.
    """
    if not pictures:
        raise InputError("--tolerance and --budget compare outputs on typical pictures; give --calibrate DIR")
    possible = precision.possible_layers(graph)
    cost = {name: milliseconds(graph, node) for name, node in possible.items()}
    shares = _shares(graph, possible)
    groups = precision.joined_layers(graph)
    made, left = dict(chosen), math.inf if budget is None else budget
    room = math.inf if share is None else share - sum(shares[name] for name, why in chosen.items() if why is not None)
    waiting = [
        name
        for name in possible
        if name not in made
        and groups[name] <= possible.keys()
        and sum(cost[one] for one in groups[name] if one not in made) <= left
        and sum(shares[one] for one in groups[name] if one not in made) <= room
    ]
    looked_at, count = _looked_at(graph, {one for name in waiting for one in groups[name]}, len(pictures))
    runs = _Runs(graph, [pictures[index * len(pictures) // count] for index in range(count)])
    errors = {name: runs.error({name: 8}, alone=True) for name in possible if name in looked_at}

    prices = cost if share is None else shares

    def gain(name: str) -> float:
        return sum(errors[one] ** 2 for one in groups[name]) / max(sum(prices[one] for one in groups[name]), 1e-12)

    waiting = sorted((name for name in waiting if groups[name] <= errors.keys()), key=gain, reverse=True)
    target = 0.0 if tolerance is None else tolerance

    def measured() -> float:
        assigned, _ = precision.assign(graph, made)
        return runs.error({node.name: node.attrs["bits"] for node in assigned.nodes if "bits" in node.attrs})

    before = found = measured()
    in_eight = sum(error**2 for name, error in errors.items() if made.get(name) is None)
    others = max(before**2 - in_eight, 0.0) if len(errors) < len(possible) else 0.0
    for _ in range(ROUNDS):
        if found <= (tolerance or 0.0) or not waiting:
            break
        rest = math.sqrt(others + sum(error**2 for name, error in errors.items() if made.get(name) is None))
        for name in list(waiting):
            if rest <= target:
                break
            new = [one for one in groups[name] if one not in made]
            wanted = all(made.get(one, True) for one in groups[name])  # a person may want one of them in 8 bits
            price = sum(cost[one] for one in new)
            part = sum(shares[one] for one in new)
            if new and wanted and price <= left and part <= room:
                made.update((one, PrecisionChoice(one, BY_MEASURE)) for one in new)
                left, room = left - price, room - part
                rest = math.sqrt(max(rest**2 - sum(errors[one] ** 2 for one in new), 0.0))
            waiting.remove(name)
        found = measured()
        target *= min(0.8, (tolerance or 0.0) / max(found, 1e-12))
    fine = {choice.layer for choice in precision.assign(graph, made)[1]}
    order = sorted(errors, key=lambda name: errors[name] ** 2 / max(prices[name], 1e-12), reverse=True)
    rows = (Sensitivity(name, errors[name], cost[name], 16 if name in fine else 8) for name in order)
    return made, Spent(tuple(rows), before, found, tolerance, budget, share)


def _shares(graph: Graph, names: Collection[str]) -> dict[str, float]:
    """Return about which share of the work in 8 bits, or of the draws if that is more, layers in 16 bits add."""
    work = precision.work(graph)
    draws = sum(slices_of(shape[2]) for shape in graph.shapes.values() if len(shape) == 3)
    return {
        name: max(precision.added(graph, graph.by_name[name]) / work, _draws(graph, graph.by_name[name]) / draws)
        for name in names
    }


def _draws(graph: Graph, node: Node) -> int:
    """Return how many draws 16 bits of a layer add."""
    height, width, channels = graph.shapes[node.name]
    return slices_of(channels) if height * width > ONE_DRAW else 0


def _looked_at(graph: Graph, names: Collection[str], pictures: int) -> tuple[set[str], int]:
    """Return the layers whose rounding is measured, and with how many pictures: within ``MOST_WORK``.

    Args:
        graph: with ranges.
        names: layers that may have 16 bits.
        pictures: how many there are.
    """
    behind: dict[str, set[str]] = {}
    for node in reversed(graph.nodes):
        behind[node.name] = {node.name}.union(*(behind[reader.name] for reader in graph.consumers[node.name]))
    works = {node.name: precision.work(graph, [node]) for node in graph.nodes}
    takes = {name: sum(works[after] for after in behind[name]) for name in names}
    whole = (ROUNDS + 2) * sum(works.values())
    count = min(PICTURES, pictures, max(1, int(MOST_WORK / (whole + sum(takes.values())))))
    left, chosen = MOST_WORK / count - whole, set()
    for name in sorted(takes, key=lambda name: (takes[name], name)):
        left -= takes[name]
        if left >= 0.0 or count > 1:
            chosen.add(name)
    return chosen, count


def milliseconds(graph: Graph, node: Node) -> float:
    """Return about what 16 bits of a layer add to a frame on a Pi Zero W."""
    work = max(precision.added(graph, node), 1.0) * PER_PRODUCT / INSTRUCTIONS
    return (work + _draws(graph, node) * DRAW) / 1000.0


class _Runs:
    """Pictures' ways through the float network, of which any part can be run anew with rounding."""

    def __init__(self, graph: Graph, pictures: Sequence[Inputs]) -> None:
        self._graph = graph
        self._values = [dict(reference.all_values(graph, picture, mode="float")) for picture in pictures]
        self._spreads = {layer: self._spread(layer) for layer in graph.output_layers}

    def error(self, bits: Mapping[str, int], *, alone: bool = False) -> float:
        """Return the error of the outputs where maps are rounded to some bits; with ``alone`` those named only."""
        squares = [self._square(values, bits, alone=alone) for values in self._values]
        return math.sqrt(sum(squares) / len(squares))

    def _spread(self, layer: str) -> float:
        """Return the variance of an output over its places and the pictures.

        Of one that is almost the same everywhere, a flag say, it is a hundredth of its mean square at least.
        """
        numbers = np.stack([np.asarray(values[layer], np.float64) for values in self._values])
        return max(float(numbers.var()), 0.01 * float((numbers**2).mean()), 1e-12)

    def _square(self, values: Mapping[str, Array], bits: Mapping[str, int], *, alone: bool) -> float:
        changed: dict[str, Array] = {}
        for node in self._graph.nodes:
            stores = node.name in bits and (not alone or bits[node.name])
            moved = any(name in changed for name in node.inputs)
            if not (stores or moved):
                continue
            value = values[node.name]
            if moved:
                given = [changed.get(name, values[name]) for name in node.inputs]
                value = reference.layer(node, given, stored=False)
            if stores and "bits" in node.attrs and value.ndim == 3:
                rounded = replace(node, attrs={**node.attrs, "bits": bits[node.name]})
                value = np.asarray(node.operator.store(rounded, value), value.dtype)
            changed[node.name] = value
        shares = []
        for layer in self._graph.output_layers:
            exact = np.asarray(values[layer], np.float64)
            off = np.asarray(changed.get(layer, exact), np.float64) - exact
            shares.append(float((off**2).mean()) / self._spreads[layer])
        return sum(shares) / len(shares)
