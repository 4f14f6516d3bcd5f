"""CPU operators to compare and select values along an axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from glsl_infer.cpu.kernel import Attrs, Kernel, Weights, axis_of, first_shape
from glsl_infer.graph.node import Array, Shape
from glsl_infer.support.ndarray import NDArray

Indices = NDArray[np.signedinteger[Any]]


def _axis(attrs: Attrs, rank: int) -> int:
    return axis_of(attrs["axis"], rank)


def _same_shape(attrs: Attrs, weights: Mapping[str, Shape], shapes: Sequence[Shape]) -> Shape:
    _axis(attrs, len(shapes[0]))
    return first_shape(attrs, weights, shapes)


def _softmax(attrs: Attrs, weights: Weights, inputs: Sequence[Array]) -> Array:
    axis = _axis(attrs, inputs[0].ndim)
    exponentials = np.exp(inputs[0] - inputs[0].max(axis=axis, keepdims=True))
    probabilities: Array = exponentials / exponentials.sum(axis=axis, keepdims=True)
    return probabilities


def _argmax_shape(attrs: Attrs, weights: Mapping[str, Shape], shapes: Sequence[Shape]) -> Shape:
    axis = _axis(attrs, len(shapes[0]))
    return (*shapes[0][:axis], *shapes[0][axis + 1 :])


def _argmax(attrs: Attrs, weights: Weights, inputs: Sequence[Array]) -> Array:
    largest: Array = np.asarray(np.argmax(inputs[0], axis=_axis(attrs, inputs[0].ndim)), inputs[0].dtype)
    return largest


def _order(x: Array, axis: int, *, descending: bool) -> Indices:
    """Return the indices that sort an array; equal values keep their order."""
    order: Indices = np.argsort(-x if descending else x, axis=axis, kind="stable")
    return order


def _sort(attrs: Attrs, weights: Weights, inputs: Sequence[Array]) -> Array:
    axis = _axis(attrs, inputs[0].ndim)
    order = _order(inputs[0], axis, descending=bool(attrs["descending"]))
    return _chosen(inputs[0], order, axis, attrs["result"])


def _top_k_shape(attrs: Attrs, weights: Mapping[str, Shape], shapes: Sequence[Shape]) -> Shape:
    if not shapes[0] or not 1 <= attrs["k"] <= shapes[0][-1]:
        raise ValueError(f"the {attrs['k']} largest of a tensor of shape {shapes[0]}; give 1 to its last axis")
    return (*shapes[0][:-1], int(attrs["k"]))


def _top_k(attrs: Attrs, weights: Weights, inputs: Sequence[Array]) -> Array:
    order = _order(inputs[0], -1, descending=True)[..., : attrs["k"]]
    return _chosen(inputs[0], order, -1, attrs["result"])


def _chosen(x: Array, order: Indices, axis: int, result: str) -> Array:
    """Return the values in an order, or the order itself, as requested by ``result``."""
    if result not in ("values", "indices"):
        raise ValueError(f"result '{result}'; there are: values, indices")
    if result == "indices":
        return order.astype(x.dtype)
    chosen: Array = np.take_along_axis(x, order, axis=axis)
    return chosen


def _gather_shape(attrs: Attrs, weights: Mapping[str, Shape], shapes: Sequence[Shape]) -> Shape:
    axis = _axis(attrs, len(shapes[0]))
    return (*shapes[0][:axis], *shapes[1], *shapes[0][axis + 1 :])


def _gather(attrs: Attrs, weights: Weights, inputs: Sequence[Array]) -> Array:
    x, axis = inputs[0], _axis(attrs, inputs[0].ndim)
    with np.errstate(invalid="ignore"):
        indices = np.nan_to_num(np.rint(inputs[1])).clip(-1, x.shape[axis]).astype(np.int64)
    inside = (indices >= 0) & (indices < x.shape[axis])
    gathered: Array = np.take(x, np.where(inside, indices, 0), axis=axis)
    mask = inside.reshape((1,) * axis + inside.shape + (1,) * (x.ndim - axis - 1))
    return np.where(mask, gathered, x.dtype.type(0))


KERNELS: Mapping[str, Kernel] = {
    "tensor_softmax": Kernel("Softmax along an axis.", (1, 1), _same_shape, _softmax, {"axis": -1}, range="unit"),
    "tensor_argmax": Kernel(
        "The index of the largest value along an axis, which is removed; the first of equal values.",
        (1, 1),
        _argmax_shape,
        _argmax,
        {"axis": -1},
    ),
    "sort": Kernel(
        "Values sorted along an axis, or the indices of that order. Equal values keep their order.",
        (1, 1),
        _same_shape,
        _sort,
        {"axis": -1, "descending": False, "result": "values"},
    ),
    "top_k": Kernel(
        "The k largest values of the last axis, largest first, or their indices.",
        (1, 1),
        _top_k_shape,
        _top_k,
        {"k": None, "result": "values"},
    ),
    "gather": Kernel(
        "The values at indices along an axis; 0 for an index outside.",
        (2, 2),
        _gather_shape,
        _gather,
        {"axis": 0},
        range="kept",
    ),
}
"""The kernels by operator name."""
