"""Operators of a file in NumPy: for constant folding, for open shapes, and to recognise decomposed functions.

The tables have only the operators that occur in constants, functions, normalisations and moves of values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glsl_infer.graph.activations import activation
from glsl_infer.importers.core import elementwise
from glsl_infer.importers.core.folding import (
    Folder,
    depth_to_space,
    integer_list,
    points_shape,
    reshaped,
    space_to_depth,
    squeezed,
    unsqueezed,
)
from glsl_infer.importers.tflite.model import Operator, Tensor

Numbers = NDArray[Any]
Options = Mapping[str, Any]
Shape = tuple[int, ...]
Compute = Callable[[Folder, Sequence[Numbers], Options, Sequence[Shape]], Any]
"""Function of a folder, the inputs, the options, and the shapes of the outputs, each empty if it is not known: the
result, or a list of results."""

_FUSED: Mapping[int, Callable[[Numbers], Numbers]] = {
    0: lambda x: x,
    1: lambda x: np.maximum(x, 0),
    2: lambda x: np.clip(x, -1, 1),
    3: lambda x: np.clip(x, 0, 6),
    4: np.tanh,
}

UNKNOWN = np.dtype(np.int8)
"""The type of an array that has the shape of a computed tensor, but not its values."""


def unknown(shape: Sequence[int]) -> Numbers:
    """Return an array in place of a computed tensor. It takes no memory."""
    return np.broadcast_to(np.zeros((), UNKNOWN), tuple(shape))


def integers(x: Numbers) -> list[int]:
    """Return an operand as integers.

    Raises:
        ValueError: the network computes it, or it has too many elements.
    """
    if x.dtype == UNKNOWN:
        raise ValueError("numbers that the network computes")
    return integer_list(x)


def _each(compute: Callable[..., Numbers]) -> Compute:
    """Return an elementwise function that also applies the operator's fused activation."""

    def with_activation(folder: Folder, x: Sequence[Numbers], options: Options, shapes: Sequence[Shape]) -> Any:
        with np.errstate(all="ignore"):
            return _FUSED[options.get("FusedActivationFunction", 0)](folder.elementwise(compute, *x))

    return with_activation


ELEMENTWISE: Mapping[str, Compute] = {
    **{kind: _each(compute) for kind, compute in elementwise.computes(elementwise.TFLITE).items()},
    **dict.fromkeys(("SELECT", "SELECT_V2"), _each(np.where)),
    "ADD_N": _each(lambda *arrays: sum(arrays[1:], arrays[0])),
    "NEG": _each(np.negative),
    "POW": _each(np.power),
    "RELU_N1_TO_1": _each(lambda x: np.clip(x, -1, 1)),
    "ZEROS_LIKE": _each(np.zeros_like),
    "CAST": _each(lambda x: np.asarray(x, np.float64)),
    "DEQUANTIZE": _each(lambda x: x),
    "QUANTIZE": _each(lambda x: x),
    "GELU": lambda f, x, o, shapes: activation("gelu_tanh" if o.get("Approximate") else "gelu")(x[0]),
    "LEAKY_RELU": lambda f, x, o, shapes: np.where(x[0] > 0, x[0], o["Alpha"] * x[0]),
}
"""Elementwise operators, with broadcasting."""


def _reduced(reduce: Callable[..., Numbers]) -> Compute:
    def reduced(folder: Folder, x: Sequence[Numbers], options: Options, shapes: Sequence[Shape]) -> Any:
        if x[0].dtype == UNKNOWN:
            folder.shape(x[0].shape, 1)  # it takes no memory, so its shape has no limit
        return reduce(x[0], axis=tuple(integers(x[1])), keepdims=bool(options.get("KeepDims")))

    return reduced


REDUCTIONS: Mapping[str, Compute] = {
    "MEAN": _reduced(np.mean),
    "SUM": _reduced(np.sum),
    "REDUCE_ALL": _reduced(np.all),
    "REDUCE_ANY": _reduced(np.any),
    "REDUCE_MAX": _reduced(np.max),
    "REDUCE_MIN": _reduced(np.min),
    "REDUCE_PROD": _reduced(np.prod),
}


def _reshaped(folder: Folder, x: Sequence[Numbers], options: Options, shapes: Sequence[Shape]) -> Any:
    if shapes[0]:
        return x[0].reshape(shapes[0])
    sizes = integers(x[1]) if len(x) > 1 else [int(size) for size in options["NewShapeAsNumpy"]]
    return x[0].reshape(reshaped(x[0].shape, sizes, zero_keeps=False))


def _gathered(folder: Folder, x: Sequence[Numbers], options: Options, shapes: Sequence[Shape]) -> Any:
    batch = options.get("BatchDims", 0) % max(x[1].ndim, 1)
    if math.prod(x[1].shape[:batch]) != 1 and UNKNOWN not in (x[0].dtype, x[1].dtype):
        raise ValueError("a gather from each row of a batch")
    return folder.take(x[0], x[1][(0,) * batch], options.get("Axis", 0))


def _split(folder: Folder, x: Sequence[Numbers], options: Options, shapes: Sequence[Shape]) -> Any:
    parts = options.get("NumSplits", len(shapes))
    if parts != len(shapes):
        raise ValueError(f"a split into {parts} parts with {len(shapes)} outputs")
    return list(np.split(x[1], len(shapes), axis=integers(x[0])[0]))


def _split_of_sizes(folder: Folder, x: Sequence[Numbers], options: Options, shapes: Sequence[Shape]) -> Any:
    sizes, (axis, *_) = integers(x[1]), integers(x[2])
    others = x[0].shape[axis] - sum(size for size in sizes if size >= 0)
    ends = np.cumsum([others if size < 0 else size for size in sizes])
    return list(np.split(x[0], ends[:-1].tolist(), axis=axis))


def _unpacked(folder: Folder, x: Sequence[Numbers], options: Options, shapes: Sequence[Shape]) -> Any:
    axis = options.get("Axis", 0)
    if x[0].shape[axis] != len(shapes):
        raise ValueError(f"{x[0].shape[axis]} parts with {len(shapes)} outputs")
    return list(np.moveaxis(x[0], axis, 0))


def _sliced(folder: Folder, x: Sequence[Numbers], options: Options, shapes: Sequence[Shape]) -> Any:
    begins, sizes = integers(x[1]), integers(x[2])
    return x[0][tuple(slice(b, None if s == -1 else b + s) for b, s in zip(begins, sizes))]


def _strided(folder: Folder, x: Sequence[Numbers], options: Options, shapes: Sequence[Shape]) -> Any:
    indices, removed_axes = slices_of(x[0].shape, x[1:4], options)
    shape = tuple(len(positions) for axis, positions in enumerate(indices) if not removed_axes >> axis & 1)
    slices = [
        slice(part.start, part.stop if part.stop >= 0 else None, part.step) if part else slice(0) for part in indices
    ]
    return x[0][tuple(slices)].reshape(shapes[0] or shape)


MOVES: Mapping[str, Compute] = {
    "BROADCAST_TO": lambda f, x, o, shapes: f.expand(x[0], integers(x[1])),
    "CONCATENATION": lambda f, x, o, shapes: f.concat(x, o["Axis"]),
    "DEPTH_TO_SPACE": lambda f, x, o, shapes: depth_to_space(x[0], o["BlockSize"]),
    "EXPAND_DIMS": lambda f, x, o, shapes: x[0].reshape(shapes[0] or unsqueezed(x[0].shape, integers(x[1])[:1])),
    "GATHER": _gathered,
    "PACK": lambda f, x, o, shapes: f.stack(x, o.get("Axis", 0)),
    "RESHAPE": _reshaped,
    "REVERSE_V2": lambda f, x, o, shapes: np.flip(x[0], tuple(integers(x[1]))),
    "SLICE": _sliced,
    "SPACE_TO_DEPTH": lambda f, x, o, shapes: space_to_depth(x[0], o["BlockSize"]),
    "SPLIT": _split,
    "SPLIT_V": _split_of_sizes,
    "SQUEEZE": lambda f, x, o, shapes: x[0].reshape(
        shapes[0] or squeezed(x[0].shape, [int(axis) for axis in o.get("SqueezeDimsAsNumpy", ())] or None)
    ),
    "STRIDED_SLICE": _strided,
    "TILE": lambda f, x, o, shapes: f.tile(x[0], integers(x[1])),
    "TRANSPOSE": lambda f, x, o, shapes: x[0].transpose(integers(x[1])),
    "UNPACK": _unpacked,
}
"""Operators that move values without changing them."""


def _filled(folder: Folder, x: Sequence[Numbers], options: Options, shapes: Sequence[Shape]) -> Any:
    return folder.full(integers(x[0]), x[1])


def _divided(folder: Folder, x: Sequence[Numbers], options: Options, shapes: Sequence[Shape]) -> Any:
    return folder.elementwise(np.divide if x[0].dtype.kind == "f" else np.floor_divide, *x[:2])


def _scattered(folder: Folder, x: Sequence[Numbers], options: Options, shapes: Sequence[Shape]) -> Any:
    result = np.zeros(folder.shape(integers(x[2]), x[1].itemsize), x[1].dtype)
    folder.shape(points_shape(result.shape, x[0].shape), x[1].itemsize)  # fewer values are broadcast
    np.add.at(result, tuple(np.moveaxis(x[0].astype(np.int64), -1, 0)), x[1])
    return result


def _padded(folder: Folder, x: Sequence[Numbers], options: Options, shapes: Sequence[Shape]) -> Any:
    widths = integers(x[1])
    value = x[2].reshape(-1)[0] if len(x) > 2 else 0
    return folder.pad(x[0], list(zip(widths[::2], widths[1::2])), value)


FOLDED: Mapping[str, Compute] = {
    **ELEMENTWISE,
    **REDUCTIONS,
    **MOVES,
    **dict.fromkeys(("DENSIFY", "DEQUANTIZE", "QUANTIZE"), lambda f, x, o, shapes: x[0]),
    **dict.fromkeys(("PAD", "PADV2"), _padded),
    "BROADCAST_ARGS": lambda f, x, o, shapes: np.asarray(
        np.broadcast_shapes(*(tuple(integers(shape)) for shape in x)), np.int64
    ),
    "DIV": _divided,
    "FILL": _filled,
    "RANGE": lambda f, x, o, shapes: f.arange(*x),
    "SCATTER_ND": _scattered,
    "SHAPE": lambda f, x, o, shapes: np.asarray(x[0].shape, np.int64),
}
"""Operators that are computed if all their inputs are constants."""


def slices_of(shape: Sequence[int], operands: Sequence[Numbers], options: Options) -> tuple[list[range], int]:
    """Return the indices of each axis in the result of a STRIDED_SLICE, and a mask of the axes that it removes.

    Raises:
        ValueError: it adds axes, or its operands do not match the rank.
    """
    if options.get("EllipsisMask") or options.get("NewAxisMask"):
        raise ValueError("an ellipsis or a new axis")
    begins, ends, strides = (integers(np.asarray(part)) for part in operands)
    if not len(begins) == len(ends) == len(strides) <= len(shape) or 0 in strides:
        raise ValueError(f"{len(begins)} slices of {len(shape)} axes")
    parts = [range(size) for size in shape]
    for axis, (begin, end, stride) in enumerate(zip(begins, ends, strides)):
        bit = 1 << axis
        if options["ShrinkAxisMask"] & bit:
            start = begin if begin >= 0 else begin + shape[axis]
            parts[axis] = range(shape[axis])[start : start + 1]
            continue
        if options.get("Offset"):
            end += begin  # noqa: PLW2901
        part = slice(None if options["BeginMask"] & bit else begin, None if options["EndMask"] & bit else end, stride)
        parts[axis] = range(shape[axis])[part]
    return parts, int(options["ShrinkAxisMask"])


MOST_COMPUTED = 2**23
"""Largest number of elements of an evaluated tensor."""


def results_of(
    operator: Operator, folder: Folder, inputs: Sequence[Numbers], shapes: Sequence[Shape], table: Mapping[str, Compute]
) -> list[Numbers]:
    """Return the values of an operator's outputs.

    Args:
        operator: of a type in ``table``.
        folder: limits the size of the result.
        inputs: its inputs, without those left out.
        shapes: of its outputs, each empty if it is not known.
        table: the functions.

    Raises:
        core.folding.MISFITS: the operator does not match its inputs.
    """
    with np.errstate(all="ignore"):
        result = table[operator.kind](folder, inputs, operator.options, shapes)
    return [np.asarray(value) for value in (result if isinstance(result, list) else [result])]


def computed(
    operators: Sequence[Operator],
    known: Mapping[int, Numbers],
    tensors: Sequence[Tensor],
    table: Mapping[str, Compute],
) -> dict[int, Numbers]:
    """Return the values of all tensors computed by a sequence of operators.

    Args:
        operators: each of a type in ``table``.
        known: values of their other inputs.
        tensors: of the file, with known shapes.
        table: the functions.

    Raises:
        core.folding.MISFITS: the operators do not match their inputs.
    """
    values = dict(known)
    for operator in operators:
        shapes = [tensors[index].shape for index in operator.outputs]
        if max(map(math.prod, shapes)) > MOST_COMPUTED:
            raise ValueError(f"more than {MOST_COMPUTED} numbers")
        inputs = [values[index] for index in operator.inputs if index >= 0]
        values.update(zip(operator.outputs, results_of(operator, Folder(8 * MOST_COMPUTED), inputs, shapes, table)))
    return values
