"""Search for the feature maps to keep in 16 bits, by the measured effect of each layer's rounding on the outputs.

One layer at a time is rounded to 8 bits in the float network, and the outputs are compared. These errors are small and
nearly independent, so their squares add up. 16 bits are then spent on the layers with the largest decrease of the error
per millisecond.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from glsl_infer.compiler.ranges import precision
from glsl_infer.compiler.ranges.cross_validation import Fold
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

FAR_DRAWS = 3.0
"""Largest multiple of the draws for such a network. Small networks of many layers take little work and many draws.

If all maps are stored in 16 bits together, ``FAR_COST`` limits the time of a frame, and this limits the work, too.
"""

FAR, FAR_OF_FEW, NEAR = 1.0, 0.5, 0.05
"""Errors as multiples of the limits for a warning: beyond ``FAR``, ``FAR_COST`` is spent, until ``NEAR`` is reached.

Calibration images show only a part of the clipping. For example, yolox with three photographs had a cosine of 0.975 on
another image after 0.11 was measured, and 1.000 with one more map in 16 bits. A detector with 40 images had 0.983 after
0.12, and 0.9996 with five more maps.
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
        tolerance, budget, share: see ``Limits``.
        times: cost of the maps as a multiple of all 8 bits, if it was counted.
    """

    layers: tuple[Sensitivity, ...]
    before: float
    error: float
    tolerance: float | None
    budget: float | None
    share: float | None = None
    times: float | None = None


class CostRatios(NamedTuple):
    """Cost of a frame with maps in 16 bits, as multiples of the cost with all maps in 8 bits.

    Attributes:
        work: instructions times pixels.
        draws: number of draws.
        time: estimated time, of work and of draws.
    """

    work: float
    draws: float
    time: float


@dataclass(frozen=True)
class Limits:
    """Limits of a search.

    Attributes:
        tolerance: largest error of the outputs; None: as small as the budget permits.
        budget: largest addition to a frame on a Pi Zero W, in milliseconds; None: no limit.
        share: largest addition by all maps in 16 bits, as a share of the work in 8 bits and of the draws, including
            maps chosen before. It rises up to ``FAR_COST`` if the outputs would be useless otherwise. None: no limit.
        images: largest number of measured images.
    """

    tolerance: float | None = None
    budget: float | None = None
    share: float | None = None
    images: int = PICTURES


def spend(
    graph: Graph,
    chosen: Mapping[str, PrecisionChoice | None],
    samples: Sequence[tuple[Inputs, Fold]],
    limits: Limits,
    counted: Callable[[Graph], CostRatios] | None = None,
    badness: Callable[[Graph], float] | None = None,
) -> tuple[dict[str, PrecisionChoice | None], Spent]:
    """Return a choice with more maps in 16 bits, until a tolerance is reached or a budget or share is spent.

    Args:
        graph: a graph with ranges.
        chosen: see ``precision.choose``; its choices are kept.
        samples: calibration inputs, each with the ranges chosen without it, to measure clipping as well. An empty
            ``Fold`` stands for the ranges of the graph.
        limits: limits of the search.
        counted: returns the cost of a graph with bits, as it will be drawn. If given, ``MOST_COST`` is the limit
            instead of ``limits.share``.
        badness: returns the error of a graph with bits, as a multiple of the limits for a warning.

    Returns:
        The choices, and a report of the search.

    Raises:
        InputError: calibration images are missing.
    """
    if not samples:
        raise InputError("--tolerance and --budget compare outputs on typical images; give --images DIR")
    search = _Search(graph, chosen, samples, limits, counted)
    before = search.error
    search.buy(limits.tolerance or 0.0, (MOST_COST, MOST_COST), WORTH)
    if badness is not None:
        search.buy_until_useful(badness)
    return search.choices, search.report(before)


class _Search:
    """State of a search for maps in 16 bits.

    Attributes:
        choices: the choices so far.
        error: measured error of the outputs with these choices.
    """

    def __init__(
        self,
        graph: Graph,
        chosen: Mapping[str, PrecisionChoice | None],
        samples: Sequence[tuple[Inputs, Fold]],
        limits: Limits,
        counted: Callable[[Graph], CostRatios] | None,
    ) -> None:
        self._graph, self._limits, self._counted = graph, limits, counted
        possible = precision.possible_layers(graph)
        self._milliseconds = {name: milliseconds(graph, node) for name, node in possible.items()}
        self._shares = _shares(graph, possible)
        self._groups = precision.joined_layers(graph)
        self._prices = self._milliseconds if limits.share is None else self._shares
        self.choices = dict(chosen)
        self._budget = math.inf if limits.budget is None else limits.budget
        self._share = math.inf
        if limits.share is not None and counted is None:
            self._share = self._share_left(limits.share)
        waiting = [
            name
            for name in possible
            if name not in self.choices and self._groups[name] <= possible.keys() and self._is_cheap(self._new(name))
        ]
        asked = {member for name in waiting for member in self._groups[name]}
        names, count = looked_at(graph, asked, len(samples), limits.images)
        self._samples = [samples[index * len(samples) // count] for index in range(count)]
        self._run({name: None for name in possible if name in names})
        self._waiting = [name for name in waiting if self._groups[name] <= self._errors.keys()]
        self._sort()
        self._counts = MOST_COUNTS
        self._costs = None if counted is None else _larger(counted(self._assigned()))
        self.error = self._measured()
        # Layers that are not measured keep their part of the error.
        in_8_bits = sum(error**2 for name, error in self._errors.items() if self.choices.get(name) is None)
        self._others = max(self.error**2 - in_8_bits, 0.0) if len(self._errors) < len(possible) else 0.0

    def _run(self, changes: Mapping[str, None], *, as_values: bool = False) -> None:
        images, ranges = zip(*self._samples)
        self._runs = Runs(self._graph, images, ranges, changes, as_values=as_values)
        self._errors = self._runs.errors

    def _sort(self) -> None:
        """Put the waiting layers with the largest gain for their price first."""

        def gain(name: str) -> float:
            group = self._groups[name]
            price = sum(self._prices[member] for member in group)
            return sum(self._errors[member] ** 2 for member in group) / max(price, 1e-12)

        self._waiting.sort(key=gain, reverse=True)

    def _assigned(self, more: Mapping[str, PrecisionChoice] = MappingProxyType({})) -> Graph:
        """Return the graph with the bits of the choices so far, and of further ones."""
        return precision.assign(self._graph, {**self.choices, **more})[0]

    def _measured(self) -> float:
        bits = {node.name: node.attrs["bits"] for node in self._assigned().nodes if "bits" in node.attrs}
        return self._runs.error(bits)

    def _new(self, name: str) -> list[str]:
        """Return the layers that get 16 bits together with a layer."""
        return [member for member in self._groups[name] if member not in self.choices]

    def _share_left(self, share: float) -> float:
        return share - sum(self._shares[name] for name, why in self.choices.items() if why is not None)

    def _is_cheap(self, new: Sequence[str]) -> bool:
        time, share = (sum(prices[member] for member in new) for prices in (self._milliseconds, self._shares))
        return time <= self._budget and share <= self._share

    def _is_affordable(self, new: Sequence[str], gain: float, most: tuple[float, float], worth: float) -> bool:
        """Return whether layers in 16 bits stay within the limits, and are worth their cost; update the cost."""
        if self._counted is None or self._costs is None:
            return self._is_cheap(new)
        self._counts -= 1
        if self._counts < 0:
            return False
        cost = self._counted(self._assigned({member: PrecisionChoice(member, BY_MEASURE) for member in new}))
        costs = _larger(cost)
        if cost.work > most[0] or cost.draws > most[1] or gain < worth * (costs - self._costs):
            return False
        self._costs = costs
        return True

    def buy(self, enough: float, most: tuple[float, float], worth: float) -> None:
        """Store more layers in 16 bits until the error is small enough, in the order of their gain.

        Args:
            enough: sufficient error of the outputs.
            most: limits of work and draws, as multiples of all 8 bits.
            worth: least decrease of the squared error, as a share, for a doubling of the cost.
        """
        target, offered = enough, list(self._waiting)
        for _ in range(ROUNDS):
            if self.error <= enough or not offered:
                break
            in_8_bits = (error**2 for name, error in self._errors.items() if self.choices.get(name) is None)
            remaining_error = math.sqrt(self._others + sum(in_8_bits))
            for name in list(offered):
                if remaining_error <= target:
                    break
                new = self._new(name)
                # The user can request 8 bits.
                allowed = all(self.choices.get(member, True) for member in self._groups[name])
                gain = sum(self._errors[member] ** 2 for member in new)
                if new and allowed and self._is_affordable(new, gain / max(remaining_error**2, 1e-24), most, worth):
                    self._store(new)
                    remaining_error = math.sqrt(max(remaining_error**2 - gain, 0.0))
                offered.remove(name)
            self.error = self._measured()
            target *= min(0.8, enough / max(self.error, 1e-12))

    def _store(self, layers: Sequence[str]) -> None:
        """Store layers in 16 bits."""
        self.choices.update((member, PrecisionChoice(member, BY_MEASURE)) for member in layers)
        self._budget -= sum(self._milliseconds[member] for member in layers)
        self._share -= sum(self._shares[member] for member in layers)

    def _store_all(self) -> bool:
        """Store the remaining layers in 16 bits together, if the time of a frame grows at most to ``FAR_COST``.

        Instructions and draws have different costs, and layers whose inputs have different bits take additional draws.
        So all remaining layers together can be affordable when a single one is not.

        Returns:
            Whether layers were stored, and a frame does not take longer than before.
        """
        left = [name for name in self._waiting if all(self.choices.get(member, True) for member in self._groups[name])]
        new = list(dict.fromkeys(member for name in left for member in self._new(name)))
        if not new:
            return False
        faster = False
        if self._counted is not None:
            cost = self._counted(self._assigned({member: PrecisionChoice(member, BY_MEASURE) for member in new}))
            if cost.time > FAR_COST or _larger(cost) > FAR_DRAWS:
                return False
            faster = cost.time <= self._counted(self._assigned()).time
            self._costs = _larger(cost)
        elif not self._is_cheap(new):
            return False
        self._store(new)
        self.error = self._measured()
        return faster

    def buy_until_useful(self, badness: Callable[[Graph], float]) -> None:
        """Go on up to ``FAR_COST`` in steps, while the outputs would have too large an error."""
        bad, few = badness(self._assigned()), self._limits.images > PICTURES
        limit = FAR_OF_FEW if few else FAR
        if bad > limit and few:  # a warning compares all outputs as values
            self._run(dict.fromkeys(self._errors), as_values=True)
            self.error = self._measured()
            self._sort()
        while self.error > 0.0 and bad > limit:
            limit = NEAR
            before = dict(self.choices), self.error, self._costs
            # One map alone can be without effect if values clip in others, or only in images that are not measured.
            for target, worth in ((LESS * self.error, FAR_WORTH), (0.0, FAR_WORTH), (0.0, 0.0)):
                self._share, self._counts = self._share_left(FAR_COST - 1.0), MOST_COUNTS
                share = 1.0 if not worth and self._store_all() else LEAST_GAIN
                self.buy(target, (FAR_COST, FAR_DRAWS), worth)
                then = badness(self._assigned())
                if then <= share * bad or self.error <= share * before[1]:
                    break
                self.choices, self.error, self._costs = dict(before[0]), *before[1:]
            else:  # values clip in 16 bits as well
                break
            bad = then

    def report(self, before: float) -> Spent:
        """Return the report of the search; ``before`` is the error before it."""
        sixteen_bit = {choice.layer for choice in precision.assign(self._graph, self.choices)[1]}
        errors, limits = self._errors, self._limits
        order = sorted(errors, key=lambda name: errors[name] ** 2 / max(self._prices[name], 1e-12), reverse=True)
        rows = (
            Sensitivity(name, errors[name], self._milliseconds[name], 16 if name in sixteen_bit else 8)
            for name in order
        )
        return Spent(tuple(rows), before, self.error, limits.tolerance, limits.budget, limits.share, self._costs)


def _larger(cost: CostRatios) -> float:
    return max(cost.work, cost.draws)


def _shares(graph: Graph, names: Collection[str]) -> dict[str, float]:
    """Return the estimated cost of 16 bits of layers: the larger share of the work in 8 bits or of the draws."""
    work = precision.work(graph)
    draws = sum(_own_draws(graph, node) for node in graph.nodes if len(graph.shapes[node.name]) == 3)
    shares = {}
    for name in names:
        with_it = [graph.by_name[name], *precision.followers(graph, name)]
        more_work = sum(precision.added(graph, node) for node in with_it)
        shares[name] = max(more_work / work, sum(_draws(graph, node) for node in with_it) / draws)
    return shares


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
    work = max(sum(precision.added(graph, follower) for follower in with_it), 1.0) * PER_PRODUCT / INSTRUCTIONS
    return (work + sum(_draws(graph, follower) for follower in with_it) * DRAW) / 1000.0


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
