"""OpChains of Keras layers and operations that only move values -> nodes, for any intermediate shapes.

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
from glsl_infer.importers.core.moves import arrangement
from glsl_infer.importers.keras.call import Call

Numbers = NDArray[np.int64]

RANKS = (2, 4)
"""Ranks of vectors and maps, with the batch axis."""


def axes_of(axis: Any) -> Any:
    """Return an option for one axis or several as NumPy takes it."""
    return tuple(axis) if isinstance(axis, (list, tuple)) else axis


_RENAMES: Mapping[str, Callable[[Any, Numbers], Numbers] | None] = {
    "Reshape": None,  # to the shape of its output
    "Flatten": None,
    "Permute": lambda operation, numbers: np.transpose(numbers, (0, *operation.dims)),
    "Transpose": lambda operation, numbers: np.transpose(numbers, operation.axes),
    "Swapaxes": lambda operation, numbers: np.swapaxes(numbers, operation.axis1, operation.axis2),
    "Moveaxis": lambda operation, numbers: np.moveaxis(numbers, operation.source, operation.destination),
    "Squeeze": lambda operation, numbers: np.squeeze(numbers, axes_of(operation.axis)),
    "ExpandDims": lambda operation, numbers: np.expand_dims(numbers, axes_of(operation.axis)),
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
    if len(given) == 3 and (len(shape) == 3 or numbers.size == math.prod(given)):
        move = arrangement(numbers.reshape(given) if len(shape) == 1 else numbers, given)  # a flatten keeps the order
        if move is not None:
            return move.nodes(call.name, call.inputs[0], given)
    advice = "channels can be put in another order, rows and columns exchanged, and blocks of both made of each other"
    raise call.refused(f"a reshape and transposition from {given} to {shape} that no operator does", advice)
