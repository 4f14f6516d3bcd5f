"""Chains of Keras layers and operations that only move values -> nodes, for any intermediate shapes.

A channel shuffle written by hand is a Reshape to (height, width, groups, rest), a Permute and a Reshape back. The
intermediate shapes are neither maps nor vectors, but the move of every value is known: the chain is applied to the
indices of the first tensor's values, and the result identifies the operator with the same effect.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glsl_infer.graph import Node
from glsl_infer.importers.keras.call import Call
from glsl_infer.importers.keras.geometry import space_to_depth_nodes

Numbers = NDArray[np.int64]

RANKS = (2, 4)
"""Ranks of vectors and maps, with the batch axis."""


def _axes(operation: Any, numbers: Numbers) -> Numbers:
    axes = operation.axes
    return np.transpose(numbers, axes)


def _moved(operation: Any, numbers: Numbers) -> Numbers:
    return np.moveaxis(numbers, operation.source, operation.destination)


def _swapped(operation: Any, numbers: Numbers) -> Numbers:
    return np.swapaxes(numbers, operation.axis1, operation.axis2)


def _squeezed(operation: Any, numbers: Numbers) -> Numbers:
    axis = operation.axis
    return np.squeeze(numbers, tuple(axis) if isinstance(axis, (list, tuple)) else axis)


def _expanded(operation: Any, numbers: Numbers) -> Numbers:
    axis = operation.axis
    return np.expand_dims(numbers, tuple(axis) if isinstance(axis, (list, tuple)) else axis)


def _permuted(operation: Any, numbers: Numbers) -> Numbers:
    return np.transpose(numbers, (0, *operation.dims))


_RENAMES: Mapping[str, Callable[[Any, Numbers], Numbers] | None] = {
    "Reshape": None,  # to the shape of its output
    "Flatten": None,
    "Permute": _permuted,
    "Transpose": _axes,
    "Swapaxes": _swapped,
    "Moveaxis": _moved,
    "Squeeze": _squeezed,
    "ExpandDims": _expanded,
}


def chain_of(tensor: Any) -> list[Any]:
    """Return the Keras tensors from ``tensor`` back to the nearest map or vector, if all operations between are moves.

    The last is the input of the chain. The result is [] if ``tensor`` is not a move, or if its input already is a map
    or a vector.
    """
    if type(tensor._keras_history.operation).__name__ == "Stack":
        return _stacked(tensor)
    chain = [tensor]
    while _renames(chain[-1]) and (len(chain) == 1 or len(chain[-1].shape) not in RANKS):
        operation, call_index, _ = chain[-1]._keras_history
        inputs = operation._inbound_nodes[call_index].arguments.keras_tensors
        if len(inputs) != 1:
            return []
        chain.append(inputs[0])
    if len(chain) < 2 or any(len(end.shape) not in RANKS for end in (chain[0], chain[-1])):
        return []
    if None not in chain[-1].shape[1:] and len({math.prod(link.shape[1:]) for link in chain}) > 1:
        return []  # one changes the batch
    kinds = {type(link._keras_history.operation).__name__ for link in chain[:-1]}
    return chain if len(chain) > 2 or kinds <= {"Squeeze", "ExpandDims", "Swapaxes", "Moveaxis"} else []


def _stacked(tensor: Any) -> list[Any]:
    """Return the chain of a stack of single channels of one map, ``stack([x[..., 2], x[..., 1], x[..., 0]], -1)``."""
    operation, call_index, _ = tensor._keras_history
    picked = list(operation._inbound_nodes[call_index].arguments.args[0])
    if operation.axis not in (-1, 3) or not all(_channel_of(part) is not None for part in picked):
        return []
    sources = [part._keras_history.operation._inbound_nodes[0].arguments.keras_tensors[0] for part in picked]
    alike = all(source is sources[0] for source in sources) and None not in sources[0].shape[1:]
    return [tensor, *picked, sources[0]] if alike else []


def _channel_of(tensor: Any) -> int | None:
    """Return the channel index of a tensor that is a channel of a map; else None."""
    if not hasattr(tensor, "_keras_history") or type(tensor._keras_history.operation).__name__ != "GetItem":
        return None
    source, key = tensor._keras_history.operation._inbound_nodes[0].arguments.args[:2]
    entries = list(key) if isinstance(key, (list, tuple)) else [key]
    whole = all(entry is Ellipsis or entry == slice(None) for entry in entries[:-1])
    reaches = len(entries) == 4 or entries[:-1] == [Ellipsis]
    is_channel = isinstance(entries[-1], int) and len(getattr(source, "shape", ())) == 4
    return int(entries[-1]) if whole and reaches and is_channel else None


def _renames(tensor: Any) -> bool:
    operation = tensor._keras_history.operation
    kind = type(operation)
    return kind.__name__ in _RENAMES and kind.__module__.partition(".")[0] == "keras" and None not in tensor.shape[1:]


def renamed(call: Call, chain: Sequence[Any], batch: int = 0) -> list[Node]:
    """Return the nodes that move the values of the chain's last tensor to their positions in the first.

    Args:
        call: the call for the entire chain.
        chain: Keras tensors from the result back to the input of the chain.
        batch: batch axis of the input.

    Raises:
        ModelError: the chain mixes batches, or does not match any operator.
    """
    given = call.shapes[0]
    numbers = np.arange(math.prod(given)).reshape(*given[:batch], 1, *given[batch:])
    if type(chain[0]._keras_history.operation).__name__ == "Stack":
        channels = tuple((_channel_of(part) or 0) % given[-1] for part in chain[1:-1])
        return [call.node("channel_gather", {"channels": channels})]
    for tensor in reversed(chain[:-1]):
        operation = tensor._keras_history.operation
        rename = _RENAMES[type(operation).__name__]
        if rename is None:
            if math.prod(tensor.shape[1:]) != numbers.size:
                raise call.refused(f"a reshape to {tuple(tensor.shape)}", "keep the batch as the first axis")
            numbers = numbers.reshape(1, *tensor.shape[1:])
        else:
            numbers = rename(operation, numbers)
    if numbers.shape[0] != 1:
        raise call.refused(f"a shape of {tuple(chain[0].shape)}", "keep the batch as the first axis")
    return _nodes(call, numbers[0])


def _nodes(call: Call, numbers: Numbers) -> list[Node]:
    """Return the nodes whose output has the input values with these indices."""
    given, shape = call.shapes[0], numbers.shape
    if np.array_equal(numbers.reshape(-1), np.arange(numbers.size)):
        return [call.node("reshape", {"shape": shape})]
    if len(given) == 1 and len(shape) == 1:
        return [call.node("vector_gather", {"channels": tuple(int(number) for number in numbers)})]
    if len(given) == 3 and len(shape) == 1:
        # A transposition, then a flatten.
        return _of_maps(call, numbers.reshape(given)) if numbers.size == math.prod(given) else []
    if len(given) == 3 and len(shape) == 3:
        nodes = _of_maps(call, numbers)
        if nodes:
            return nodes
    advice = "channels can be put in another order, rows and columns exchanged, and blocks of both made of each other"
    raise call.refused(f"a reshape and transposition from {given} to {shape} that no operator does", advice)


def _of_maps(call: Call, numbers: Numbers) -> list[Node]:
    """Return the nodes from a map to a map; [] if the move does not match any operator."""
    height, width, channels = call.shapes[0]
    values = np.arange(numbers.size).reshape(height, width, channels)
    rows, columns, depth = numbers.shape
    if np.array_equal(numbers, values.transpose(1, 0, 2)):
        return [call.node("transpose")]
    if (rows, columns) == (height, width):
        order = tuple(int(channel) for channel in numbers[0, 0])
        if max(order) < channels and np.array_equal(numbers, values[..., list(order)]):
            return [call.node("channel_gather", {"channels": order})]
    if rows > height and rows % height == 0 and columns == width * (rows // height):
        block = rows // height
        first = numbers[:block, :block].reshape(-1)  # indices of the channels of the first pixel in the first block
        if first.max() < channels:
            parts = values[..., first].reshape(height, width, block, block, depth)
            if np.array_equal(numbers, parts.transpose(0, 2, 1, 3, 4).reshape(numbers.shape)):
                return _ordered_first(call, first, "depth_to_space", {"block": block})
    if rows < height and height % rows == 0 and width == columns * (height // rows):
        block = height // rows
        parts = values.reshape(rows, block, columns, block, channels).transpose(0, 2, 1, 3, 4)
        whole = parts.reshape(numbers.shape)
        places = {int(number): place for place, number in enumerate(whole[0, 0])}
        lasts = np.array([places.get(int(number), 0) for number in numbers[0, 0]])
        if np.array_equal(numbers, whole[..., lasts]):
            nodes = space_to_depth_nodes(call, block)
            if np.array_equal(lasts, np.arange(depth)):
                return nodes
            attrs = {"channels": tuple(int(channel) for channel in lasts)}
            return [*nodes, Node(f"{call.name}-order", "channel_gather", (nodes[-1].name,), attrs)]
    return []


def _ordered_first(call: Call, order: Numbers, op: str, attrs: dict[str, Any]) -> list[Node]:
    if np.array_equal(order, np.arange(len(order))):
        return [call.node(op, attrs)]
    gather = call.node("channel_gather", {"channels": tuple(int(channel) for channel in order)})
    return [gather, Node(f"{call.name}-blocks", op, (call.name,), attrs)]
