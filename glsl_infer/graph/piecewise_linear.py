"""Piecewise-linear sigmoids: a line plus clamped multiples of the line, clipped to [0, 1].

    z = factor * x + offset
    y = clip(z + clip(f1 * z, low1, high1) + clip(f2 * z, low2, high2) + ..., 0, 1)

The text form in a graph is ``piecewise_linear(factor,offset,f1,low1,high1,...)``. This form is the cheapest in a
shader: the weights produce ``z``, and the store clips. Each pair of breakpoints costs one multiplication, one clamp
and one addition.
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
"""Largest sum of the upper limits of all clamps. Padding lanes have biases below its negative, and biases of a layer
share one scale."""

PARAMETERS = "(FACTOR,OFFSET[,FACTOR,LOW,HIGH]...)"
"""Syntax of the parameters, after the name."""


class Clamp(NamedTuple):
    """A term of the sum: ``clip(factor * z, low, high)``."""

    factor: float
    low: float
    high: float


@dataclass(frozen=True)
class PiecewiseLinear:
    """A monotonic function with values in [0, 1]; the module docstring has its formula.

    Attributes:
        factor, offset: coefficients of ``z``; the factor is positive.
        clamps: the other terms, with factors >= 0 and ``low <= high``.

    Raises:
        ValueError: a coefficient is out of its range.
    """

    factor: float
    offset: float
    clamps: tuple[Clamp, ...] = ()

    def __post_init__(self) -> None:
        numbers = [self.factor, self.offset, *(bound for clamp in self.clamps for bound in clamp)]
        if not all(math.isfinite(value) and abs(value) < 1e30 for value in numbers):
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
        """A ``z`` at which the function is 0, for padding lanes. It is kept small, because biases share a scale."""
        return -1.0 - sum(max(clamp.high, 0.0) for clamp in self.clamps)

    @property
    def name(self) -> str:
        """The text form, with 9 significant digits: the precision of a 32-bit float."""
        clamps = (f"{bound:.9g}" for clamp in self.clamps for bound in clamp)
        return f"piecewise_linear({','.join((f'{self.factor:.9g}', f'{self.offset:.9g}', *clamps))})"

    @property
    def folded(self) -> PiecewiseLinear:
        """The same function of ``z``, for shaders whose weights include ``factor`` and ``offset``."""
        return PiecewiseLinear(1.0, 0.0, self.clamps)

    def __call__(self, x: Array) -> Array:
        """Apply the function elementwise, in the type of ``x``."""
        dtype = x.dtype.type
        z = dtype(self.factor) * x + dtype(self.offset)
        total = z
        for clamp in self.clamps:
            total = total + np.clip(dtype(clamp.factor) * z, dtype(clamp.low), dtype(clamp.high))
        y: Array = np.clip(total, dtype(0.0), dtype(1.0))
        return y


HARD_SIGMOID = PiecewiseLinear(1.0 / 6.0, 0.5)
"""``clip(x / 6 + 1/2, 0, 1)``, as Keras 3 defines it."""

SEVEN_PIECES = PiecewiseLinear(0.05, 0.125, (Clamp(1.0, 0.0, 0.25), Clamp(2.0, 0.2, 0.3)))
"""The activation ``piecewise_linear_sigmoid`` of the article; 0.05, 0.1 and 0.2 are its slopes."""


def of_slopes(
    outer: float, slopes: Sequence[float], breakpoints: Sequence[tuple[float, float]], centre: tuple[float, float]
) -> PiecewiseLinear:
    """Return a function defined by its slopes on both sides of a centre.

    It is ``clip(y + outer * (x - x0) + sum of slope * clip(x - x0, left, right), 0, 1)`` with ``centre`` = (x0, y).

    Args:
        outer: slope beyond all breakpoints, positive.
        slopes: increase of the slope between each pair of breakpoints, >= 0.
        breakpoints: pairs of breakpoints (left, right) relative to the centre, left <= 0 <= right.
        centre: a point (x0, y) of the function before clipping.

    Raises:
        ValueError: an argument is out of its range.
    """
    x, y = centre
    if outer <= 0.0:
        raise ValueError(f"an outer slope of {outer:g}; it must be positive")
    height = y / (outer + sum(slopes))  # distance from the centre to the zero of the steepest segment, extended
    clamps = []
    for slope, (left, right) in zip(slopes, breakpoints):
        if not left <= 0.0 <= right:
            raise ValueError(f"breakpoints at {left:g} and {right:g} from the centre; they must be on both sides of it")
        clamps.append(Clamp(slope / outer, slope * (left + height), slope * (right + height)))
    return PiecewiseLinear(outer, outer * (height - x), tuple(clamps))
