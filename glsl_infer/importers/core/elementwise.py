"""Functions of one value and of two, with their names in each framework. A new function needs a row here and no more.

The columns are the name here, then the names in Keras, ONNX and TFLite. A ``-`` means: the framework does not have the
operator, or has one with options, which the importer converts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from glsl_infer.graph.activations import activation
from glsl_infer.graph.elementwise import BINARY, UNARY

KERAS, ONNX, TFLITE = FRAMEWORKS = ("keras", "onnx", "tflite")

_ACTIVATIONS = """
absolute       Absolute    Abs              ABS
cos            Cos         Cos              COS
elu(1)         -           -                ELU
exponential    Exp         Exp              EXP
hard_sigmoid   HardSigmoid -                -
hard_silu      HardSilu    HardSwish        HARD_SWISH
log            Log         Log              LOG
log_sigmoid    LogSigmoid  -                -
mish           -           Mish             -
reciprocal     Reciprocal  Reciprocal       -
relu           Relu        Relu             RELU
relu(1)        -           -                RELU_0_TO_1
relu(6)        Relu6       -                RELU6
rsqrt          Rsqrt       -                RSQRT
selu           Selu        -                -
sigmoid        Sigmoid     Sigmoid          LOGISTIC
silu           Silu        -                -
sin            Sin         Sin              SIN
softplus       Softplus    Softplus         -
softsign       Softsign    Softsign         -
sparse_plus    SparsePlus  -                -
sqrt           Sqrt        Sqrt             SQRT
square         Square      -                SQUARE
tanh           Tanh        Tanh             TANH
tanh_shrink    TanhShrink  -                -
"""
"""Functions of one value with a shader, as texts of activations."""

_FUNCTIONS = """
atan           Arctan      Atan             -
ceil           Ceil        Ceil             CEIL
erf            Erf         Erf              -
floor          Floor       Floor            FLOOR
is_nan         Isnan       IsNaN            -
not            LogicalNot  Not              LOGICAL_NOT
round          -           Round            ROUND
sign           Sign        Sign             SIGN
truncate       Trunc       -                -
"""
"""Functions of one value without a shader: operations of the kernel ``tensor_unary``."""

_OPERATIONS = """
add                 Add          Add            ADD
subtract            Subtract     Sub            SUB
multiply            Multiply     Mul            MUL
divide              Divide       Div            DIV
divide              TrueDivide   -              -
maximum             Maximum      Max            MAXIMUM
minimum             Minimum      Min            MINIMUM
squared_difference  -            -              SQUARED_DIFFERENCE
"""
"""Operations on two values with a shader: operations of ``binary``."""

_COMPARISONS = """
equal               Equal        Equal          EQUAL
not_equal           NotEqual     -              NOT_EQUAL
greater             Greater      Greater        GREATER
greater_equal       GreaterEqual GreaterOrEqual GREATER_EQUAL
less                Less         Less           LESS
less_equal          LessEqual    LessOrEqual    LESS_EQUAL
and                 LogicalAnd   And            LOGICAL_AND
or                  LogicalOr    Or             LOGICAL_OR
xor                 LogicalXor   Xor            -
floor_divide        FloorDivide  -              FLOOR_DIV
modulo              Mod          -              FLOOR_MOD
remainder           Fmod         -              -
"""
"""Operations on two values without a shader: operations of the kernel ``tensor_binary``."""


def _column(table: str, framework: str) -> dict[str, str]:
    rows = [line.split() for line in table.strip().splitlines()]
    place = 1 + FRAMEWORKS.index(framework)
    return {row[place]: row[0] for row in rows if row[place] != "-"}


def activations(framework: str) -> dict[str, str]:
    """Return the activation text of each operator of a framework."""
    return _column(_ACTIVATIONS, framework)


def functions(framework: str) -> dict[str, str]:
    """Return the operation of ``tensor_unary`` for each operator of a framework."""
    return _column(_FUNCTIONS, framework)


def operations(framework: str) -> dict[str, str]:
    """Return the operation of ``binary`` for each operator of a framework."""
    return _column(_OPERATIONS, framework)


def comparisons(framework: str) -> dict[str, str]:
    """Return the operation of ``tensor_binary`` for each operator of a framework without a shader."""
    return _column(_COMPARISONS, framework)


_UNLIMITED: Mapping[str, Callable[[Any], Any]] = {
    "exponential": np.exp,
    "log": np.log,
    "reciprocal": lambda x: np.reciprocal(x) if x.dtype.kind == "f" else 1.0 / x,
    "rsqrt": lambda x: 1.0 / np.sqrt(x),
    "sqrt": np.sqrt,
}
"""Activations that a shader limits to finite values. A constant may be infinite, such as the logarithm of a mask."""


def computes(framework: str) -> dict[str, Callable[..., Any]]:
    """Return the NumPy function of each operator of a framework, to fold constants."""
    return {
        **{name: _UNLIMITED.get(text, activation(text)) for name, text in activations(framework).items()},
        **{name: UNARY[operation].compute for name, operation in functions(framework).items()},
        **{
            name: BINARY[operation].compute
            for name, operation in {**operations(framework), **comparisons(framework)}.items()
        },
    }
