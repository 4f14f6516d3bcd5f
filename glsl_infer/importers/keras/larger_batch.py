"""Reshapes that enlarge the batch, such as ``reshape(x, (-1, 16, 32))`` of 4 windows of an image, and back.

The tensor of a node does not have a batch axis. If Keras stores several parts of each image in the batch, the node has
an additional first axis for the parts. Operations along the last axes are independent of this axis.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glsl_infer.graph import Node
from glsl_infer.importers.keras import batch_places, geometry
from glsl_infer.importers.keras.call import Call, is_tensor
from glsl_infer.importers.keras.tensor_places import MOVES, placed

MOST_ROWS = 2048
"""Largest number of rows for parts below each other: the texture height that every driver supports."""

Numbers = NDArray[np.int64]

_RESHAPES = frozenset({"Reshape", "Flatten", "Squeeze", "ExpandDims"})
"""Layers and operations that keep the order of values."""

_ORDERS = frozenset({"Permute", "Transpose"})

_LAST_AXIS = batch_places.LAST_AXIS | {"MultiHeadAttention"}


_ANYWHERE: Mapping[str, Callable[[Call, Numbers], Numbers]] = {
    "ExpandDims": lambda call, numbers: np.expand_dims(numbers, call.layer.axis),
    "GetItem": lambda call, numbers: numbers[geometry.index_of(call)],
    "Split": MOVES["Split"],
    "Squeeze": lambda call, numbers: np.squeeze(numbers, call.layer.axis),
    "Take": MOVES["Take"],
    "Unstack": MOVES["Unstack"],
}
"""Effect of operations on indices whose batch is any axis, by class name."""


def changes(operation: Any, given: Sequence[int], made: Sequence[int | None]) -> bool:
    """Return whether a reshape changes the batch. The shapes ``given`` and ``made`` exclude it."""
    sizes = [size for size in made if size]
    return type(operation).__name__ == "Reshape" and len(sizes) == len(made) and math.prod(sizes) != math.prod(given)


def each_alone(call: Call, chain: Sequence[Any], parts: Sequence[int]) -> bool:
    """Return whether a call processes every part separately, by operators without an axis for parts."""
    return not chain and len(call.inputs) == 1 and parts[0] > 1 and not _moved(call.layer) and not _beside(call)


def below_each_other(call: Call, convert: Callable[[Call], list[Node]]) -> list[Node]:
    """Return the nodes of one call for all parts, stored below each other with their padding between them.

    A convolution of windows becomes one convolution with one range. The result is [] if the call does not allow this.
    """
    count, *one = call.shapes[0]
    if len(one) != 3:
        return []
    made = convert(replace(call, shapes=(tuple(one),)))
    first, (height, width, channels) = made[0], one
    top, bottom, left, right = first.attrs.get("padding", (0, 0, 0, 0))
    (down, across), window = first.attrs.get("strides", (1, 1)), (1, 1)
    if first.op == "conv2d":
        steps = first.attrs.get("dilations", (1, 1))
        window = tuple(step * (taps - 1) + 1 for step, taps in zip(steps, first.weights["kernel"].shape))
        channels = first.weights["kernel"].shape[3]
    if first.op not in ("conv2d", "batch_norm", "rescaling") or any(node.op != "activation" for node in made[1:]):
        return []
    tall = -(-(height + top + bottom) // down) * down
    if count * tall > MOST_ROWS:
        return []
    rows, columns = (height + top + bottom - window[0]) // down + 1, (width + left + right - window[1]) // across + 1
    padding = (0, 0, top, tall - height - top, 0, 0, 0, 0)
    nodes = [call.node("tensor_pad", {"padding": padding})] if tall > height else []
    whole = f"{call.name}-whole"
    reads = (call.name,) if nodes else call.inputs
    nodes.append(Node(whole if nodes else call.name, "reshape", reads, {"shape": (count * tall, width, one[2])}))
    before = nodes[-1].name
    for number, node in enumerate(made):
        attrs = dict(node.attrs)
        if node.op == "conv2d":
            attrs["padding"] = (0, window[0] - 1, left, right)
        nodes.append(replace(node, name=f"{call.name}-all-{number}", inputs=(before,), attrs=attrs))
        before = nodes[-1].name
    parted = {"shape": (count, tall // down, columns, channels)}
    nodes.append(Node(f"{call.name}-parts", "tensor_reshape", (before,), parted))
    if tall // down == rows:
        return nodes
    cut = {"begin": (0, 0, 0, 0), "size": (count, rows, columns, channels), "strides": (1, 1, 1, 1)}
    return [*nodes, Node(f"{call.name}-cut", "tensor_slice", (nodes[-1].name,), cut)]


def converted(
    call: Call, chain: Sequence[Any], parts: Sequence[int], convert: Callable[[Call], list[Node]]
) -> tuple[list[Node], int]:
    """Return the nodes of a call with several parts of each image in or out, and the number of parts of the output.

    Args:
        call: its input shapes begin with the number of parts if the input has parts. Its output shape does not.
        chain: Keras tensors from the result back to the input if the call represents several operations; else empty.
        parts: number of parts of each input; 1 for an ordinary batch.
        convert: converter of a call whose shapes begin with the number of parts.

    Raises:
        ModelError: the call mixes parts.
    """
    tensors = list(reversed(chain[:-1]))
    links = [(link._keras_history.operation, tuple(link.shape[1:])) for link in tensors] or [(call.layer, call.shape)]
    if len(call.inputs) == 1 and all(_moved(kind) for kind, _ in links):
        given = call.shapes[0] if parts[0] > 1 else (1, *call.shapes[0])
        numbers = np.arange(math.prod(given)).reshape(given)
        for operation, shape in links:
            numbers = _apply(call, operation, shape, numbers)
        return placed(call, numbers if len(numbers) > 1 else numbers[0]), len(numbers)
    if len(set(parts)) != 1 or len(set(map(len, call.shapes))) != 1 or not _beside(call):
        kind = type(call.layer).__name__
        raise call.refused(
            f"{kind} of a batch with {max(parts)} parts of each picture",
            f"give the parts an axis of their own: reshape to (-1, {max(parts)}, ...)",
        )
    longer = replace(call, shape=(parts[0], *call.shape))
    if type(call.layer).__name__ == "Einsum":
        return _einsum(longer), parts[0]
    return convert(longer), parts[0]


def elsewhere(
    call: Call, shape: Sequence[int | None], places: Sequence[int], parts: int, convert: Callable[[Call], list[Node]]
) -> tuple[list[Node], int]:
    """Return the nodes of a call whose batch, with several parts, is not the first axis, and the output's batch axis.

    The axis of parts is the first axis of a node, even if Keras stores it elsewhere, as in
    ``q, k, v = transpose(x, (2, 0, 3, 1, 4))`` of windows.

    Args:
        call: its shapes begin with the number of parts.
        shape: shape of the output, with its batch.
        places: the batch axis of each input.
        parts: number of parts of each input.
        convert: as in ``converted``.

    Raises:
        ModelError: the call is not supported for a batch at this axis.
    """
    order = geometry.order_of(call.layer, len(call.shapes[0]))
    move = _ANYWHERE.get(type(call.layer).__name__)
    if order is None and move is None:
        place = batch_places.place_after(replace(call, shapes=tuple(given[1:] for given in call.shapes)), tuple(places))
        one = batch_places.as_first(call, place, shape)
        return convert(replace(one, shape=(parts, *one.shape))), place
    numbers = np.moveaxis(np.arange(math.prod(call.shapes[0])).reshape(call.shapes[0]), 0, places[0])
    result = numbers.transpose(order) if order is not None else move(call, numbers) if move else numbers
    part = result // (numbers.size // parts)
    found = [axis for axis, size in enumerate(result.shape) if size == parts and _counts(np.moveaxis(part, axis, 0))]
    if not found:
        raise call.refused("a change of the batch", "keep the parts of a picture together, in one axis")
    return placed(call, np.moveaxis(result, found[0], 0)), found[0]


def _counts(part: Numbers) -> bool:
    return bool(np.all(part == _counted(len(part), part.ndim)))


def _moved(operation: Any) -> bool:
    return type(operation).__name__ in _RESHAPES | _ORDERS | MOVES.keys()


def _apply(call: Call, operation: Any, shape: Sequence[int], numbers: Numbers) -> Numbers:
    """Return indices after one operation. The first axis of the indices is the axis of parts."""
    kind, parts = type(operation).__name__, len(numbers)
    if kind in _RESHAPES:
        if numbers.size % math.prod(shape):
            raise call.refused(f"a reshape to {tuple(shape)} and another batch", "leave whole parts of pictures in it")
        return numbers.reshape(-1, *shape)
    order = geometry.order_of(operation, numbers.ndim)
    result: Numbers
    if order is not None:
        result = numbers.transpose(order)
        first = order[0] == 0
    else:
        result = MOVES[kind](replace(call, layer=operation), numbers)
        first = len(result) == parts and _counts(result // (numbers.size // parts))
    if not first:
        raise call.refused("a change of the batch", "keep the batch as it is, the first axis")
    return result


def _counted(parts: int, rank: int) -> Numbers:
    return np.arange(parts).reshape(-1, *(1,) * (rank - 1))


def _beside(call: Call) -> bool:
    """Return whether a call processes every part separately because it works along its last axes only."""
    kind, axis = type(call.layer).__name__, getattr(call.layer, "axis", -1)
    last = (axis[0] if isinstance(axis, (list, tuple)) and len(axis) == 1 else axis) == -1
    known = batch_places.EACH | batch_places.TWO_LAST | {"Einsum"}
    return kind in known or (kind in _LAST_AXIS and last)


def _einsum(call: Call) -> list[Node]:
    """Convert an einsum of tensors. The letter of the batch becomes that of the axis of parts."""
    equation = str(call.layer.subscripts).replace(" ", "")
    terms, arrow, result = equation.partition("->")
    values = call.arguments[0] if isinstance(call.arguments[0], (list, tuple)) else call.arguments
    begins = {term[:1] for term in (*terms.split(","), result)}
    if "." in equation or not arrow or len(begins) != 1 or not all(map(is_tensor, values)):
        raise call.refused(f"the einsum '{equation}'", "let every tensor and the result begin with the batch")
    return [call.node("einsum", {"equation": equation})]
