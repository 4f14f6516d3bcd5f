"""Tensors whose batch is not their first axis: ``q, k, v = transpose(x, (2, 0, 3, 1, 4))`` and then ``q = x[0]``.

The tensor of a node does not have a batch axis, so its position in Keras does not change the values. But operations
name axes by index. This module converts indices to a count without the batch, and tracks the position of the batch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from glsl_infer.graph import Node
from glsl_infer.importers.keras import geometry
from glsl_infer.importers.keras.call import Call
from glsl_infer.importers.keras.geometry import order_of
from glsl_infer.importers.keras.tensor_places import cut

Places = tuple[int, ...]
"""The batch axis of each input."""

LAST_AXIS = frozenset({"Dense", "LayerNormalization", "Softmax", "LogSoftmax"})
"""Layers and operations along the last axis by default."""

TWO_LAST = frozenset({"Matmul"})

EACH = frozenset(
    {
        *("Abs", "Absolute", "Add", "Activation", "Cast", "Clip", "Divide", "Dropout", "ELU", "Elu", "Exp", "GELU"),
        *("Gelu", "HardSigmoid", "HardSilu", "Identity", "LeakyReLU", "LeakyRelu", "Log", "Maximum", "Minimum"),
        *("Multiply", "Negative", "ReLU", "Relu", "Relu6", "Rsqrt", "Sigmoid", "Silu", "Softplus", "Sqrt", "Square"),
        *("StopGradient", "Subtract", "Tanh", "TrueDivide"),
    }
)
"""Elementwise layers and operations, for any order of axes."""


def moves(operation: Any, rank: int, places: Places) -> bool:
    """Return whether the batch of a call's tensors is not the first axis, before or after the call."""
    order = order_of(operation, rank) if len(places) == 1 else None
    return any(places) or (order is not None and order[0] != 0)


def without_batch(shape: Sequence[int | None], place: int) -> tuple[int | None, ...]:
    """Return a tensor's shape without its batch axis."""
    return (*shape[:place], *shape[place + 1 :])


def place_after(call: Call, places: Places) -> int:
    """Return the batch axis of a call's output.

    Raises:
        ModelError: the call is not supported for a batch at this axis.
    """
    kind, rank, place = type(call.layer).__name__, len(call.shapes[0]) + 1, places[0]
    order = order_of(call.layer, rank)
    if order is not None:
        return order.index(place)
    if kind in _MOVES:
        return _MOVES[kind](call, place)[1]
    alike = all(other == place for other in places) and len({len(shape) for shape in call.shapes}) == 1
    kept = rank - (1 if kind in LAST_AXIS else 2 if kind in TWO_LAST else 0)
    known = kind in EACH or (kind in LAST_AXIS | TWO_LAST and place < kept and _axis(call) in (-1, rank - 1))
    constants = [value for value in call.arguments if not hasattr(value, "_keras_history") and np.ndim(value) > 1]
    if alike and known and not constants:
        return place
    raise call.refused(
        f"{kind} of a tensor whose batch is axis {place}",
        "bring the batch back to the front first, with keras.ops.transpose",
    )


def nodes_of(call: Call, places: Places) -> list[Node] | None:
    """Return the nodes of an operation on axes; None for an operation that is converted by the common tables."""
    order = order_of(call.layer, len(call.shapes[0]) + 1)
    if order is not None:
        place = places[0]
        axes = tuple(axis - (axis > place) for axis in order if axis != place)
        if axes == tuple(range(len(axes))):
            return [call.node("reshape", {"shape": call.shapes[0]})]
        return [call.node("tensor_transpose", {"axes": axes})]
    make = _MOVES.get(type(call.layer).__name__)
    return make(call, places[0])[0] if make else None


def _axis(call: Call) -> Any:
    axis = getattr(call.layer, "axis", -1)
    return axis[0] if isinstance(axis, (list, tuple)) and len(axis) == 1 else axis


def _numbers(call: Call) -> Any:
    return np.arange(math.prod(call.shapes[0])).reshape(call.shapes[0])


def _item(call: Call, place: int) -> tuple[list[Node], int]:
    """Convert ``x[0]``, ``x[:, :, None, 2:]``. The index of the batch axis must be ``:``."""
    key = list(geometry.index_of(call))
    whole = len(call.shapes[0]) + 1
    named = sum(entry is not None and entry is not Ellipsis for entry in key)
    if not all(entry is None or entry is Ellipsis or isinstance(entry, (int, slice)) for entry in key):
        raise call.refused(f"an index {tuple(key)}", "give slices and numbers")
    if Ellipsis not in key:
        key.append(Ellipsis)
    at = key.index(Ellipsis)
    key[at : at + 1] = [slice(None)] * (whole - named)
    axis, after = 0, 0
    for position, entry in enumerate(key):
        if entry is not None and axis == place:
            if entry != slice(None):
                raise call.refused(f"an index {tuple(key)}", f"give the batch, axis {place}, ':'")
            del key[position]
            break
        axis += entry is not None
        after += entry is None or isinstance(entry, slice)
    return cut(call, _numbers(call)[tuple(key)][None]), after


def _over(call: Call, place: int, given: Any, rank: int) -> int:
    """Return an axis in a count without the batch.

    Raises:
        ModelError: the axis does not exist, or is the batch axis.
    """
    if not isinstance(given, int) or given % rank == place:
        raise call.refused(f"axis={given}", f"give one axis, not {place}, which is the batch")
    return given % rank - (given % rank > place)


def _unstack(call: Call, place: int) -> tuple[list[Node], int]:
    rank = len(call.shapes[0]) + 1
    over = _over(call, place, call.layer.axis, rank)
    return cut(call, np.take(_numbers(call), call.output, over)[None]), place - (call.layer.axis % rank < place)


def _split(call: Call, place: int) -> tuple[list[Node], int]:
    over = _over(call, place, call.layer.axis, len(call.shapes[0]) + 1)
    sections = call.layer.indices_or_sections
    given = int(sections) if isinstance(sections, int) else [int(end) for end in sections]
    return cut(call, np.split(_numbers(call), given, over)[call.output][None]), place


def _take(call: Call, place: int) -> tuple[list[Node], int]:
    indices, rank = call.arguments[1], len(call.shapes[0]) + 1
    over = _over(call, place, call.layer.axis, rank)
    if hasattr(indices, "_keras_history") or np.ndim(indices):
        raise call.refused("indices that are no number", "give it one number")
    return cut(call, np.take(_numbers(call), int(indices), over)[None]), place - (call.layer.axis % rank < place)


def _squeeze(call: Call, place: int) -> tuple[list[Node], int]:
    rank, given = len(call.shapes[0]) + 1, call.layer.axis
    if given is None:
        raise call.refused("axis=None", "name the axes, without that of the batch")
    gone = [axis % rank for axis in (given if isinstance(given, (list, tuple)) else [given])]
    over = tuple(_over(call, place, axis, rank) for axis in gone)
    shape = np.squeeze(_numbers(call), over).shape
    return [call.node("reshape", {"shape": shape})], place - sum(axis < place for axis in gone)


def _expand(call: Call, place: int) -> tuple[list[Node], int]:
    given, rank = call.layer.axis, len(call.shapes[0]) + 1
    new = [given] if isinstance(given, int) else list(given)
    places = {axis % (rank + len(new)) for axis in new}
    kept = [axis for axis in range(rank + len(new)) if axis not in places]
    sizes = iter((*call.shapes[0][:place], None, *call.shapes[0][place:]))
    shape = [1 if axis in places else next(sizes) for axis in range(rank + len(new))]
    return [call.node("reshape", {"shape": tuple(size for size in shape if size is not None)})], kept[place]


_MOVES: Mapping[str, Callable[[Call, int], tuple[list[Node], int]]] = {
    "ExpandDims": _expand,
    "GetItem": _item,
    "Split": _split,
    "Squeeze": _squeeze,
    "Take": _take,
    "Unstack": _unstack,
}


def as_first(call: Call, place: int, shape: Sequence[int | None]) -> Call:
    """Return the call with the shape of its output without the batch, whose axis is ``place``."""
    known = tuple(size for size in without_batch(shape, place) if size is not None)
    return replace(call, shape=known)
