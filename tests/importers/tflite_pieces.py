"""Decomposed operators as converters write them, for tests: functions, normalisations and transpositions."""

from __future__ import annotations

from typing import Any

import numpy as np
from tflite_files import File

MAP = (1, 8, 6, 4)
_NONE = {"fusedActivationFunction": 0}


def binary(file: File, kind: str, x: int, y: Any, *, first: bool = False) -> int:
    """Add an operation on a tensor and a tensor or a constant."""
    shape = file.shape(x)
    other = y if isinstance(y, int) else file.constant(y)
    name = {"MUL": "Mul", "ADD": "Add", "SUB": "Sub", "DIV": "Div"}.get(kind)
    if isinstance(y, int) and len(file.shape(y)) == len(shape):
        shape = tuple(map(max, shape, file.shape(y)))
    operands = [other, x] if first else [x, other]
    return file.op(kind, operands, shape, {name: _NONE} if name else None)


def unary(file: File, kind: str, x: int) -> int:
    """Add an operator on one tensor."""
    return file.op(kind, [x], file.shape(x))


def selu(file: File, x: int) -> int:
    """Add SELU as TensorFlow writes it, with a comparison and a selection."""
    above = file.op("GREATER", [x, file.constant(0.0)], file.shape(x), type_="BOOL")
    right = binary(file, "MUL", x, 1.0507009873554805)
    left = binary(file, "MUL", binary(file, "SUB", unary(file, "EXP", x), 1.0), 1.7580993408473766)
    return file.op("SELECT_V2", [above, right, left], file.shape(x))


def celu(file: File, x: int) -> int:
    """Add CELU with alpha 1.5."""
    below = file.op("MINIMUM", [x, file.constant(0.0)], file.shape(x))
    left = binary(file, "MUL", binary(file, "SUB", unary(file, "EXP", binary(file, "DIV", below, 1.5)), 1.0), 1.5)
    return binary(file, "ADD", unary(file, "RELU", x), left)


def soft_shrink(file: File, x: int) -> int:
    """Add a soft shrink as TensorFlow's converter writes it: ``zeros_like(x)`` is an array."""
    above = file.op("GREATER", [x, file.constant(0.75)], MAP, {"Greater": {}}, type_="BOOL")
    below = file.op("LESS", [x, file.constant(-0.75)], MAP, {"Less": {}}, type_="BOOL")
    zeros = file.constant(np.zeros(MAP))
    left = file.op("SELECT_V2", [below, binary(file, "ADD", x, 0.75), zeros], MAP, {"SelectV2": {}})
    return file.op("SELECT_V2", [above, binary(file, "SUB", x, 0.75), left], MAP, {"SelectV2": {}})


def thresholded(file: File, x: int) -> int:
    """Add a threshold with an array of equal values."""
    above = file.op("GREATER", [x, file.constant(0.25)], MAP, {"Greater": {}}, type_="BOOL")
    return file.op("SELECT", [above, x, file.constant(np.full(MAP, -0.5))], MAP, {"Select": {}})


def positions(file: File, x: int) -> int:
    """Add constants that differ by pixel: added, subtracted from, and as a divisor of one channel."""
    rng, (_, height, width, channels) = np.random.default_rng(4), file.shape(x)
    embedding, mask = rng.normal(size=(1, height, width, channels)), rng.uniform(0.5, 2.0, (height, width, 1))
    for kind, value, first in (("ADD", embedding, False), ("SUB", embedding[0], True), ("DIV", mask, False)):
        x = binary(file, kind, x, value, first=first)
    return x


def mish(file: File, x: int) -> int:
    """Add ``x * tanh(log(1 + exp(x)))``."""
    return binary(
        file, "MUL", x, unary(file, "TANH", unary(file, "LOG", binary(file, "ADD", unary(file, "EXP", x), 1.0)))
    )


def mean(file: File, x: int, axes: list[int]) -> int:
    """Add a mean over axes, which are kept with size 1."""
    shape = tuple(1 if axis in axes else size for axis, size in enumerate(file.shape(x)))
    return file.op("MEAN", [x, file.constant(axes, "i4")], shape, {"Reducer": {"keepDims": True}})


def moments(file: File, x: int, axes: list[int], epsilon: float) -> tuple[int, int]:
    """Add the mean and the inverse of the standard deviation."""
    middle = mean(file, x, axes)
    variance = mean(file, file.op("SQUARED_DIFFERENCE", [x, middle], file.shape(x)), axes)
    return middle, unary(file, "RSQRT", binary(file, "ADD", variance, epsilon))


def layer_norm(file: File, x: int) -> int:
    """Add a layer norm as Keras writes it: ``x * (gamma / d) + (beta - mean * gamma / d)``."""
    middle, inverse = moments(file, x, [3], 1e-3)
    gamma, beta = file.random(1, 1, 1, 4), file.random(1, 1, 1, 4)
    scale = file.op("MUL", [inverse, gamma], MAP, {"Mul": _NONE})
    less = file.op("MUL", [unary(file, "NEG", middle), scale], MAP, {"Mul": _NONE})
    offset = file.op("ADD", [less, beta], MAP, {"Add": _NONE})
    return binary(file, "ADD", binary(file, "MUL", x, scale), offset)


def rms_norm(file: File, x: int) -> int:
    """Add an RMS norm followed by a ReLU, which is fused into the last operator."""
    squares = mean(file, unary(file, "SQUARE", x), [3])
    normed = binary(file, "MUL", x, unary(file, "RSQRT", binary(file, "ADD", squares, 1e-6)))
    return file.op("MUL", [normed, file.random(4)], MAP, {"Mul": {"fusedActivationFunction": 1}})


def instance_norm(file: File, x: int) -> int:
    """Add a norm over rows and columns."""
    middle, inverse = moments(file, x, [1, 2], 1e-5)
    return binary(file, "MUL", binary(file, "SUB", x, middle), inverse)


def group_norm(file: File, x: int, then: int = 0) -> int:
    """Add a norm of two groups with five axes; ``then`` is an activation fused into the last sum."""
    five = (1, 8, 6, 2, 2)
    parts = file.op("RESHAPE", [x, file.constant(five, "i4")], five, {"Reshape": {}})
    middle, inverse = moments(file, parts, [1, 2, 4], 1e-3)
    gamma, beta = file.random(1, 1, 1, 2, 2), file.random(1, 1, 1, 2, 2)
    normed = binary(file, "MUL", binary(file, "SUB", parts, middle), inverse)
    scaled = file.op("MUL", [normed, gamma], five, {"Mul": _NONE})
    shifted = file.op("ADD", [scaled, beta], five, {"Add": {"fusedActivationFunction": then}})
    return file.op("RESHAPE", [shifted, file.constant(MAP, "i4")], MAP, {"Reshape": {}})


def group_norm_relu(file: File, x: int) -> int:
    """Add ``group_norm`` with a ReLU at the converters' position."""
    return group_norm(file, x, 1)


def reshape_transposed(file: File, x: int, wide: tuple[int, ...], order: list[int], shape: tuple[int, ...]) -> int:
    """Add a reshape, a transposition, and a reshape to a map."""
    parts = file.op("RESHAPE", [x, file.constant(wide, "i4")], wide, {"Reshape": {}})
    target_shape = tuple(wide[axis] for axis in order)
    transposed = file.op("TRANSPOSE", [parts, file.constant(order, "i4")], target_shape, version=4)
    return file.op("RESHAPE", [transposed, file.constant(shape, "i4")], shape, {"Reshape": {}})


def shuffled(file: File, x: int) -> int:
    """Add a channel shuffle of two groups."""
    return reshape_transposed(file, x, (1, 8, 6, 2, 2), [0, 1, 2, 4, 3], MAP)


def enlarged(file: File, x: int) -> int:
    """Add a pixel shuffle of four channels to a block of pixels, in PyTorch's order."""
    return reshape_transposed(file, x, (1, 8, 6, 1, 2, 2), [0, 1, 4, 2, 5, 3], (1, 16, 12, 1))


def gathered(file: File, x: int) -> int:
    """Add a space-to-depth of blocks of pixels."""
    return reshape_transposed(file, x, (1, 4, 2, 3, 2, 4), [0, 1, 3, 4, 2, 5], (1, 4, 3, 16))


def dense_rows(file: File, x: int) -> int:
    """Add a dense layer of each pixel between two reshapes, as Keras' Dense on a map."""
    rows = file.op("RESHAPE", [x, file.constant([48, 4], "i4")], (48, 4), {"Reshape": {}})
    sums = file.op("FULLY_CONNECTED", [rows, file.random(5, 4), file.random(5)], (48, 5), {"FullyConnected": {}})
    return file.op("RESHAPE", [sums, file.constant([1, 8, 6, 5], "i4")], (1, 8, 6, 5), {"Reshape": {}})
