"""Functions of one or two values that are not activations, each as a row of a table.

Operators with shaders (``ops.binary``, ``ops.vector_binary``), CPU kernels (``cpu.elementwise``) and the importers of
all formats (``importers.core.elementwise``) read these tables. In the engine, a new function needs only a row here.
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
        glsl: expression of ``a`` and ``b``, vec4s or, for vectors, vec2s; empty for functions without a shader, and in
            ``UNARY``.
        steep: whether the function can enlarge the errors of its operands, so that these need 32 bits.
        keras, onnx, tflite: names of its operators in each format (in Keras, of their classes), separated by spaces;
            empty if the format does not have one, or if it has options.
    """

    compute: Callable[..., Array]
    interval: IntervalRule
    glsl: str = ""
    steep: bool = True
    keras: str = ""
    onnx: str = ""
    tflite: str = ""

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
    "add": Elementwise(np.add, monotone, "a + b", steep=False, keras="Add", onnx="Add", tflite="ADD"),
    "subtract": Elementwise(np.subtract, monotone, "a - b", steep=False, keras="Subtract", onnx="Sub", tflite="SUB"),
    "multiply": Elementwise(np.multiply, monotone, "a * b", steep=False, keras="Multiply", onnx="Mul", tflite="MUL"),
    "divide": Elementwise(np.divide, quotient, "a / b", keras="Divide TrueDivide", onnx="Div", tflite="DIV"),
    "maximum": Elementwise(np.maximum, monotone, "max(a, b)", keras="Maximum", onnx="Max", tflite="MAXIMUM"),
    "minimum": Elementwise(np.minimum, monotone, "min(a, b)", keras="Minimum", onnx="Min", tflite="MINIMUM"),
    "power": Elementwise(np.power, UNBOUNDED, keras="Power", onnx="Pow", tflite="POW"),
    "squared_difference": Elementwise(
        lambda a, b: np.square(a - b), from_zero, "(a - b) * (a - b)", tflite="SQUARED_DIFFERENCE"
    ),
    "hypot": Elementwise(np.hypot, from_zero, "sqrt(a * a + b * b)", keras="Hypot"),
    "logaddexp": Elementwise(
        np.logaddexp, monotone, "max(a, b) + log(1.0 + exp(-abs(a - b)))", steep=False, keras="Logaddexp"
    ),
    "atan2": Elementwise(np.arctan2, within(-np.pi, np.pi), keras="Arctan2", tflite="ATAN2"),
    "equal": Elementwise(np.equal, UNIT, keras="Equal", onnx="Equal", tflite="EQUAL"),
    "not_equal": Elementwise(np.not_equal, UNIT, keras="NotEqual", tflite="NOT_EQUAL"),
    "greater": Elementwise(np.greater, UNIT, keras="Greater", onnx="Greater", tflite="GREATER"),
    "greater_equal": Elementwise(
        np.greater_equal, UNIT, keras="GreaterEqual", onnx="GreaterOrEqual", tflite="GREATER_EQUAL"
    ),
    "less": Elementwise(np.less, UNIT, keras="Less", onnx="Less", tflite="LESS"),
    "less_equal": Elementwise(np.less_equal, UNIT, keras="LessEqual", onnx="LessOrEqual", tflite="LESS_EQUAL"),
    "and": Elementwise(np.logical_and, UNIT, keras="LogicalAnd", onnx="And", tflite="LOGICAL_AND"),
    "or": Elementwise(np.logical_or, UNIT, keras="LogicalOr", onnx="Or", tflite="LOGICAL_OR"),
    "xor": Elementwise(np.logical_xor, UNIT, keras="LogicalXor", onnx="Xor"),
    "floor_divide": Elementwise(lambda a, b: np.floor(a / b), quotient, keras="FloorDivide", tflite="FLOOR_DIV"),
    "whole_divide": Elementwise(lambda a, b: np.trunc(a / b), quotient),
    "modulo": Elementwise(np.mod, UNBOUNDED, keras="Mod", onnx="Mod", tflite="FLOOR_MOD"),
    "remainder": Elementwise(np.fmod, UNBOUNDED, keras="Fmod"),
}
"""Functions of two values, with NumPy's broadcasting."""

DRAWN: Mapping[str, Elementwise] = {name: row for name, row in BINARY.items() if row.glsl}
"""Functions of two values with a shader."""

_erf = np.frompyfunc(erf, 1, 1)

UNARY: Mapping[str, Elementwise] = {
    "acos": Elementwise(np.arccos, within(0.0, np.pi), keras="Arccos", onnx="Acos"),
    "acosh": Elementwise(np.arccosh, within(0.0, np.inf), keras="Arccosh", onnx="Acosh"),
    "asin": Elementwise(np.arcsin, within(-np.pi / 2.0, np.pi / 2.0), keras="Arcsin", onnx="Asin"),
    "asinh": Elementwise(np.arcsinh, monotone, keras="Arcsinh", onnx="Asinh"),
    "atan": Elementwise(np.arctan, monotone, keras="Arctan", onnx="Atan"),
    "atanh": Elementwise(np.arctanh, UNBOUNDED, keras="Arctanh", onnx="Atanh"),
    "ceil": Elementwise(np.ceil, monotone, keras="Ceil", onnx="Ceil", tflite="CEIL"),
    "cos": Elementwise(np.cos, WAVE),
    "cosh": Elementwise(np.cosh, within(1.0, np.inf), keras="Cosh", onnx="Cosh"),
    "erf": Elementwise(lambda x: np.asarray(_erf(x)).astype(x.dtype), monotone, keras="Erf", onnx="Erf"),
    "floor": Elementwise(np.floor, monotone, keras="Floor", onnx="Floor", tflite="FLOOR"),
    "is_finite": Elementwise(np.isfinite, UNIT, keras="Isfinite"),
    "is_inf": Elementwise(np.isinf, UNIT, keras="Isinf"),
    "is_nan": Elementwise(np.isnan, UNIT, keras="Isnan", onnx="IsNaN"),
    "not": Elementwise(lambda x: x == 0, UNIT, keras="LogicalNot", onnx="Not", tflite="LOGICAL_NOT"),
    "round": Elementwise(np.rint, monotone, onnx="Round", tflite="ROUND"),
    "sign": Elementwise(np.sign, monotone, keras="Sign", onnx="Sign", tflite="SIGN"),
    "sin": Elementwise(np.sin, WAVE),
    "sinh": Elementwise(np.sinh, monotone, keras="Sinh", onnx="Sinh"),
    "tan": Elementwise(np.tan, UNBOUNDED, keras="Tan", onnx="Tan"),
    "truncate": Elementwise(np.trunc, monotone, keras="Trunc"),
}
"""Functions of one value. Those with a shader are activations (``graph.activations``)."""
