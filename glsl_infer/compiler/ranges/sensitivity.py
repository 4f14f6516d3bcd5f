"""Search for the feature maps to keep in 16 bits, by the measured effect of each layer's rounding on the outputs.

One layer at a time is rounded to 8 bits in the float network, and the outputs are compared. These errors are small and
nearly independent, so their squares add up. 16 bits are then spent on the layers with the largest decrease of the error
per millisecond.
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
from glsl_infer.lowering.sixteen_bit import ONE_DRAW
from glsl_infer.lowering.weights_plan import DRAW, INSTRUCTIONS, LayerWeights
from glsl_infer.program.layout import slices_of

PICTURES, PICTURES_OF_FEW = 4, 6
"""Number of measured calibration images, evenly spaced in the list; and the number, with copies, if there are few."""

BY_MEASURE = "measured"
"""Reason for 16 bits in the report."""

PER_PRODUCT = 1.25
"""Instructions for a product: a column of four takes five (``weights_plan.COLUMN``)."""

ROUNDS = 4
"""Largest number of repetitions if the measured error is larger than the sum of the layers' errors."""

AUTO_TOLERANCE, AUTO_NUMBERS, AUTO_SHARE = 0.02, 0.005, 0.12
"""Defaults of ``auto``: sufficient error, the same for outputs of plain values, and share of work and draws to add.

The error is smaller for plain values because, for the points of a face, 1/100 of the spread is a pixel.
"""

MOST_COST = 1.14
"""Limit of the cost for ``auto``, of work or of draws, as a multiple of all maps in 8 bits, if the cost is counted.

It is 1.15, less the underestimate compared with Mesa's vc4 compiler. Maps have priority, and weights get the remainder.
With 1.09 for maps, face-mesh had an error of 0.281 pixels instead of 0.261, and face-detection was at 0.976 instead of
0.978.
"""

WORTH = 0.5
"""Least decrease of the squared error, as a share, for a doubling of the cost; smaller costs are in proportion.

With 1.0, ``auto`` left face-detection at 0.981. With 0.3, weights had nothing left, and it was at 0.980. With 0.5 it is
at 0.985.
"""

FAR_COST, FAR_WORTH = 2.0, 0.1
"""``MOST_COST`` and ``WORTH`` of a network whose outputs would otherwise have too large an error."""

FAR_DRAWS = 2.5
"""Largest multiple of the draws for such a network. Small networks of many layers take little work and many draws."""

FAR, NEAR, NEAR_OF_FEW = 1.0, 0.7, 0.1
"""Multiples of the limits for a warning: from the first on ``FAR_COST`` is spent; the others are small enough.

A few images show only a part of the clipping. For example, yolox with three photographs had a cosine of 0.975 on
another image after 0.22 was measured, and 1.000 with one more map in 16 bits.
"""

LESS, LEAST_GAIN = 0.6, 0.98
"""Target of each step for such a network, as a share of the current error; and the share at which a step fails."""

MOST_COUNTS = 96
"""Largest number of counted plans, and again for each step up to ``FAR_COST``."""

MOST_WORK = 4e10
"""Largest number of operations of the float network in a search: about a minute of one core.

In a large network, only the last layers, whose maps are small, are measured, with fewer images.
"""


@dataclass(frozen=True)
class Sensitivity:
    """Effect of rounding one layer; one line of the table of ``--explain``.

    Attributes:
        layer: its name.
        error: error of the outputs if only this layer is rounded to 8 bits; see ``Spent.error``.
        milliseconds: estimated time that 16 bits add to a frame on a Pi Zero W.
        bits: the chosen bits.
    """

    layer: str
    error: float
    milliseconds: float
    bits: int


@dataclass(frozen=True)
class Spent:
    """Result of a search.

    Attributes:
        layers: all layers with support for 16 bits, those with the largest gain for their cost first.
        before, error: difference between the outputs and the float network's before and after the search: root mean
            square, as a share of the values' own standard deviation, with the same weight for all outputs.
        tolerance, budget, share: the arguments of ``spend``.
        times: cost of the maps as a multiple of all 8 bits, if it was counted.
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
    """Return a choice with more maps in 16 bits, until a tolerance is reached or a budget or share is spent.

    Args:
        graph: a graph with ranges.
        chosen: see ``precision.choose``; its choices are kept.
        pictures: calibration inputs.
        tolerance: largest error of the outputs; None: as small as the budget permits.
        budget: largest addition to a frame on a Pi Zero W, in milliseconds; None: no limit.
        share: largest addition by all maps in 16 bits, as a share of the work in 8 bits and of the draws, including
            ``chosen``. It rises up to ``FAR_COST`` if the outputs would be useless otherwise. None: no limit.
        apart: for each image, the ranges chosen without it, to measure clipping as well; default: those of
            the graph.
        counted: returns the (work, draws) of a graph with bits as multiples of all 8 bits, as it will be drawn. If
            given, ``MOST_COST`` is the limit instead of ``share``.
        badness: returns the error of a graph with bits, as a multiple of the limits for a warning.
        most: largest number of measured images.

    Returns:
        The choices, and a report of the search.

    Raises:
        InputError: calibration images are missing.
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
                wanted = all(made.get(one, True) for one in groups[name])  # the user can request 8 bits for one
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
        limit = NEAR if most == PICTURES else NEAR_OF_FEW
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
    """Return the estimated cost of 16 bits of layers: the larger share of the work in 8 bits or of the draws."""
    work = precision.work(graph)
    draws = sum(_own_draws(graph, node) for node in graph.nodes if len(graph.shapes[node.name]) == 3)
    found = {}
    for name in names:
        with_it = [graph.by_name[name], *precision.followers(graph, name)]
        more_work = sum(precision.added(graph, node) for node in with_it)
        found[name] = max(more_work / work, sum(_draws(graph, node) for node in with_it) / draws)
    return found


def _draws(graph: Graph, node: Node) -> int:
    """Return the number of additional draws of a layer in 16 bits."""
    height, width, _ = graph.shapes[node.name]
    return _own_draws(graph, node) if height * width > ONE_DRAW else 0


def _own_draws(graph: Graph, node: Node) -> int:
    """Return the estimated draws of a layer in 8 bits: one if its weights are in a texture, or if it has none."""
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
    """Return the layers to measure and the number of images, within ``MOST_WORK``.

    Args:
        graph: a graph with ranges.
        names: layers with support for 16 bits.
        pictures: number of available images.
        most: largest number of images to measure.
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
    """Return the estimated additional milliseconds of a layer in 16 bits, in a frame on a Pi Zero W."""
    with_it = [node, *precision.followers(graph, node.name)]
    work = max(sum(precision.added(graph, one) for one in with_it), 1.0) * PER_PRODUCT / INSTRUCTIONS
    return (work + sum(_draws(graph, one) for one in with_it) * DRAW) / 1000.0
