"""Which feature maps to keep in 16 bits, measured: what each layer's rounding to 8 does to the outputs.

One layer at a time is rounded in the float network, and the outputs are compared. These errors are small and have
little to do with each other, so that their squares add up. 16 bits then go where a millisecond takes away the most.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from glsl_infer.compiler.ranges import precision
from glsl_infer.compiler.ranges.held_out import Fold
from glsl_infer.compiler.ranges.precision import PrecisionChoice
from glsl_infer.compiler.ranges.rounded_runs import Runs
from glsl_infer.errors import InputError
from glsl_infer.graph import Graph, Node
from glsl_infer.graph.reference import Inputs
from glsl_infer.lowering import weight_bytes, weights_plan
from glsl_infer.lowering.conv_columns import columns_of
from glsl_infer.lowering.fine import ONE_DRAW
from glsl_infer.lowering.weights_plan import DRAW, INSTRUCTIONS, LayerWeights
from glsl_infer.program.layout import slices_of

PICTURES, PICTURES_OF_FEW = 4, 6
"""Calibration pictures that are looked at, from all over the list, and where they are few, with their copies."""

BY_MEASURE = "measured"
"""Why a map has 16 bits here."""

PER_PRODUCT = 1.25
"""Instructions for a product: a column of four takes five (``weights_plan.COLUMN``)."""

ROUNDS = 4
"""How often more maps are taken where the error is larger than their sum said."""

AUTO_TOLERANCE, AUTO_NUMBERS, AUTO_SHARE = 0.02, 0.005, 0.12
"""Where nobody asks for more: the error that is small enough, that of networks with outputs of numbers (a hundredth of
the spread of a face's points is a pixel), and the share of work and draws that 16 bits may add."""

MOST_COST = 1.14
"""Times the cost of all 8 bits, of work or of draws, that ``auto`` may spend where the plan of the program is counted:
1.15, less what Mesa's vc4 compiler makes of it beyond that. Maps come first, weights get what they leave: with 1.09 for
maps, face-mesh was 0.281 pixels off instead of 0.261, face-detection at 0.976 instead of 0.978."""

WORTH = 0.5
"""Share of the squared error that what adds all of the cost again has to take away, in proportion. With 1.0 auto left
face-detection at 0.981, with 0.3 weights had nothing left, and it was at 0.980; so it is at 0.985."""

FAR_COST, FAR_WORTH = 2.0, 0.1
"""``MOST_COST`` and ``WORTH`` of a network whose outputs are too far off otherwise."""

FAR_DRAWS = 2.5
"""Times the draws that such a network may take: small networks of many layers take little work and many draws."""

FAR, NEAR = 1.0, 0.7
"""Times the limits for a warning from which on ``FAR_COST`` is spent, and at which it is enough."""

LESS, LEAST_GAIN = 0.6, 0.98
"""Share of the error at which such a network is looked at again, and the share at which 16 bits are no help."""

MOST_COUNTS = 96
"""Plans that are counted at most, and as many again for each step up to ``FAR_COST``."""

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
        times: how many times the cost of all 8 bits the maps take now, where that was counted.
    """

    layers: tuple[Sensitivity, ...]
    before: float
    error: float
    tolerance: float | None
    budget: float | None
    share: float | None = None
    times: float | None = None


def spend(
    graph: Graph,
    chosen: Mapping[str, PrecisionChoice | None],
    pictures: Sequence[Inputs],
    *,
    tolerance: float | None = None,
    budget: float | None = None,
    share: float | None = None,
    apart: Sequence[Fold] = (),
    counted: Callable[[Graph], tuple[float, float]] | None = None,
    badness: Callable[[Graph], float] | None = None,
    most: int = PICTURES,
) -> tuple[dict[str, PrecisionChoice | None], Spent]:
    """Return a choice with more maps in 16 bits, until a tolerance holds or a budget or share is used up.

    Args:
        graph: with ranges.
        chosen: see ``precision.choose``; what it says stays.
        pictures: typical inputs.
        tolerance: how large the error may be; None: as small as the budget makes it.
        budget: milliseconds that may be added to a frame on a Pi Zero W; None: as many as it takes.
        share: of the work in 8 bits, and of the draws, that all maps in 16 bits may add, those of ``chosen`` among
            them; up to ``FAR_COST`` where the outputs are useless otherwise; None: any.
        apart: for each picture the ranges that were chosen without it: values that they clip count, too. None: those of
            the graph.
        counted: how many times the work and the draws of all 8 bits a graph with bits takes, as it will be drawn:
            instead of ``share``, ``MOST_COST`` bounds them.
        badness: how many times the limits for a warning the outputs of a graph with bits are off.
        most: pictures that are looked at.

    Raises:
        InputError: there are no pictures.
    """
    if not pictures:
        raise InputError("--tolerance and --budget compare outputs on typical pictures; give --images DIR")
    possible = precision.possible_layers(graph)
    cost = {name: milliseconds(graph, node) for name, node in possible.items()}
    shares = _shares(graph, possible)
    groups = precision.joined_layers(graph)
    made, left = dict(chosen), math.inf if budget is None else budget
    room = (
        math.inf
        if share is None or counted is not None
        else share - sum(shares[name] for name, why in chosen.items() if why is not None)
    )
    waiting = [
        name
        for name in possible
        if name not in made
        and groups[name] <= possible.keys()
        and sum(cost[one] for one in groups[name] if one not in made) <= left
        and sum(shares[one] for one in groups[name] if one not in made) <= room
    ]
    seen, count = looked_at(graph, {one for name in waiting for one in groups[name]}, len(pictures), most)
    shown = [index * len(pictures) // count for index in range(count)]
    ranges = [apart[index] if apart else Fold() for index in shown]
    runs = Runs(graph, [pictures[index] for index in shown], ranges, {name: None for name in possible if name in seen})
    errors = runs.errors

    prices = cost if share is None else shares

    def gain(name: str) -> float:
        return sum(errors[one] ** 2 for one in groups[name]) / max(sum(prices[one] for one in groups[name]), 1e-12)

    waiting = sorted((name for name in waiting if groups[name] <= errors.keys()), key=gain, reverse=True)

    def measured() -> float:
        assigned, _ = precision.assign(graph, made)
        return runs.error({node.name: node.attrs["bits"] for node in assigned.nodes if "bits" in node.attrs})

    counts, costs = MOST_COUNTS, None if counted is None else max(counted(precision.assign(graph, made)[0]))

    def affordable(new: Sequence[str], share_of_error: float, most: tuple[float, float], worth: float) -> bool:
        nonlocal counts, costs
        if counted is None or costs is None:
            return sum(cost[one] for one in new) <= left and sum(shares[one] for one in new) <= room
        counts -= 1
        if counts < 0:
            return False
        more = {**made, **{one: PrecisionChoice(one, BY_MEASURE) for one in new}}
        work, draws = counted(precision.assign(graph, more)[0])
        then = max(work, draws)
        if work > most[0] or draws > most[1] or share_of_error < worth * (then - costs):
            return False
        costs = then
        return True

    before = found = measured()
    in_eight = sum(error**2 for name, error in errors.items() if made.get(name) is None)
    others = max(before**2 - in_eight, 0.0) if len(errors) < len(possible) else 0.0

    def buy(enough: float, most: tuple[float, float], worth: float) -> None:
        nonlocal left, room, found
        target, offered = enough, list(waiting)
        for _ in range(ROUNDS):
            if found <= enough or not offered:
                break
            rest = math.sqrt(others + sum(error**2 for name, error in errors.items() if made.get(name) is None))
            for name in list(offered):
                if rest <= target:
                    break
                new = [one for one in groups[name] if one not in made]
                wanted = all(made.get(one, True) for one in groups[name])  # a person may want one of them in 8 bits
                share_of_error = sum(errors[one] ** 2 for one in new) / max(rest**2, 1e-24)
                if new and wanted and affordable(new, share_of_error, most, worth):
                    made.update((one, PrecisionChoice(one, BY_MEASURE)) for one in new)
                    left -= sum(cost[one] for one in new)
                    room -= sum(shares[one] for one in new)
                    rest = math.sqrt(max(rest**2 - sum(errors[one] ** 2 for one in new), 0.0))
                offered.remove(name)
            found = measured()
            target *= min(0.8, enough / max(found, 1e-12))

    buy(tolerance or 0.0, (MOST_COST, MOST_COST), WORTH)
    bad = 0.0 if badness is None else badness(precision.assign(graph, made)[0])
    limit = FAR
    while badness is not None and found > 0.0 and bad > limit:
        limit = NEAR
        counts, room = MOST_COUNTS, FAR_COST - 1.0 - sum(shares[one] for one, why in made.items() if why is not None)
        before_this = dict(made), found, costs
        buy(LESS * found, (FAR_COST, FAR_DRAWS), FAR_WORTH)
        then = badness(precision.assign(graph, made)[0])
        if then > LEAST_GAIN * bad and found > LEAST_GAIN * before_this[1]:  # values clip in 16 bits as well
            made, found, costs = before_this
            break
        bad = then
    fine = {choice.layer for choice in precision.assign(graph, made)[1]}
    order = sorted(errors, key=lambda name: errors[name] ** 2 / max(prices[name], 1e-12), reverse=True)
    rows = (Sensitivity(name, errors[name], cost[name], 16 if name in fine else 8) for name in order)
    return made, Spent(tuple(rows), before, found, tolerance, budget, share, costs)


def _shares(graph: Graph, names: Collection[str]) -> dict[str, float]:
    """Return about which share of the work in 8 bits, or of the draws if that is more, layers in 16 bits add."""
    work = precision.work(graph)
    draws = sum(_own_draws(graph, node) for node in graph.nodes if len(graph.shapes[node.name]) == 3)
    found = {}
    for name in names:
        with_it = [graph.by_name[name], *precision.followers(graph, name)]
        more_work = sum(precision.added(graph, node) for node in with_it)
        found[name] = max(more_work / work, sum(_draws(graph, node) for node in with_it) / draws)
    return found


def _draws(graph: Graph, node: Node) -> int:
    """Return how many draws 16 bits of a layer add."""
    height, width, _ = graph.shapes[node.name]
    return _own_draws(graph, node) if height * width > ONE_DRAW else 0


def _own_draws(graph: Graph, node: Node) -> int:
    """Return about how many draws a layer takes in 8 bits: one where its weights lie in a texture, or it has none."""
    height, width, channels = graph.shapes[node.name]
    kernel = node.weights.get("kernel")
    if kernel is None or kernel.ndim != 4 or "groups" not in node.attrs:
        return 1
    columns = columns_of(kernel.shape, node.attrs["groups"])
    fits = weight_bytes.fits(columns.slices, columns.count, columns.taps_per_slot)
    layer = LayerWeights(
        node.name,
        slices_of(channels),
        height * width,
        columns.count,
        columns.count + 1,
        "" if fits else "too many columns",
        bits=8,
        depthwise=columns.depthwise,
    )
    return 1 if weights_plan.choose(layer, "auto").mode == "texture" else layer.slices


def looked_at(graph: Graph, names: Collection[str], pictures: int, most: int = PICTURES) -> tuple[set[str], int]:
    """Return the layers whose rounding is measured, and with how many pictures: within ``MOST_WORK``.

    Args:
        graph: with ranges.
        names: layers that may have 16 bits.
        pictures: how many there are.
        most: how many are looked at.
    """
    behind: dict[str, set[str]] = {}
    for node in reversed(graph.nodes):
        behind[node.name] = {node.name}.union(*(behind[reader.name] for reader in graph.consumers[node.name]))
    works = {node.name: precision.work(graph, [node]) for node in graph.nodes}
    takes = {name: sum(works[after] for after in behind[name]) for name in names}
    whole = (ROUNDS + 2) * sum(works.values())
    count = min(most, pictures, max(1, int(MOST_WORK / (whole + sum(takes.values())))))
    left, chosen = MOST_WORK / count - whole, set()
    for name in sorted(takes, key=lambda name: (takes[name], name)):
        left -= takes[name]
        if left >= 0.0 or count > 1:
            chosen.add(name)
    return chosen, count


def milliseconds(graph: Graph, node: Node) -> float:
    """Return about what 16 bits of a layer add to a frame on a Pi Zero W."""
    with_it = [node, *precision.followers(graph, node.name)]
    work = max(sum(precision.added(graph, one) for one in with_it), 1.0) * PER_PRODUCT / INSTRUCTIONS
    return (work + sum(_draws(graph, one) for one in with_it) * DRAW) / 1000.0
