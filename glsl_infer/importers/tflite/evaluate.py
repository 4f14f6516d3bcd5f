"""Operators of a file in NumPy, for constant folding and for the recognition of decomposed functions by their results.

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
from glsl_infer.importers.tflite.model import Operator, Tensor

Numbers = NDArray[Any]
Options = Mapping[str, Any]
Compute = Callable[[Sequence[Numbers], Options, Sequence[Tensor]], "list[Numbers]"]
"""Function of the inputs, the options and the output tensors (with known shapes): the values of the outputs."""

_FUSED: Mapping[int, Callable[[Numbers], Numbers]] = {
    0: lambda x: x,
    1: lambda x: np.maximum(x, 0),
    2: lambda x: np.clip(x, -1, 1),
    3: lambda x: np.clip(x, 0, 6),
    4: np.tanh,
}


def _each(compute: Callable[..., Numbers]) -> Compute:
    def computed(given: Sequence[Numbers], options: Options, made: Sequence[Tensor]) -> list[Numbers]:
        with np.errstate(all="ignore"):
            return [_FUSED[options.get("FusedActivationFunction", 0)](np.asarray(compute(*given)))]

    return computed


def _with(compute: Callable[[Sequence[Numbers], Options], Numbers]) -> Compute:
    return lambda given, options, made: [np.asarray(compute(given, options))]


def _gelu(given: Sequence[Numbers], options: Options) -> Numbers:
    return activation("gelu_tanh" if options.get("Approximate") else "gelu")(given[0])


ELEMENTWISE: Mapping[str, Compute] = {
    **{kind: _each(compute) for kind, compute in elementwise.computes(elementwise.TFLITE).items()},
    **dict.fromkeys(("SELECT", "SELECT_V2"), _each(np.where)),
    "ADD_N": _each(lambda *given: sum(given[1:], given[0])),
    "NEG": _each(np.negative),
    "POW": _each(np.power),
    "RELU_N1_TO_1": _each(lambda x: np.clip(x, -1, 1)),
    "ZEROS_LIKE": _each(np.zeros_like),
    "CAST": _each(lambda x: np.asarray(x, np.float64)),
    "DEQUANTIZE": _each(lambda x: x),
    "QUANTIZE": _each(lambda x: x),
    "GELU": _with(_gelu),
    "LEAKY_RELU": _with(lambda given, options: np.where(given[0] > 0, given[0], options["Alpha"] * given[0])),
}
"""Elementwise operators, with broadcasting."""


def _reduced(reduce: Callable[..., Numbers]) -> Compute:
    def computed(given: Sequence[Numbers], options: Options, made: Sequence[Tensor]) -> list[Numbers]:
        axes = tuple(int(axis) for axis in given[1].reshape(-1))
        return [np.asarray(reduce(given[0], axis=axes, keepdims=bool(options.get("KeepDims"))))]

    return computed


REDUCTIONS: Mapping[str, Compute] = {
    "MEAN": _reduced(np.mean),
    "SUM": _reduced(np.sum),
    "REDUCE_MAX": _reduced(np.max),
    "REDUCE_MIN": _reduced(np.min),
}


def _reshaped(given: Sequence[Numbers], options: Options, made: Sequence[Tensor]) -> list[Numbers]:
    return [given[0].reshape(made[0].shape)]


def _joined(given: Sequence[Numbers], options: Options, made: Sequence[Tensor]) -> list[Numbers]:
    require(sum(each.size for each in given), made[0])
    return [np.concatenate(given, axis=options["Axis"])]


def _packed(given: Sequence[Numbers], options: Options, made: Sequence[Tensor]) -> list[Numbers]:
    require(sum(each.size for each in given), made[0])
    return [np.stack(given, axis=options.get("Axis", 0))]


def _gathered(given: Sequence[Numbers], options: Options, made: Sequence[Tensor]) -> list[Numbers]:
    axis = options.get("Axis", 0)
    require(given[0].size // max(given[0].shape[axis], 1) * given[1].size, made[0])
    return [np.take(given[0], given[1].astype(np.int64), axis=axis)]


def _split(given: Sequence[Numbers], options: Options, made: Sequence[Tensor]) -> list[Numbers]:
    if options.get("NumSplits", len(made)) != len(made):
        raise ValueError("another number of parts")
    return list(np.split(given[1], len(made), axis=int(given[0].reshape(-1)[0])))


def _split_of_sizes(given: Sequence[Numbers], options: Options, made: Sequence[Tensor]) -> list[Numbers]:
    axis = int(given[2].reshape(-1)[0])
    ends = np.cumsum([tensor.shape[axis] for tensor in made])
    return list(np.split(given[0], ends[:-1].tolist(), axis=axis))


def _unpacked(given: Sequence[Numbers], options: Options, made: Sequence[Tensor]) -> list[Numbers]:
    axis = options.get("Axis", 0)
    return [np.take(given[0], index, axis=axis) for index in range(given[0].shape[axis])]


def _tiled(given: Sequence[Numbers], options: Options, made: Sequence[Tensor]) -> list[Numbers]:
    counts = [int(count) for count in given[1].reshape(-1)]
    require(given[0].size * math.prod(counts), made[0])
    return [np.tile(given[0], counts)]


def _broadcast(given: Sequence[Numbers], options: Options, made: Sequence[Tensor]) -> list[Numbers]:
    return [np.broadcast_to(given[0], made[0].shape)]


def _sliced(given: Sequence[Numbers], options: Options, made: Sequence[Tensor]) -> list[Numbers]:
    begins, sizes = (part.reshape(-1).tolist() for part in given[1:3])
    return [given[0][tuple(slice(b, None if s == -1 else b + s) for b, s in zip(begins, sizes))]]


def _strided(given: Sequence[Numbers], options: Options, made: Sequence[Tensor]) -> list[Numbers]:
    taken, _ = slices_of(given[0].shape, given[1:4], options)
    return [given[0][np.ix_(*taken)].reshape(made[0].shape)]


def _depth_to_space(given: Sequence[Numbers], options: Options, made: Sequence[Tensor]) -> list[Numbers]:
    x, block = given[0], options["BlockSize"]
    batch, height, width, _ = x.shape
    parts = x.reshape(batch, height, width, block, block, -1).transpose(0, 1, 3, 2, 4, 5)
    return [parts.reshape(made[0].shape)]


def _space_to_depth(given: Sequence[Numbers], options: Options, made: Sequence[Tensor]) -> list[Numbers]:
    x, block = given[0], options["BlockSize"]
    batch, height, width, channels = x.shape
    parts = x.reshape(batch, height // block, block, width // block, block, channels).transpose(0, 1, 3, 2, 4, 5)
    return [parts.reshape(made[0].shape)]


def _reversed(given: Sequence[Numbers], options: Options, made: Sequence[Tensor]) -> list[Numbers]:
    return [np.flip(given[0], tuple(int(axis) for axis in given[1].reshape(-1)))]


MOVES: Mapping[str, Compute] = {
    **dict.fromkeys(("RESHAPE", "SQUEEZE", "EXPAND_DIMS"), _reshaped),
    "TRANSPOSE": lambda given, options, made: [given[0].transpose(given[1].reshape(-1).astype(np.int64).tolist())],
    "BROADCAST_TO": _broadcast,
    "CONCATENATION": _joined,
    "DEPTH_TO_SPACE": _depth_to_space,
    "GATHER": _gathered,
    "PACK": _packed,
    "REVERSE_V2": _reversed,
    "SLICE": _sliced,
    "SPACE_TO_DEPTH": _space_to_depth,
    "SPLIT": _split,
    "SPLIT_V": _split_of_sizes,
    "STRIDED_SLICE": _strided,
    "TILE": _tiled,
    "UNPACK": _unpacked,
}
"""Operators that move values without changing them."""


def slices_of(shape: Sequence[int], operands: Sequence[Numbers], options: Options) -> tuple[list[range], int]:
    """Return the indices of each axis in the result of a STRIDED_SLICE, and a mask of the axes that it removes.

    Raises:
        ValueError: it adds axes, or its operands do not match the rank.
    """
    if options.get("EllipsisMask") or options.get("NewAxisMask"):
        raise ValueError("an ellipsis or a new axis")
    begins, ends, strides = (np.asarray(part).reshape(-1).tolist() for part in operands)
    if not len(begins) == len(ends) == len(strides) <= len(shape) or 0 in strides:
        raise ValueError(f"{len(begins)} slices of {len(shape)} axes")
    taken = [range(size) for size in shape]
    for axis, (begin, end, stride) in enumerate(zip(begins, ends, strides)):
        bit = 1 << axis
        if options["ShrinkAxisMask"] & bit:
            place = begin if begin >= 0 else begin + shape[axis]
            taken[axis] = range(shape[axis])[place : place + 1]
            continue
        if options.get("Offset"):
            end += begin  # noqa: PLW2901
        part = slice(
            None if options["BeginMask"] & bit else begin, None if options["EndMask"] & bit else end, int(stride)
        )
        taken[axis] = range(shape[axis])[part]
    return taken, int(options["ShrinkAxisMask"])


def require(size: int, tensor: Tensor) -> None:
    """Refuse a result whose size differs from that in the file, before it is computed."""
    if size != math.prod(tensor.shape):
        raise ValueError(f"{size} numbers")


MOST_COMPUTED = 2**23
"""Largest number of elements of an evaluated tensor."""

NO_NUMBERS = (ArithmeticError, IndexError, KeyError, TypeError, ValueError, MemoryError, RuntimeError)
"""Exceptions from computing operators of a damaged file."""


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
        ArithmeticError, IndexError, KeyError, TypeError, ValueError: the operators do not match their inputs.
    """
    values = dict(known)
    for operator in operators:
        given = [values[index] for index in operator.inputs if index >= 0]
        shape = np.broadcast_shapes(*(each.shape for each in given)) if operator.kind in ELEMENTWISE else ()
        if max(math.prod(shape), *(math.prod(tensors[index].shape) for index in operator.outputs)) > MOST_COMPUTED:
            raise ValueError(f"more than {MOST_COMPUTED} numbers")
        with np.errstate(all="ignore"):
            made = table[operator.kind](given, operator.options, [tensors[index] for index in operator.outputs])
        values.update(zip(operator.outputs, made))
    return values
