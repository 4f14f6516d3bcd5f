"""Functions of one value and of two by the names of their operators in each framework.

Functions that are not activations are rows of ``graph.elementwise``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from glsl_infer.graph.activations import activation
from glsl_infer.graph.elementwise import BINARY, UNARY, Elementwise

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
"""Activations, and their names in Keras, ONNX and TFLite.

A ``-`` means: the framework does not have the operator, or has one with options, which the importer converts.
"""


def activations(framework: str) -> dict[str, str]:
    """Return the activation text of each operator of a framework."""
    rows = [line.split() for line in _ACTIVATIONS.strip().splitlines()]
    index = 1 + FRAMEWORKS.index(framework)
    return {row[index]: row[0] for row in rows if row[index] != "-"}


def functions(framework: str) -> dict[str, str]:
    """Return the operation of ``tensor_unary`` for each operator of a framework."""
    return _named(UNARY, framework)


def operations(framework: str) -> dict[str, str]:
    """Return the operation of ``binary``, or of ``tensor_binary`` if it has no shader, by operator of a framework."""
    return _named(BINARY, framework)


def _named(rows: Mapping[str, Elementwise], framework: str) -> dict[str, str]:
    return {name: operation for operation, row in rows.items() for name in getattr(row, framework).split()}


UNLIMITED: Mapping[str, Callable[[Any], Any]] = {
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
        **{name: UNLIMITED.get(text, activation(text)) for name, text in activations(framework).items()},
        **{name: UNARY[operation].compute for name, operation in functions(framework).items()},
        **{name: BINARY[operation].compute for name, operation in operations(framework).items()},
    }
