"""What ``auto`` may spend on 16 bits, and what it has bought: feature maps, and finer weights."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from glsl_infer.compiler.ranges import precision
from glsl_infer.compiler.ranges.precision import PrecisionChoice
from glsl_infer.graph import Graph

BY_MEASURE = "measured"
"""Why a map has 16 bits here."""

MOST_COST = 1.14
"""Times the cost of all 8 bits, of work or of draws, that ``auto`` may spend where the plan of the program is counted:
1.15, less what Mesa's vc4 compiler makes of it beyond that."""

WORTH = 1.0
"""Share of the squared error that what adds all of the cost again has to take away, in proportion."""

MOST_COUNTS = 128
"""Plans that are counted at most."""

Counted = Callable[[Graph, Collection[str]], float]
"""A graph with bits, and layers whose weights are finer -> times the cost of all 8 bits."""


@dataclass
class Purse:
    """What is left, and what was bought.

    Attributes:
        graph: with ranges.
        made: the bits of maps, see ``precision.choose``.
        cost: milliseconds that 16 bits of a map add to a frame.
        shares: about the share of work and draws that they add.
        left: milliseconds that may be added.
        room: share that may be added.
        counted: counts the plan instead; ``MOST_COST`` bounds it.
        exact: layers with finer weights.
    """

    graph: Graph
    made: dict[str, PrecisionChoice | None]
    cost: Mapping[str, float]
    shares: Mapping[str, float]
    left: float = math.inf
    room: float = math.inf
    counted: Counted | None = None
    exact: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._counts = MOST_COUNTS
        self._spent = 0.0 if self.counted is None else self.counted(self._with(()), self.exact)

    def bits(self) -> dict[str, int]:
        """Return the bits of every map."""
        return {node.name: node.attrs["bits"] for node in self._with(()).nodes if "bits" in node.attrs}

    def buys(self, maps: Sequence[str], weights: Sequence[str], gained: float) -> bool:
        """Buy maps of 16 bits and finer weights if they can be paid, and are worth it.

        Args:
            maps: layers.
            weights: layers.
            gained: the share of the squared error that they take away.
        """
        if self.counted is not None:
            self._counts -= 1
            if self._counts < 0:
                return False
            then = self.counted(self._with(maps), self.exact.union(weights))
            if then > MOST_COST or gained < WORTH * (then - self._spent):
                return False
            self._spent = then
        elif weights or not self._pays(maps):
            return False
        self.made.update((one, PrecisionChoice(one, BY_MEASURE)) for one in maps)
        self.exact.update(weights)
        self.left -= sum(self.cost[one] for one in maps)
        self.room -= sum(self.shares[one] for one in maps)
        return True

    def _pays(self, maps: Sequence[str]) -> bool:
        takes = (sum(self.cost[one] for one in maps), sum(self.shares[one] for one in maps))
        return takes[0] <= self.left and takes[1] <= self.room

    def _with(self, maps: Sequence[str]) -> Graph:
        more = {one: PrecisionChoice(one, BY_MEASURE) for one in maps}
        return precision.assign(self.graph, {**self.made, **more})[0]
