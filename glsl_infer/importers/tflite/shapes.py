"""Inference of the shapes that a file leaves open, from the sizes of its inputs.

Converters write an open batch, and with it shapes that the network computes from shapes. The height and width of an
image can be open, too. The user can give shapes and constants of inputs. Here the batch becomes 1, and every shape is
known before the import.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from glsl_infer.errors import InputError, ModelError
from glsl_infer.importers.core.folding import MISFITS, Folder
from glsl_infer.importers.core.io_options import IoOptions, by_name, require_inputs
from glsl_infer.importers.tflite.constants import TYPES, Constants
from glsl_infer.importers.tflite.evaluate import ELEMENTWISE, FOLDED, integers, results_of, unknown
from glsl_infer.importers.tflite.model import Model, Operator, Tensor

Shape = tuple[int, ...]
Sizes = Mapping[str, tuple[int, int]]
"""(height, width) of inputs, by name. The empty name selects all inputs with open sizes."""

_SAME = (
    "CUMSUM", "L2_NORMALIZATION", "LOCAL_RESPONSE_NORMALIZATION", "LOG_SOFTMAX", "PRELU", "SOFTMAX",
)  # fmt: skip
_WINDOWS = ("AVERAGE_POOL_2D", "CONV_2D", "DEPTHWISE_CONV_2D", "L2_POOL_2D", "MAX_POOL_2D")
_MOST = 2**31
_MOST_BYTES = 2**28
"""Largest size of the array from which a shape follows."""


def resolved(model: Model, sizes: Sizes | None = None) -> tuple[Model, Constants]:
    """Return the file with a shape for every tensor, as far as it can be inferred, and its constants.

    Args:
        model: the file.
        sizes: sizes of inputs.

    Raises:
        InputError: a size contradicts the fixed size of an input, or is given for an unknown input.
        ModelError: constants that do not match.
    """
    tensors = list(model.tensors)
    changed = _sized(model, tensors, dict(sizes or {}))
    model = replace(model, tensors=tuple(tensors))
    constants = Constants(model)
    for operator in model.operators:
        read = [index for index in operator.inputs if index >= 0]
        open_ = any(tensors[index].free for index in operator.outputs if index >= 0)
        if open_ or changed.intersection(read) or _misfits(operator, tensors):
            _infer(operator, tensors, constants, changed)
            constants.tensors = tensors
        constants.fold(operator, lambda index: None if tensors[index].free else tensors[index].shape)
    return replace(model, tensors=tuple(tensors)), constants


def _misfits(operator: Operator, tensors: Sequence[Tensor]) -> bool:
    """Return whether a reshape has different sizes in and out: converters write 1 for any batch.

    If a reshape to (-1, ...) moves parts of an image to the batch, their number then follows from the input's shape.
    """
    if operator.kind != "RESHAPE" or tensors[operator.inputs[0]].free:
        return False
    before, after = (tensors[index].shape for index in (operator.inputs[0], operator.outputs[0]))
    return math.prod(before) != math.prod(after)


def _sized(model: Model, tensors: list[Tensor], sizes: dict[str, tuple[int, int]]) -> set[int]:
    """Set the sizes of inputs; return the changed tensors."""
    changed: set[int] = set()
    require_inputs(sizes, [name for name, _ in model.inputs])
    for name, index in model.inputs:
        tensor = tensors[index]
        size = sizes.get(name) or (sizes.get("") if tensor.free else None)
        if size is None or len(tensor.shape) != 4:
            continue
        shape = (1, *size, tensor.shape[3])
        fixed = [axis for axis in (1, 2) if axis not in tensor.free and tensor.shape[axis] != shape[axis]]
        if fixed:
            raise InputError(
                f"--input-size {size[0]}x{size[1]}: input '{name}' is {tensor.shape[1]}x{tensor.shape[2]}, and not free"
            )
        tensors[index] = replace(tensor, shape=shape, free=())
        changed.add(index)
    if sizes and not changed:
        raise InputError("--input-size: no input of the model is an image of free height and width; leave it out")
    return changed


def _infer(operator: Operator, tensors: list[Tensor], constants: Constants, changed: set[int]) -> None:
    """Set the shapes of an operator's outputs, if it has a rule and the shapes of its inputs are known."""
    inputs = [tensors[index] if index >= 0 else None for index in operator.inputs]
    if operator.custom or any(tensor is not None and tensor.free for tensor in inputs):
        return
    try:
        shapes = _shapes(operator, inputs, constants)
    except MISFITS:
        return  # the converter will report the problem
    for index, shape in zip(operator.outputs, shapes):
        if all(0 <= size < _MOST for size in shape) and math.prod(shape) < _MOST:
            if tuple(shape) != tensors[index].shape:
                changed.add(index)
            tensors[index] = replace(tensors[index], shape=tuple(int(size) for size in shape), free=())


def _shapes(operator: Operator, inputs: Sequence[Tensor | None], constants: Constants) -> Sequence[Shape]:
    """Return the shapes of an operator's outputs: by its rule, or by computing it without the values of its inputs."""
    values = [constants.get(index) for index in operator.inputs]
    if operator.kind in FOLDED and operator.kind not in ELEMENTWISE:
        arrays = [
            unknown(tensor.shape) if value is None else np.asarray(value)
            for tensor, value in zip(inputs, values)
            if tensor is not None
        ]
        open_ = [()] * len(operator.outputs)
        return [result.shape for result in results_of(operator, Folder(_MOST_BYTES), arrays, open_, FOLDED)]
    shapes = [() if tensor is None else tensor.shape for tensor in inputs]
    if operator.kind in ELEMENTWISE:
        return [np.broadcast_shapes(*shapes)]
    return [_RULES[operator.kind](operator, shapes, values)]


Rule = Callable[[Operator, Sequence[Shape], Sequence[Any]], Shape]
"""Function of an operator, the shapes of its inputs, and the values of those that are constants, else None."""


def _window(operator: Operator, shapes: Sequence[Shape], values: Sequence[Any]) -> Shape:
    options = operator.options
    if "POOL" in operator.kind:
        window, filters = (options["FilterHeight"], options["FilterWidth"]), shapes[0][3]
    else:
        window = (shapes[1][1], shapes[1][2])
        filters = shapes[1][0] if operator.kind == "CONV_2D" else shapes[1][3]
    size = []
    for axis, taps in enumerate(window):
        stride, dilation = options[f"Stride{'HW'[axis]}"], options.get(f"Dilation{'HW'[axis]}Factor", 1)
        span = dilation * (taps - 1) + 1
        length = shapes[0][1 + axis]
        size.append(-(-length // stride) if options["Padding"] == 0 else -(-(length - span + 1) // stride))
    return (shapes[0][0], *size, filters)


def _dense(operator: Operator, shapes: Sequence[Shape], values: Sequence[Any]) -> Shape:
    outputs, inputs = shapes[1]
    if operator.options.get("KeepNumDims"):
        return (*shapes[0][:-1], outputs)
    return (math.prod(shapes[0]) // inputs, outputs)


def _matmul(operator: Operator, shapes: Sequence[Shape], values: Sequence[Any]) -> Shape:
    (*a, n, k), (*b, m, p) = shapes[:2]
    n = k if operator.options.get("AdjX") else n
    p = m if operator.options.get("AdjY") else p
    return (*np.broadcast_shapes(tuple(a), tuple(b)), n, p)


def _mirrored(operator: Operator, shapes: Sequence[Shape], values: Sequence[Any]) -> Shape:
    return tuple(size + sum(integers(values[1])[2 * axis : 2 * axis + 2]) for axis, size in enumerate(shapes[0]))


def _resize(operator: Operator, shapes: Sequence[Shape], values: Sequence[Any]) -> Shape:
    height, width = integers(values[1])
    return (shapes[0][0], height, width, shapes[0][3])


def _batches(operator: Operator, shapes: Sequence[Shape], values: Sequence[Any]) -> Shape:
    batch, height, width, channels = shapes[0]
    (down, across), (top, bottom, left, right) = integers(values[1]), integers(values[2])
    if operator.kind == "SPACE_TO_BATCH_ND":
        return (batch * down * across, (height + top + bottom) // down, (width + left + right) // across, channels)
    return (batch // (down * across), height * down - top - bottom, width * across - left - right, channels)


_RULES: Mapping[str, Rule] = {
    **dict.fromkeys(_SAME, lambda operator, shapes, values: shapes[0]),
    **dict.fromkeys(_WINDOWS, _window),
    **dict.fromkeys(("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"), _resize),
    **dict.fromkeys(("SPACE_TO_BATCH_ND", "BATCH_TO_SPACE_ND"), _batches),
    "BATCH_MATMUL": _matmul,
    "FULLY_CONNECTED": _dense,
    "MIRROR_PAD": _mirrored,
    "TRANSPOSE_CONV": lambda operator, shapes, values: tuple(integers(values[0])),
}
"""Shape rules of the operators that are not folded."""


def as_given(model: Model, io_options: IoOptions) -> Model:
    """Return a file whose inputs have the shapes and constants in ``io_options``. All other shapes follow from them.

    Raises:
        InputError: a shape or a constant is given for an unknown input.
        ModelError: a shape has another rank than the input, or a constant does not match the input.
    """
    if not io_options.shapes and not io_options.constants:
        return model
    tensors, names = list(model.tensors), [name for name, _ in model.inputs]
    constants = by_name("--constant", io_options.constants, names)
    shapes = by_name("--input-shape", io_options.shapes, [name for name in names if name not in constants])
    if shapes:
        for index in {index for operator in model.operators for index in operator.outputs if index >= 0}:
            tensors[index] = replace(tensors[index], free=tuple(range(len(tensors[index].shape))))
    for name, index in model.inputs:
        tensor = tensors[index]
        if name in shapes and len(shapes[name]) != len(tensor.shape):
            what = f"--input-shape {'x'.join(map(str, shapes[name]))} for an input of shape {tensor.shape}"
            raise ModelError.layer(name, what, f"give {len(tensor.shape)} sizes")
        if name in shapes:
            tensors[index] = replace(tensor, shape=tuple(shapes[name]), free=())
        if name in constants:
            tensors[index] = _constant(name, tensor, np.asarray(constants[name]))
    inputs = tuple((name, index) for name, index in model.inputs if name not in constants)
    return replace(model, tensors=tuple(tensors), inputs=inputs)


def _constant(name: str, tensor: Tensor, constant: np.ndarray) -> Tensor:
    """Return an input as a constant: one value for all its elements, or a value for each."""
    shape = tuple(1 if axis in tensor.free else size for axis, size in enumerate(tensor.shape))
    kind = TYPES.get(tensor.type)
    if constant.size not in (1, math.prod(shape)) or kind is None or tensor.quantization is not None:
        what = f"a constant of {constant.size} numbers for the shape {shape} of type {tensor.type}"
        raise ModelError.layer(name, what, f"give one number, or {math.prod(shape)}")
    values = np.broadcast_to(constant.reshape(-1), (math.prod(shape),)).astype(kind)
    return replace(tensor, shape=shape, free=(), data=memoryview(values.tobytes()))
