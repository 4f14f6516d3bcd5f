"""Constant folding in NumPy of operators that compute values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from glsl_infer.importers.core import elementwise
from glsl_infer.importers.onnx.folded_moves import numbers_at, room
from glsl_infer.importers.onnx.installed import schema
from glsl_infer.importers.onnx.model import Numbers, Operator

if TYPE_CHECKING:
    from glsl_infer.importers.onnx.folding import Folded

Given = Sequence[Any]


def dequantized(given: Given, operator: Operator) -> Numbers:
    """Return real values from quantised ones, with a scale and zero per tensor, per index of an axis or per block."""
    numbers, scale = np.asarray(given[0]), np.asarray(given[1], np.float32)
    zero = np.asarray(given[2]) if len(given) > 2 and given[2] is not None else np.zeros(1)
    scale, zero = (_along(numbers, each, operator) for each in (scale, zero))
    real: Numbers = ((numbers.astype(np.float64) - zero.astype(np.float64)) * scale).astype(np.float32)
    return real


def _along(numbers: Numbers, part: Numbers, operator: Operator) -> Any:
    if part.size == 1:
        return part.reshape(-1)[0]
    axis = operator.attributes.get("axis", 1) % numbers.ndim
    if part.ndim == numbers.ndim and part.ndim > 1:
        return np.repeat(part, -(-numbers.shape[axis] // part.shape[axis]), axis)[
            tuple(slice(size) for size in numbers.shape)
        ]
    if part.shape != (numbers.shape[axis],):
        raise ValueError(f"scales of {part.shape} for {numbers.shape}")
    return part.reshape([-1 if place == axis else 1 for place in range(numbers.ndim)])


def _quantized(given: Given, operator: Operator, most: int) -> Any:
    zero = np.asarray(given[2]) if len(given) > 2 and given[2] is not None else np.zeros(1, np.uint8)
    info = np.iinfo(zero.dtype)
    scales, zeros = (_along(given[0], np.asarray(each), operator) for each in (given[1], zero))
    return np.clip(np.rint(given[0] / scales) + zeros, info.min, info.max).astype(zero.dtype)


def _cast(given: Given, operator: Operator, most: int) -> Any:
    kind = np.dtype(schema().helper.tensor_dtype_to_np_dtype(operator.attributes["to"]))
    if kind.kind not in "fiub":
        raise ValueError(f"a cast to {kind}")
    return np.asarray(given[0]).astype(kind)


def _elementwise(compute: Callable[..., Any]) -> Folded:
    def computed(given: Given, operator: Operator, most: int) -> Any:
        arrays = [np.asarray(each) for each in given if each is not None]
        room(np.broadcast_shapes(*(each.shape for each in arrays)), max(each.itemsize for each in arrays), most)
        result = np.asarray(compute(*arrays))
        return result.astype(arrays[0].dtype) if result.dtype.kind == "f" and arrays[0].dtype.kind == "f" else result

    return computed


def _divided(x: Numbers, y: Numbers) -> Any:
    if x.dtype.kind == "f":
        return x / y
    if not y.all():
        raise ValueError("a division by 0")
    return np.trunc(x / y).astype(x.dtype)  # toward 0, as in C


def _remainder(given: Given, operator: Operator, most: int) -> Any:
    return (np.fmod if operator.attributes.get("fmod") else np.mod)(given[0], given[1])


def _from_left(compute: Callable[..., Numbers]) -> Folded:
    def computed(given: Given, operator: Operator, most: int) -> Any:
        room(np.broadcast_shapes(*(each.shape for each in given)), given[0].itemsize, most)
        result = given[0]
        for each in given[1:]:
            result = compute(result, each)
        return result

    return computed


def _reduced(compute: Callable[..., Any]) -> Folded:
    def computed(given: Given, operator: Operator, most: int) -> Any:
        axes = numbers_at(given, 1, operator, "axes")
        if not axes and operator.attributes.get("noop_with_empty_axes"):
            return np.asarray(given[0])
        keep = bool(operator.attributes.get("keepdims", 1))
        result = compute(given[0], axis=tuple(axes) if axes else None, keepdims=keep)
        return np.asarray(result).astype(given[0].dtype)

    return computed


def _clip(given: Given, operator: Operator, most: int) -> Any:
    ends = [
        operator.attributes.get(name, given[place] if place < len(given) else None)
        for place, name in ((1, "min"), (2, "max"))
    ]
    return np.clip(given[0], *ends).astype(given[0].dtype)


def _extreme(which: str) -> Folded:
    def computed(given: Given, operator: Operator, most: int) -> Any:
        axis = operator.attributes.get("axis", 0)
        found = getattr(np, which)(given[0], axis=axis)
        return np.expand_dims(found, axis) if operator.attributes.get("keepdims", 1) else found

    return computed


def _matmul(given: Given, operator: Operator, most: int) -> Any:
    room([given[0].size // max(given[0].shape[-1], 1), given[1].shape[-1]], given[0].itemsize, most)
    return np.matmul(given[0], given[1])


def _where(given: Given, operator: Operator, most: int) -> Any:
    room(np.broadcast_shapes(*(each.shape for each in given)), given[1].itemsize, most)
    return np.where(given[0].astype(bool), given[1], given[2])


def _cumulative(given: Given, operator: Operator, most: int) -> Any:
    if operator.attributes.get("exclusive") or operator.attributes.get("reverse"):
        raise ValueError("an exclusive or reversed sum")
    return np.cumsum(given[0], axis=int(np.asarray(given[1]).reshape(-1)[0]), dtype=given[0].dtype)


def _first(given: Given, operator: Operator, most: int) -> Any:
    return np.asarray(given[0])


POINTWISE: Mapping[str, Callable[..., Any]] = {
    **elementwise.computes(elementwise.ONNX),
    "Div": _divided,
    "Neg": np.negative,
    "Pow": lambda x, y: np.power(x, y).astype(x.dtype),
}
"""Functions of one value and of two."""

NUMBERS: Mapping[str, Folded] = {
    **{name: _elementwise(compute) for name, compute in POINTWISE.items()},
    "ArgMax": _extreme("argmax"),
    "ArgMin": _extreme("argmin"),
    "Cast": _cast,
    "CastLike": lambda given, operator, most: given[0].astype(given[1].dtype),
    "Clip": _clip,
    "CumSum": _cumulative,
    "DequantizeLinear": lambda given, operator, most: dequantized(given, operator),
    "Dropout": _first,
    "HardSigmoid": lambda given, operator, most: np.clip(
        operator.attributes.get("alpha", 0.2) * given[0] + operator.attributes.get("beta", 0.5), 0.0, 1.0
    ).astype(given[0].dtype),
    "Identity": _first,
    "MatMul": _matmul,
    "Max": _from_left(np.maximum),
    "Min": _from_left(np.minimum),
    "Mod": _remainder,
    "QuantizeLinear": _quantized,
    "ReduceMax": _reduced(np.max),
    "ReduceMean": _reduced(np.mean),
    "ReduceMin": _reduced(np.min),
    "ReduceProd": _reduced(np.prod),
    "ReduceSum": _reduced(np.sum),
    "Sum": _from_left(np.add),
    "Where": _where,
}
"""Folding functions by the operator's type."""
