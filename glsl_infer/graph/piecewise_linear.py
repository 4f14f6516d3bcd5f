"""Sigmoids of straight pieces: a line, plus clamped multiples of it, cut off at 0 and 1.

    z = factor * x + offset
    y = clip(z + clip(f1 * z, low1, high1) + clip(f2 * z, low2, high2) + ..., 0, 1)

A graph names one by its numbers, ``piecewise_linear(factor,offset,f1,low1,high1,...)``. Of all ways to write such a
function this costs a shader least: ``z`` comes out of the weights, the store cuts off, and what is left is one
multiplication, one clamp and one addition for each pair of bends. Without clamps nothing is left at all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from glsl_infer.graph.node import Array

HIGHEST = 99.0
"""What the upper limits of all clamps may add up to: pad lanes hold less than its negative, and share a unit with
biases."""

PARAMETERS = "(FACTOR,OFFSET[,FACTOR,LOW,HIGH]...)"
"""How its numbers are written behind the name."""


class Clamp(NamedTuple):
    """One term of the sum: ``clip(factor * z, low, high)``."""

    factor: float
    low: float
    high: float


@dataclass(frozen=True)
class PiecewiseLinear:
    """One function; see the top of this module.

    It never decreases, and its values lie in [0, 1].

    Attributes:
        factor, offset: make ``z`` of ``x``; the factor is positive.
        clamps: the other terms, with factors of 0 or more, and ``low <= high``.

    Raises:
        ValueError: other numbers than those.
    """

    factor: float
    offset: float
    clamps: tuple[Clamp, ...] = ()

    def __post_init__(self) -> None:
        numbers = [self.factor, self.offset, *(number for clamp in self.clamps for number in clamp)]
        if not all(math.isfinite(number) and abs(number) < 1e30 for number in numbers):
            raise ValueError(f"{self.name}: a number that is not finite")
        if self.factor < 1e-30:
            raise ValueError(f"{self.name}: its first factor must be positive")
        for clamp in self.clamps:
            if clamp.factor < 0.0 or clamp.low > clamp.high:
                raise ValueError(
                    f"{self.name}: its clamp ({clamp.factor:g}, {clamp.low:g}, {clamp.high:g}) needs a factor of 0 or "
                    "more and low <= high"
                )
        if sum(clamp.high for clamp in self.clamps) > HIGHEST:
            raise ValueError(f"{self.name}: its clamps may reach {HIGHEST:g} together, no more")

    @property
    def zero_at(self) -> float:
        """A ``z`` at which it is 0: what pad lanes hold. No further off than safe: biases share a unit with it."""
        return -1.0 - sum(max(clamp.high, 0.0) for clamp in self.clamps)

    @property
    def name(self) -> str:
        """The name in a graph, with 9 significant digits, which is as much as a shader keeps of a number."""
        clamps = (f"{number:.9g}" for clamp in self.clamps for number in clamp)
        return f"piecewise_linear({','.join((f'{self.factor:.9g}', f'{self.offset:.9g}', *clamps))})"

    @property
    def folded(self) -> PiecewiseLinear:
        """The same function of ``z``: what a shader computes where weights have made ``z`` already."""
        return PiecewiseLinear(1.0, 0.0, self.clamps)

    def __call__(self, x: Array) -> Array:
        """Return the function of every entry, in the type of ``x``."""
        kind = x.dtype.type
        z = kind(self.factor) * x + kind(self.offset)
        total = z
        for clamp in self.clamps:
            total = total + np.clip(kind(clamp.factor) * z, kind(clamp.low), kind(clamp.high))
        y: Array = np.clip(total, kind(0.0), kind(1.0))
        return y


HARD_SIGMOID = PiecewiseLinear(1.0 / 6.0, 0.5)
"""``clip(x / 6 + 1/2, 0, 1)``, as Keras 3 defines it."""

SEVEN_PIECES = PiecewiseLinear(0.05, 0.125, (Clamp(1.0, 0.0, 0.25), Clamp(2.0, 0.2, 0.3)))
"""The article's activation, ``piecewise_linear_sigmoid``: 0.05, 0.1 and 0.2 are its slopes."""


def of_slopes(
    outer: float, slopes: Sequence[float], bends: Sequence[tuple[float, float]], centre: tuple[float, float]
) -> PiecewiseLinear:
    """Return the function through a point whose slope falls off to both sides.

    It is ``clip(y + outer * (x - x0) + sum of slope * clip(x - x0, left, right), 0, 1)`` with ``centre`` = (x0, y).

    Args:
        outer: its slope beyond all bends, positive.
        slopes: what each pair of bends adds to the slope between them, 0 or more.
        bends: of each, (left, right): where they are, from the centre; left <= 0 <= right.
        centre: a point of the graph, before values are cut off.

    Raises:
        ValueError: other numbers than those.
    """
    x, y = centre
    if outer <= 0.0:
        raise ValueError(f"an outer slope of {outer:g}; it must be positive")
    height = y / (outer + sum(slopes))  # so far left of the centre does its steep piece, made longer, cross 0
    clamps = []
    for slope, (left, right) in zip(slopes, bends):
        if not left <= 0.0 <= right:
            raise ValueError(f"bends at {left:g} and {right:g} from the centre; they must lie on both sides of it")
        clamps.append(Clamp(slope / outer, slope * (left + height), slope * (right + height)))
    return PiecewiseLinear(outer, outer * (height - x), tuple(clamps))
