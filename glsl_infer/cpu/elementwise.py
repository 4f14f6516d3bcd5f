"""Elementwise CPU operators: arithmetic, comparisons, rounding, selection by a condition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from glsl_infer.cpu.kernel import Attrs, Kernel, Weights, first_shape, operand_arrays, operands
from glsl_infer.graph.activations import activation
from glsl_infer.graph.elementwise import BINARY, UNARY
from glsl_infer.graph.node import Array, Shape


def _binary_operands(weights: Mapping[str, Shape], shapes: Sequence[Shape]) -> list[Shape]:
    operands = [*shapes, *weights.values()]
    if len(operands) != 2:
        raise ValueError(f"{len(operands)} operands; give two inputs, or one and the weight 'constant'")
    return operands


def _binary_shape(attrs: Attrs, weights: Mapping[str, Shape], shapes: Sequence[Shape]) -> Shape:
    if attrs["operation"] not in BINARY:
        raise ValueError(f"operation '{attrs['operation']}'; there are: {', '.join(BINARY)}")
    return np.broadcast_shapes(*_binary_operands(weights, shapes))


def _binary(attrs: Attrs, weights: Weights, inputs: Sequence[Array]) -> Array:
    operands = [*inputs, *(constant.astype(inputs[0].dtype) for constant in weights.values())]
    if attrs["constant_first"]:
        operands.reverse()
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return BINARY[attrs["operation"]].compute(operands[0], operands[1]).astype(inputs[0].dtype, copy=False)


def _function(attrs: Attrs, weights: Weights, inputs: Sequence[Array]) -> Array:
    return activation(attrs["function"])(inputs[0])


def _function_shape(attrs: Attrs, weights: Mapping[str, Shape], shapes: Sequence[Shape]) -> Shape:
    activation(attrs["function"])
    return shapes[0]


def _unary_shape(attrs: Attrs, weights: Mapping[str, Shape], shapes: Sequence[Shape]) -> Shape:
    if attrs["operation"] not in UNARY:
        raise ValueError(f"operation '{attrs['operation']}'; there are: {', '.join(UNARY)}")
    return first_shape(attrs, weights, shapes)


def _unary(attrs: Attrs, weights: Weights, inputs: Sequence[Array]) -> Array:
    with np.errstate(invalid="ignore"):
        return UNARY[attrs["operation"]].compute(inputs[0]).astype(inputs[0].dtype, copy=False)


_SELECT_OPERANDS = ("condition", "yes", "no")


def _select_shape(attrs: Attrs, weights: Mapping[str, Shape], shapes: Sequence[Shape]) -> Shape:
    return np.broadcast_shapes(*operands(_SELECT_OPERANDS, weights, shapes))


def _select(attrs: Attrs, weights: Weights, inputs: Sequence[Array]) -> Array:
    condition, yes, no = operand_arrays(_SELECT_OPERANDS, weights, inputs)
    return np.where(condition != 0, yes, no)


KERNELS: Mapping[str, Kernel] = {
    "tensor_binary": Kernel(
        "A function of two tensors, or of a tensor and a constant, with NumPy's broadcasting.",
        (1, 2),
        _binary_shape,
        _binary,
        {"operation": None, "constant_first": False},
        ("constant",),
    ),
    "tensor_function": Kernel(
        "An activation of every value.", (1, 1), _function_shape, _function, {"function": "linear"}
    ),
    "tensor_unary": Kernel(
        "A function of every value that is not an activation: rounding, signs, waves.",
        (1, 1),
        _unary_shape,
        _unary,
        {"operation": None},
    ),
    "select": Kernel(
        "The values of one tensor if the condition, a third tensor, is not 0, else those of the other.",
        (1, 3),
        _select_shape,
        _select,
        {},
        _SELECT_OPERANDS,
    ),
}
"""The kernels by operator name."""
