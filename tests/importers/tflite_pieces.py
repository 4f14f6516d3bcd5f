"""Decomposed operators as converters write them, for tests: functions, normalisations and transpositions."""

from __future__ import annotations

from typing import Any

import numpy as np
from tflite_files import File

MAP = (1, 8, 6, 4)
_NONE = {"fusedActivationFunction": 0}


def two(made: File, kind: str, x: int, y: Any, *, first: bool = False) -> int:
    """Add an operation on a tensor and a tensor or a constant."""
    shape = made.shape(x)
    other = y if isinstance(y, int) else made.constant(y)
    name = {"MUL": "Mul", "ADD": "Add", "SUB": "Sub", "DIV": "Div"}.get(kind)
    if isinstance(y, int) and len(made.shape(y)) == len(shape):
        shape = tuple(map(max, shape, made.shape(y)))
    both = [other, x] if first else [x, other]
    return made.op(kind, both, shape, {name: _NONE} if name else None)


def one(made: File, kind: str, x: int) -> int:
    """Add an operator on one tensor."""
    return made.op(kind, [x], made.shape(x))


def selu(made: File, x: int) -> int:
    """Add SELU as TensorFlow writes it, with a comparison and a selection."""
    above = made.op("GREATER", [x, made.constant(0.0)], made.shape(x), type_="BOOL")
    right = two(made, "MUL", x, 1.0507009873554805)
    left = two(made, "MUL", two(made, "SUB", one(made, "EXP", x), 1.0), 1.7580993408473766)
    return made.op("SELECT_V2", [above, right, left], made.shape(x))


def celu(made: File, x: int) -> int:
    """Add CELU with alpha 1.5."""
    below = made.op("MINIMUM", [x, made.constant(0.0)], made.shape(x))
    left = two(made, "MUL", two(made, "SUB", one(made, "EXP", two(made, "DIV", below, 1.5)), 1.0), 1.5)
    return two(made, "ADD", one(made, "RELU", x), left)


def positions(made: File, x: int) -> int:
    """Add constants that differ by pixel: added, subtracted from, and as a divisor of one channel."""
    rng, (_, height, width, channels) = np.random.default_rng(4), made.shape(x)
    numbers, mask = rng.normal(size=(1, height, width, channels)), rng.uniform(0.5, 2.0, (height, width, 1))
    for kind, value, first in (("ADD", numbers, False), ("SUB", numbers[0], True), ("DIV", mask, False)):
        x = two(made, kind, x, value, first=first)
    return x


def mish(made: File, x: int) -> int:
    """Add ``x * tanh(log(1 + exp(x)))``."""
    return two(made, "MUL", x, one(made, "TANH", one(made, "LOG", two(made, "ADD", one(made, "EXP", x), 1.0))))


def mean(made: File, x: int, axes: list[int]) -> int:
    """Add a mean over axes, which are kept with size 1."""
    shape = tuple(1 if axis in axes else size for axis, size in enumerate(made.shape(x)))
    return made.op("MEAN", [x, made.constant(axes, "i4")], shape, {"Reducer": {"keepDims": True}})


def moments(made: File, x: int, axes: list[int], epsilon: float) -> tuple[int, int]:
    """Add the mean and the inverse of the standard deviation."""
    middle = mean(made, x, axes)
    variance = mean(made, made.op("SQUARED_DIFFERENCE", [x, middle], made.shape(x)), axes)
    return middle, one(made, "RSQRT", two(made, "ADD", variance, epsilon))


def layer_norm(made: File, x: int) -> int:
    """Add a layer norm as Keras writes it: ``x * (gamma / d) + (beta - mean * gamma / d)``."""
    middle, inverse = moments(made, x, [3], 1e-3)
    gamma, beta = made.random(1, 1, 1, 4), made.random(1, 1, 1, 4)
    scale = made.op("MUL", [inverse, gamma], MAP, {"Mul": _NONE})
    less = made.op("MUL", [one(made, "NEG", middle), scale], MAP, {"Mul": _NONE})
    offset = made.op("ADD", [less, beta], MAP, {"Add": _NONE})
    return two(made, "ADD", two(made, "MUL", x, scale), offset)


def rms_norm(made: File, x: int) -> int:
    """Add an RMS norm followed by a ReLU, which is fused into the last operator."""
    squares = mean(made, one(made, "SQUARE", x), [3])
    normed = two(made, "MUL", x, one(made, "RSQRT", two(made, "ADD", squares, 1e-6)))
    return made.op("MUL", [normed, made.random(4)], MAP, {"Mul": {"fusedActivationFunction": 1}})


def instance_norm(made: File, x: int) -> int:
    """Add a norm over rows and columns."""
    middle, inverse = moments(made, x, [1, 2], 1e-5)
    return two(made, "MUL", two(made, "SUB", x, middle), inverse)


def group_norm(made: File, x: int, then: int = 0) -> int:
    """Add a norm of two groups with five axes; ``then`` is an activation fused into the last sum."""
    five = (1, 8, 6, 2, 2)
    parts = made.op("RESHAPE", [x, made.constant(five, "i4")], five, {"Reshape": {}})
    middle, inverse = moments(made, parts, [1, 2, 4], 1e-3)
    gamma, beta = made.random(1, 1, 1, 2, 2), made.random(1, 1, 1, 2, 2)
    normed = two(made, "MUL", two(made, "SUB", parts, middle), inverse)
    scaled = made.op("MUL", [normed, gamma], five, {"Mul": _NONE})
    moved = made.op("ADD", [scaled, beta], five, {"Add": {"fusedActivationFunction": then}})
    return made.op("RESHAPE", [moved, made.constant(MAP, "i4")], MAP, {"Reshape": {}})


def group_norm_relu(made: File, x: int) -> int:
    """Add ``group_norm`` with a ReLU at the converters' position."""
    return group_norm(made, x, 1)


def turned(made: File, x: int, wide: tuple[int, ...], order: list[int], shape: tuple[int, ...]) -> int:
    """Add a reshape, a transposition, and a reshape to a map."""
    parts = made.op("RESHAPE", [x, made.constant(wide, "i4")], wide, {"Reshape": {}})
    there = tuple(wide[axis] for axis in order)
    moved = made.op("TRANSPOSE", [parts, made.constant(order, "i4")], there, version=4)
    return made.op("RESHAPE", [moved, made.constant(shape, "i4")], shape, {"Reshape": {}})


def shuffled(made: File, x: int) -> int:
    """Add a channel shuffle of two groups."""
    return turned(made, x, (1, 8, 6, 2, 2), [0, 1, 2, 4, 3], MAP)


def enlarged(made: File, x: int) -> int:
    """Add a pixel shuffle of four channels to a block of pixels, in PyTorch's order."""
    return turned(made, x, (1, 8, 6, 1, 2, 2), [0, 1, 4, 2, 5, 3], (1, 16, 12, 1))


def gathered(made: File, x: int) -> int:
    """Add a space-to-depth of blocks of pixels."""
    return turned(made, x, (1, 4, 2, 3, 2, 4), [0, 1, 3, 4, 2, 5], (1, 4, 3, 16))


def dense_rows(made: File, x: int) -> int:
    """Add a dense layer of each pixel between two reshapes, as Keras' Dense on a map."""
    rows = made.op("RESHAPE", [x, made.constant([48, 4], "i4")], (48, 4), {"Reshape": {}})
    sums = made.op("FULLY_CONNECTED", [rows, made.random(5, 4), made.random(5)], (48, 5), {"FullyConnected": {}})
    return made.op("RESHAPE", [sums, made.constant([1, 8, 6, 5], "i4")], (1, 8, 6, 5), {"Reshape": {}})
