"""Inference of the shapes that a file leaves open, from the sizes of its inputs.

Converters write an open batch, and with it shapes that the network computes from shapes. The height and width of an
image can be open, too. Here the batch becomes 1, and every shape is known before the import.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from glsl_infer.errors import InputError
from glsl_infer.importers.tflite.constants import Constants
from glsl_infer.importers.tflite.evaluate import ELEMENTWISE, NO_NUMBERS, REDUCTIONS, slices_of
from glsl_infer.importers.tflite.model import Model, Operator, Tensor
from glsl_infer.support.near_names import did_you_mean

Shape = tuple[int, ...]
Sizes = Mapping[str, tuple[int, int]]
"""(height, width) of inputs, by name. The empty name selects all inputs with open sizes."""

_SAME = (
    "CUMSUM", "GELU", "HARD_SWISH", "L2_NORMALIZATION", "LEAKY_RELU", "LOCAL_RESPONSE_NORMALIZATION", "LOG_SOFTMAX",
    "PRELU", "SOFTMAX", "REVERSE_V2", "RELU_0_TO_1",
)  # fmt: skip
_WINDOWS = ("AVERAGE_POOL_2D", "CONV_2D", "DEPTHWISE_CONV_2D", "L2_POOL_2D", "MAX_POOL_2D")
_MOST = 2**31


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
    given, made = (tensors[index].shape for index in (operator.inputs[0], operator.outputs[0]))
    return math.prod(given) != math.prod(made)


def _sized(model: Model, tensors: list[Tensor], sizes: dict[str, tuple[int, int]]) -> set[int]:
    """Set the sizes of inputs; return the changed tensors."""
    changed: set[int] = set()
    unknown = [name for name in sizes if name and name not in dict(model.inputs)]
    if unknown:
        names = [name for name, _ in model.inputs]
        meant = did_you_mean(unknown[0], names)
        raise InputError(f"--input-size {unknown[0]}: the model has no such input{meant}; it has {', '.join(names)}")
    for name, index in model.inputs:
        tensor = tensors[index]
        size = sizes.get(name) or (sizes.get("") if tensor.free else None)
        if size is None or len(tensor.shape) != 4:
            continue
        wanted = (1, *size, tensor.shape[3])
        fixed = [axis for axis in (1, 2) if axis not in tensor.free and tensor.shape[axis] != wanted[axis]]
        if fixed:
            raise InputError(
                f"--input-size {size[0]}x{size[1]}: input '{name}' is {tensor.shape[1]}x{tensor.shape[2]}, and not free"
            )
        tensors[index] = replace(tensor, shape=wanted, free=())
        changed.add(index)
    if sizes and not changed:
        raise InputError("--input-size: no input of the model is a picture of free height and width; leave it out")
    return changed


def _infer(operator: Operator, tensors: list[Tensor], constants: Constants, changed: set[int]) -> None:
    """Set the shapes of an operator's outputs, if it has a rule and the shapes of its inputs are known."""
    given = [tensors[index] if index >= 0 else None for index in operator.inputs]
    if operator.custom or any(tensor is not None and tensor.free for tensor in given):
        return
    rule = _RULES.get(operator.kind)
    if rule is None:
        return
    shapes = [() if tensor is None else tensor.shape for tensor in given]
    values = [constants.get(index) for index in operator.inputs]
    made = [tensors[index] for index in operator.outputs]
    try:
        found = rule(operator, shapes, [None if value is None else np.asarray(value) for value in values], made)
    except NO_NUMBERS:
        return  # the converter will report the problem
    for index, shape in zip(operator.outputs, found):
        if all(0 <= size < _MOST for size in shape) and math.prod(shape) < _MOST:
            if tuple(shape) != tensors[index].shape:
                changed.add(index)
            tensors[index] = replace(tensors[index], shape=tuple(int(size) for size in shape), free=())


Values = Sequence["np.ndarray | None"]
Rule = Callable[[Operator, Sequence[Shape], Values, Sequence[Tensor]], "list[Shape]"]


def _list(value: np.ndarray | None) -> list[int]:
    if value is None:
        raise ValueError("no constant")
    return [int(number) for number in value.reshape(-1)]


def _window(operator: Operator, shapes: Sequence[Shape], values: Values, made: Sequence[Tensor]) -> list[Shape]:
    options = operator.options
    if "POOL" in operator.kind:
        window, filters = (options["FilterHeight"], options["FilterWidth"]), shapes[0][3]
    else:
        window = (shapes[1][1], shapes[1][2])
        filters = shapes[1][0] if operator.kind == "CONV_2D" else shapes[1][3]
    size = []
    for axis, taps in enumerate(window):
        stride, dilation = options[f"Stride{'HW'[axis]}"], options.get(f"Dilation{'HW'[axis]}Factor", 1)
        reach = dilation * (taps - 1) + 1
        length = shapes[0][1 + axis]
        size.append(-(-length // stride) if options["Padding"] == 0 else -(-(length - reach + 1) // stride))
    return [(shapes[0][0], *size, filters)]


def _reshape(operator: Operator, shapes: Sequence[Shape], values: Values, made: Sequence[Tensor]) -> list[Shape]:
    wanted = _list(values[1]) if len(values) > 1 else list(operator.options["NewShapeAsNumpy"])
    rest = math.prod(size for size in wanted if size != -1)
    return [tuple(math.prod(shapes[0]) // max(rest, 1) if size == -1 else size for size in wanted)]


def _squeeze(operator: Operator, shapes: Sequence[Shape], values: Values, made: Sequence[Tensor]) -> list[Shape]:
    gone = {axis % len(shapes[0]) for axis in operator.options.get("SqueezeDimsAsNumpy", ())}
    return [tuple(size for axis, size in enumerate(shapes[0]) if size != 1 or (gone and axis not in gone))]


def _expand(operator: Operator, shapes: Sequence[Shape], values: Values, made: Sequence[Tensor]) -> list[Shape]:
    axis = _list(values[1])[0] % (len(shapes[0]) + 1)
    return [(*shapes[0][:axis], 1, *shapes[0][axis:])]


def _transpose(operator: Operator, shapes: Sequence[Shape], values: Values, made: Sequence[Tensor]) -> list[Shape]:
    return [tuple(shapes[0][axis] for axis in _list(values[1]))]


def _concat(operator: Operator, shapes: Sequence[Shape], values: Values, made: Sequence[Tensor]) -> list[Shape]:
    axis = operator.options["Axis"] % len(shapes[0])
    return [(*shapes[0][:axis], sum(shape[axis] for shape in shapes), *shapes[0][axis + 1 :])]


def _pack(operator: Operator, shapes: Sequence[Shape], values: Values, made: Sequence[Tensor]) -> list[Shape]:
    axis = operator.options.get("Axis", 0) % (len(shapes[0]) + 1)
    return [(*shapes[0][:axis], len(shapes), *shapes[0][axis:])]


def _unpack(operator: Operator, shapes: Sequence[Shape], values: Values, made: Sequence[Tensor]) -> list[Shape]:
    axis = operator.options.get("Axis", 0) % len(shapes[0])
    return [(*shapes[0][:axis], *shapes[0][axis + 1 :])] * len(made)


def _gather(operator: Operator, shapes: Sequence[Shape], values: Values, made: Sequence[Tensor]) -> list[Shape]:
    axis = operator.options.get("Axis", 0) % len(shapes[0])
    batch = operator.options.get("BatchDims", 0) % max(len(shapes[1]), 1)
    return [(*shapes[0][:axis], *shapes[1][batch:], *shapes[0][axis + 1 :])]


def _split(operator: Operator, shapes: Sequence[Shape], values: Values, made: Sequence[Tensor]) -> list[Shape]:
    shape, axis = list(shapes[1]), _list(values[0])[0]
    shape[axis] //= len(made)
    return [tuple(shape)] * len(made)


def _split_by_sizes(operator: Operator, shapes: Sequence[Shape], values: Values, made: Sequence[Tensor]) -> list[Shape]:
    shape, axis = shapes[0], _list(values[2])[0] % len(shapes[0])
    sizes = _list(values[1])
    rest = shape[axis] - sum(size for size in sizes if size >= 0)
    return [(*shape[:axis], rest if size < 0 else size, *shape[axis + 1 :]) for size in sizes]


def _dense(operator: Operator, shapes: Sequence[Shape], values: Values, made: Sequence[Tensor]) -> list[Shape]:
    outputs, inputs = shapes[1]
    if operator.options.get("KeepNumDims"):
        return [(*shapes[0][:-1], outputs)]
    return [(math.prod(shapes[0]) // inputs, outputs)]


def _matmul(operator: Operator, shapes: Sequence[Shape], values: Values, made: Sequence[Tensor]) -> list[Shape]:
    (*a, n, k), (*b, m, p) = shapes[:2]
    n = k if operator.options.get("AdjX") else n
    p = m if operator.options.get("AdjY") else p
    return [(*np.broadcast_shapes(tuple(a), tuple(b)), n, p)]


def _reduction(operator: Operator, shapes: Sequence[Shape], values: Values, made: Sequence[Tensor]) -> list[Shape]:
    axes = {axis % len(shapes[0]) for axis in _list(values[1])}
    keep = operator.options.get("KeepDims")
    return [tuple(1 if axis in axes else size for axis, size in enumerate(shapes[0]) if keep or axis not in axes)]


def _pad(operator: Operator, shapes: Sequence[Shape], values: Values, made: Sequence[Tensor]) -> list[Shape]:
    around = np.asarray(_list(values[1])).reshape(-1, 2).sum(1).tolist()
    return [tuple(size + more for size, more in zip(shapes[0], around))]


def _resize(operator: Operator, shapes: Sequence[Shape], values: Values, made: Sequence[Tensor]) -> list[Shape]:
    height, width = _list(values[1])
    return [(shapes[0][0], height, width, shapes[0][3])]


def _tile(operator: Operator, shapes: Sequence[Shape], values: Values, made: Sequence[Tensor]) -> list[Shape]:
    return [tuple(size * count for size, count in zip(shapes[0], _list(values[1])))]


def _told(place: int) -> Rule:
    return lambda operator, shapes, values, made: [tuple(_list(values[place]))]


def _blocks(operator: Operator, shapes: Sequence[Shape], values: Values, made: Sequence[Tensor]) -> list[Shape]:
    (batch, height, width, channels), block = shapes[0], operator.options["BlockSize"]
    if operator.kind == "DEPTH_TO_SPACE":
        return [(batch, height * block, width * block, channels // block**2)]
    return [(batch, height // block, width // block, channels * block**2)]


def _batches(operator: Operator, shapes: Sequence[Shape], values: Values, made: Sequence[Tensor]) -> list[Shape]:
    (batch, height, width, channels), (down, across) = shapes[0], _list(values[1])
    top, bottom, left, right = _list(values[2])
    if operator.kind == "SPACE_TO_BATCH_ND":
        return [(batch * down * across, (height + top + bottom) // down, (width + left + right) // across, channels)]
    return [(batch // (down * across), height * down - top - bottom, width * across - left - right, channels)]


def _strided(operator: Operator, shapes: Sequence[Shape], values: Values, made: Sequence[Tensor]) -> list[Shape]:
    operands = [np.asarray(_list(value)) for value in values[1:4]]
    taken, gone = slices_of(shapes[0], operands, operator.options)
    return [tuple(len(part) for axis, part in enumerate(taken) if not gone >> axis & 1)]


def _sliced(operator: Operator, shapes: Sequence[Shape], values: Values, made: Sequence[Tensor]) -> list[Shape]:
    ends = zip(shapes[0], _list(values[1]), _list(values[2]))
    return [tuple(length - begin if size == -1 else size for length, begin, size in ends)]


_RULES: Mapping[str, Rule] = {
    **{kind: lambda op, shapes, values, made: [np.broadcast_shapes(*shapes)] for kind in ELEMENTWISE},
    **{kind: lambda op, shapes, values, made: [shapes[0]] for kind in _SAME},
    **dict.fromkeys((*REDUCTIONS, "REDUCE_PROD"), _reduction),
    **dict.fromkeys(_WINDOWS, _window),
    **dict.fromkeys(("PAD", "PADV2", "MIRROR_PAD"), _pad),
    **dict.fromkeys(("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"), _resize),
    **dict.fromkeys(("DEPTH_TO_SPACE", "SPACE_TO_DEPTH"), _blocks),
    **dict.fromkeys(("SPACE_TO_BATCH_ND", "BATCH_TO_SPACE_ND"), _batches),
    "BATCH_MATMUL": _matmul,
    "BROADCAST_TO": _told(1),
    "CONCATENATION": _concat,
    "EXPAND_DIMS": _expand,
    "FILL": _told(0),
    "FULLY_CONNECTED": _dense,
    "GATHER": _gather,
    "PACK": _pack,
    "RESHAPE": _reshape,
    "SLICE": _sliced,
    "SPLIT": _split,
    "SPLIT_V": _split_by_sizes,
    "SQUEEZE": _squeeze,
    "STRIDED_SLICE": _strided,
    "TILE": _tile,
    "TRANSPOSE": _transpose,
    "TRANSPOSE_CONV": _told(0),
    "UNPACK": _unpack,
}
