"""Constant folding of ONNX operators by which exporters compute shapes, exact for integers.

``computed`` computes the others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from glsl_infer.errors import ModelError
from glsl_infer.importers.core import elementwise
from glsl_infer.importers.core.folding import (
    MAX_INTEGERS,
    MISFITS,
    Folder,
    integer_list,
    points_shape,
    reshaped,
    squeezed,
    unsqueezed,
)
from glsl_infer.importers.onnx import types
from glsl_infer.importers.onnx.file import schema
from glsl_infer.importers.onnx.model import Numbers, Operator
from glsl_infer.importers.onnx.view import View

Inputs = Sequence[Any]
Options = Mapping[str, Any]
Compute = Callable[[Folder, Inputs, Options], Any]
"""Function of a folder, the constants (None if left out), and the attributes: the result, or a list of results."""


def fold(operator: Operator, inputs: Inputs, most: int, kinds: Sequence[str] = ()) -> list[Numbers] | None:
    """Return the results of an operator if they are constant; else None.

    Args:
        operator: the operator of the file.
        inputs: arrays, views, or None if left out.
        most: largest number of bytes of the results.
        kinds: the types of its inputs, if they are known.

    Raises:
        ModelError: the constants do not match, or the result is too large.
    """
    kind, options = operator.kind, operator.attributes
    if operator.domain or operator.parts or kind not in _FOLDED:
        return None
    computed = [isinstance(value, View) for value in inputs]
    if kind == "CastLike" and computed == [False, True]:
        like = kinds[1] if kinds and types.is_whole(kinds[1]) else types.FLOAT  # other values are computed as floats
        return [np.asarray(inputs[0]).astype(like)]
    if any(computed) and (kind not in ("EyeLike", "Shape", "Size") or len(inputs) != 1):
        return None
    if not operator.inputs and kind != "Constant":
        return None
    if kind == "Split":
        options = {"num_outputs": len(operator.outputs), **options}
    try:
        with np.errstate(all="ignore"):
            result = _FOLDED[kind](Folder(most), inputs, options)
        results = [np.asarray(value) for value in (result if isinstance(result, (list, tuple)) else [result])]
    except MISFITS as error:
        raise ModelError(f"{kind} of constants that do not fit ({str(error)[:120]})") from None
    if sum(value.nbytes for value in results) > most:
        raise ModelError(f"{kind} of constants makes more numbers than there is room for")
    return results


def integers_at(inputs: Inputs, index: int, options: Options, name: str) -> list[int] | None:
    """Return integers from an attribute, as in old files, or from an input."""
    if name in options:
        return [int(number) for number in (options[name] if isinstance(options[name], tuple) else (options[name],))]
    if index < len(inputs) and inputs[index] is not None:
        return integer_list(np.asarray(inputs[index]))
    return None


def slices(shape: Sequence[int], inputs: Inputs, options: Options) -> list[slice]:
    """Return the slice of each axis for a Slice.

    Raises:
        ValueError: the inputs do not match.
    """
    names = ("starts", "ends", "axes", "steps")
    starts, ends, axes, steps = (integers_at(inputs, index, options, name) for index, name in enumerate(names, 1))
    if starts is None or ends is None:
        raise ValueError("no starts or no ends")
    axes = list(range(len(starts))) if axes is None else axes
    steps = [1] * len(starts) if steps is None else steps
    if not len(starts) == len(ends) == len(axes) == len(steps) or 0 in steps:
        raise ValueError("starts, ends, axes and steps of different lengths, or a step of 0")
    parts = [slice(None)] * len(shape)
    for start, end, axis, step in zip(starts, ends, axes, steps):
        size = shape[axis]
        first = start + size if start < 0 else start
        last = end + size if end < 0 else end
        if step > 0:
            parts[axis] = slice(min(max(first, 0), size), min(max(last, 0), size), step)
        else:
            last = min(max(last, -1), size - 1)
            parts[axis] = slice(min(max(first, 0), size - 1), None if last < 0 else last, step)
    return parts


def split_sizes(size: int, inputs: Inputs, options: Options) -> list[int]:
    """Return the lengths of the outputs of a Split, whose number is the attribute ``num_outputs``."""
    sizes = integers_at(inputs, 1, options, "split")
    if sizes is None:
        count = options["num_outputs"]
        part_size = -(-size // count)
        if not 0 < count <= MAX_INTEGERS:
            raise ValueError(f"{size} into {count} parts")
        sizes = [part_size] * (count - 1) + [size - part_size * (count - 1)]
    if sum(sizes) != size or min(sizes) < 0:
        raise ValueError(f"{size} into {sizes}")
    return sizes


def flattened(shape: Sequence[int], axis: int) -> tuple[int, int]:
    """Return the two sizes of a Flatten's result."""
    axis = axis + len(shape) if axis < 0 else axis
    return math.prod(shape[:axis]), math.prod(shape[axis:])


def _constant(folder: Folder, inputs: Inputs, options: Options) -> Any:
    for name, value in options.items():
        if name in ("value", "sparse_value"):
            return np.asarray(value())
        if name in ("value_float", "value_floats", "value_int", "value_ints"):
            return np.asarray(value, np.float32 if "float" in name else np.int64)
    raise ValueError("a constant without numbers")


def _gather_nd(folder: Folder, inputs: Inputs, options: Options) -> Any:
    if options.get("batch_dims", 0):
        raise ValueError("batch_dims")
    return folder.gather_points(inputs[0], inputs[1])


def _scatter_nd(folder: Folder, inputs: Inputs, options: Options) -> Any:
    folder.shape(points_shape(inputs[0].shape, inputs[1].shape), inputs[0].itemsize)  # fewer values are broadcast
    result = inputs[0].copy()
    result[tuple(np.moveaxis(inputs[1].astype(np.int64), -1, 0))] = inputs[2]
    return result


def _split(folder: Folder, inputs: Inputs, options: Options) -> Any:
    axis = options.get("axis", 0)
    ends = np.cumsum(split_sizes(inputs[0].shape[axis], inputs, options))[:-1]
    return list(np.split(inputs[0], ends, axis=axis))


def _pad(folder: Folder, inputs: Inputs, options: Options) -> Any:
    rank, pads = inputs[0].ndim, integers_at(inputs, 1, options, "pads") or []
    widths = [(0, 0)] * rank
    for index, axis in enumerate(integers_at(inputs, 3, options, "axes") or range(rank)):
        widths[axis] = (pads[index], pads[index + len(pads) // 2])
    if options.get("mode", "constant") != "constant":
        raise ValueError(f"padding by {widths}")
    value = inputs[2].reshape(-1)[0] if len(inputs) > 2 and inputs[2] is not None else options.get("value", 0)
    return folder.pad(inputs[0], widths, value)


def _nonzero(folder: Folder, inputs: Inputs, options: Options) -> Any:
    folder.shape([inputs[0].ndim, inputs[0].size], 8)
    return np.asarray(np.nonzero(inputs[0]), np.int64)


def _triangle(folder: Folder, inputs: Inputs, options: Options) -> Any:
    offset = int(inputs[1].reshape(-1)[0]) if len(inputs) > 1 and inputs[1] is not None else 0
    return (np.triu if options.get("upper", 1) else np.tril)(inputs[0], offset)


def _eye(folder: Folder, inputs: Inputs, options: Options) -> Any:
    rows, columns = folder.shape(inputs[0].shape[:2], 4)
    return np.eye(rows, columns, options.get("k", 0), np.float32)


def _shape(folder: Folder, inputs: Inputs, options: Options) -> Any:
    return np.asarray(inputs[0].shape[slice(options.get("start"), options.get("end"))], np.int64)


def dequantized(inputs: Inputs, options: Options) -> Numbers:
    """Return real values from quantised ones, with a scale and zero per tensor, per index of an axis or per block."""
    stored, scale = np.asarray(inputs[0]), np.asarray(inputs[1], np.float32)
    zero = np.asarray(inputs[2]) if len(inputs) > 2 and inputs[2] is not None else np.zeros(1)
    scale, zero = _along_axis(scale, stored.shape, options), _along_axis(zero, stored.shape, options)
    real = (stored.astype(np.float64) - zero.astype(np.float64)) * scale
    return np.asarray(real, np.float32)


def _along_axis(parameter: Numbers, shape: Sequence[int], options: Options) -> Any:
    """Return scales or zero points as an array that broadcasts to a tensor.

    Args:
        parameter: one per tensor, per index of the axis, or per block of indices.
        shape: of the tensor.
        options: the operator's attributes: ``axis``.

    Raises:
        ValueError: the shapes do not match.
    """
    if parameter.size == 1:
        return parameter.reshape(-1)[0]
    axis = options.get("axis", 1) % len(shape)
    if parameter.ndim == len(shape) and parameter.ndim > 1:
        block_size = -(-shape[axis] // parameter.shape[axis])
        limits = tuple(map(slice, shape))  # before the repetition too: the other axes can be longer than the tensor's
        return np.repeat(parameter[limits], block_size, axis)[limits]
    if parameter.shape != (shape[axis],):
        raise ValueError(f"scales of {parameter.shape} for {tuple(shape)}")
    return parameter.reshape([-1 if index == axis else 1 for index in range(len(shape))])


def _quantized(folder: Folder, inputs: Inputs, options: Options) -> Any:
    kind = _type(options["output_dtype"]) if options.get("output_dtype") else np.dtype(np.uint8)
    zero = np.asarray(inputs[2]) if len(inputs) > 2 and inputs[2] is not None else np.zeros(1, kind)
    shape = inputs[0].shape
    scales = _along_axis(np.asarray(inputs[1]), shape, options)
    zeros = _along_axis(zero.astype(np.float64), shape, options)
    return np.clip(np.rint(inputs[0] / scales) + zeros, *types.ends(str(zero.dtype))).astype(zero.dtype)


def _type(number: int) -> np.dtype[Any]:
    """Return an element type of a file."""
    kind: np.dtype[Any] = np.dtype(schema().helper.tensor_dtype_to_np_dtype(number))
    return kind


def _cast(folder: Folder, inputs: Inputs, options: Options) -> Any:
    kind = _type(options["to"])
    if kind.kind != "f" and not types.is_whole(str(kind)):
        raise ValueError(f"a cast to {kind}")
    return np.asarray(inputs[0]).astype(kind)


def _elementwise(compute: Callable[..., Any]) -> Compute:
    def computed(folder: Folder, inputs: Inputs, options: Options) -> Any:
        arrays = [np.asarray(value) for value in inputs if value is not None]
        result = folder.elementwise(compute, *arrays)
        return result.astype(arrays[0].dtype) if result.dtype.kind == "f" and arrays[0].dtype.kind == "f" else result

    return computed


def _divided(x: Numbers, y: Numbers) -> Any:
    if x.dtype.kind == "f":
        return x / y
    if not y.all():
        raise ValueError("a division by 0")
    return np.trunc(x / y).astype(x.dtype)  # toward 0, as in C


def _from_left(compute: Callable[..., Numbers]) -> Compute:
    def computed(folder: Folder, inputs: Inputs, options: Options) -> Any:
        result = inputs[0]
        for value in inputs[1:]:
            result = folder.elementwise(compute, result, value)
        return result

    return computed


def _reduced(compute: Callable[..., Any]) -> Compute:
    def computed(folder: Folder, inputs: Inputs, options: Options) -> Any:
        axes = integers_at(inputs, 1, options, "axes")
        if not axes and options.get("noop_with_empty_axes"):
            return np.asarray(inputs[0])
        result = compute(inputs[0], axis=tuple(axes) if axes else None, keepdims=bool(options.get("keepdims", 1)))
        return np.asarray(result).astype(inputs[0].dtype)

    return computed


def _clip(folder: Folder, inputs: Inputs, options: Options) -> Any:
    low, high = (
        options.get(name, inputs[index] if index < len(inputs) else None) for index, name in ((1, "min"), (2, "max"))
    )
    folder.shape(np.broadcast_shapes(*(np.shape(value) for value in (inputs[0], low, high))), inputs[0].itemsize)
    return np.clip(inputs[0], low, high).astype(inputs[0].dtype)


def _batch_normalization(folder: Folder, inputs: Inputs, options: Options) -> Any:
    """Normalise axis 1, the channels; in training mode by the batch's own statistics (ONNX, BatchNormalization 15)."""
    x: Any
    x, scale, bias, mean, variance = (np.asarray(value) for value in inputs[:5])
    others = tuple(axis for axis in range(x.ndim) if axis != 1)
    if options.get("training_mode", 0):
        mean, variance = x.mean(axis=others), x.var(axis=others)
    scale, bias, mean, variance = (np.expand_dims(channels, others) for channels in (scale, bias, mean, variance))
    folder.shape(np.broadcast_shapes(*(value.shape for value in (x, scale, bias, mean, variance))), x.itemsize)
    return ((x - mean) / np.sqrt(variance + options.get("epsilon", 1e-5)) * scale + bias).astype(x.dtype)


POINTWISE: Mapping[str, Callable[..., Any]] = {
    **elementwise.computes(elementwise.ONNX),
    "Div": _divided,
    "Neg": np.negative,
    "Pow": lambda x, y: np.power(x, y).astype(x.dtype),
}
"""Functions of one value and of two."""

_FOLDED: Mapping[str, Compute] = {
    **{name: _elementwise(compute) for name, compute in POINTWISE.items()},
    **dict.fromkeys(("Dropout", "Identity"), lambda f, x, o: np.asarray(x[0])),
    "BatchNormalization": _batch_normalization,
    "Cast": _cast,
    "CastLike": lambda f, x, o: x[0].astype(x[1].dtype),
    "Clip": _clip,
    "Concat": lambda f, x, o: f.concat(x, o.get("axis", 1)),
    "Constant": _constant,
    "ConstantOfShape": lambda f, x, o: f.full(
        integer_list(x[0]), o["value"]() if "value" in o else np.zeros(1, np.float32)
    ),
    "DequantizeLinear": lambda f, x, o: dequantized(x, o),
    "Expand": lambda f, x, o: f.expand(x[0], integer_list(x[1])),
    "EyeLike": _eye,
    "Flatten": lambda f, x, o: x[0].reshape(flattened(x[0].shape, o.get("axis", 1))),
    "Gather": lambda f, x, o: f.take(x[0], x[1], o.get("axis", 0)),
    "GatherND": _gather_nd,
    "MatMul": lambda f, x, o: f.matmul(x[0], x[1]),
    "Max": _from_left(np.maximum),
    "Min": _from_left(np.minimum),
    "Mod": lambda f, x, o: f.elementwise(np.fmod if o.get("fmod") else np.mod, x[0], x[1]),
    "NonZero": _nonzero,
    "Pad": _pad,
    "QuantizeLinear": _quantized,
    "Range": lambda f, x, o: f.arange(*x),
    "ReduceMax": _reduced(np.max),
    "ReduceMean": _reduced(np.mean),
    "ReduceMin": _reduced(np.min),
    "ReduceProd": _reduced(np.prod),
    "ReduceSum": _reduced(np.sum),
    "Reshape": lambda f, x, o: x[0].reshape(
        reshaped(x[0].shape, integers_at(x, 1, o, "shape") or [], zero_keeps=not o.get("allowzero", 0))
    ),
    "ScatterND": _scatter_nd,
    "Shape": _shape,
    "Size": lambda f, x, o: np.asarray(math.prod(x[0].shape), np.int64),
    "Slice": lambda f, x, o: x[0][tuple(slices(x[0].shape, x, o))],
    "Split": _split,
    "Squeeze": lambda f, x, o: x[0].reshape(squeezed(x[0].shape, integers_at(x, 1, o, "axes"))),
    "Sum": _from_left(np.add),
    "Tile": lambda f, x, o: f.tile(x[0], integer_list(x[1])),
    "Transpose": lambda f, x, o: x[0].transpose(o.get("perm")),
    "Trilu": _triangle,
    "Unsqueeze": lambda f, x, o: x[0].reshape(unsqueezed(x[0].shape, integers_at(x, 1, o, "axes") or [])),
    "Where": lambda f, x, o: f.elementwise(np.where, x[0].astype(bool), x[1], x[2]),
}
"""Folding functions by the operator's type."""
