"""Functions of one or two values that are not activations, each as a row of a table.

Operators with shaders (``ops.binary``, ``ops.vector_binary``) and CPU kernels (``cpu.elementwise``) read these tables.
A new function needs a row here, and a row with its names in frameworks (``importers.core.elementwise``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product
from math import erf
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from glsl_infer.graph.node import Array

    Interval = tuple[Array, Array]
    IntervalRule = Callable[..., Interval]
    """Function of a NumPy function and the (low, high) of each operand. It returns the (low, high) of the results."""


@dataclass(frozen=True)
class Elementwise:
    """An elementwise function.

    Attributes:
        compute: NumPy form. Comparisons and logic return 1 or 0.
        interval: rule for the bounds of the results. It has no default, because bounds from the ends of the operands'
            intervals (``monotone``) are wrong for most functions.
        glsl: expression of the vec4s ``a`` and ``b``; empty for functions without a shader.
        steep: whether the function can enlarge the errors of its operands, so that these need 32 bits.
    """

    compute: Callable[..., Array]
    interval: IntervalRule
    glsl: str = ""
    steep: bool = True

    def range(self, *operands: Interval) -> Interval:
        """Return bounds of the results for operands within (low, high) each."""
        with np.errstate(all="ignore"):
            return self.interval(self.compute, *operands)


def monotone(compute: Callable[..., Array], *operands: Interval) -> Interval:
    """Return bounds for a function that is monotone in each operand: the extremes are at the ends of the intervals."""
    corners = [compute(*corner) for corner in product(*operands)]
    return np.fmin.reduce(corners), np.fmax.reduce(corners)


def quotient(compute: Callable[..., Array], dividend: Interval, divisor: Interval) -> Interval:
    """Return bounds for a quotient, which is monotone unless the divisor can be 0."""
    low, high = monotone(compute, dividend, divisor)
    crosses = (divisor[0] <= 0.0) & (divisor[1] >= 0.0)
    return np.where(crosses, -np.inf, low), np.where(crosses, np.inf, high)


def from_zero(compute: Callable[..., Array], *operands: Interval) -> Interval:
    """Return bounds for a function that is convex in each operand and never negative."""
    _, high = monotone(compute, *operands)
    return np.zeros_like(high), high


def within(low: float, high: float) -> IntervalRule:
    """Return the rule of functions with fixed bounds."""

    def rule(compute: Callable[..., Array], *operands: Interval) -> Interval:
        shape = np.broadcast_shapes(*(np.shape(end) for operand in operands for end in operand))
        return np.full(shape, low), np.full(shape, high)

    return rule


UNBOUNDED, UNIT, WAVE = within(-np.inf, np.inf), within(0.0, 1.0), within(-1.0, 1.0)

BINARY: Mapping[str, Elementwise] = {
    "add": Elementwise(np.add, monotone, "a + b", steep=False),
    "subtract": Elementwise(np.subtract, monotone, "a - b", steep=False),
    "multiply": Elementwise(np.multiply, monotone, "a * b", steep=False),
    "divide": Elementwise(np.divide, quotient, "a / b"),
    "maximum": Elementwise(np.maximum, monotone, "max(a, b)"),
    "minimum": Elementwise(np.minimum, monotone, "min(a, b)"),
    "power": Elementwise(np.power, UNBOUNDED),
    "squared_difference": Elementwise(lambda a, b: np.square(a - b), from_zero, "(a - b) * (a - b)"),
    "equal": Elementwise(np.equal, UNIT),
    "not_equal": Elementwise(np.not_equal, UNIT),
    "greater": Elementwise(np.greater, UNIT),
    "greater_equal": Elementwise(np.greater_equal, UNIT),
    "less": Elementwise(np.less, UNIT),
    "less_equal": Elementwise(np.less_equal, UNIT),
    "and": Elementwise(np.logical_and, UNIT),
    "or": Elementwise(np.logical_or, UNIT),
    "xor": Elementwise(np.logical_xor, UNIT),
    "floor_divide": Elementwise(lambda a, b: np.floor(a / b), quotient),
    "whole_divide": Elementwise(lambda a, b: np.trunc(a / b), quotient),
    "modulo": Elementwise(np.mod, UNBOUNDED),
    "remainder": Elementwise(np.fmod, UNBOUNDED),
}
"""Functions of two values, with NumPy's broadcasting."""

DRAWN: Mapping[str, Elementwise] = {name: row for name, row in BINARY.items() if row.glsl}
"""Functions of two values with a shader."""

_erf = np.frompyfunc(erf, 1, 1)

UNARY: Mapping[str, Elementwise] = {
    "ceil": Elementwise(np.ceil, monotone),
    "cos": Elementwise(np.cos, WAVE),
    "erf": Elementwise(lambda x: np.asarray(_erf(x)).astype(x.dtype), monotone),
    "floor": Elementwise(np.floor, monotone),
    "not": Elementwise(lambda x: x == 0, UNIT),
    "round": Elementwise(np.rint, monotone),
    "sign": Elementwise(np.sign, monotone),
    "sin": Elementwise(np.sin, WAVE),
    "truncate": Elementwise(np.trunc, monotone),
    "atan": Elementwise(np.arctan, monotone),
    "is_nan": Elementwise(np.isnan, UNIT),
}
"""Functions of one value. Those with a shader are activations (``graph.activations``)."""
