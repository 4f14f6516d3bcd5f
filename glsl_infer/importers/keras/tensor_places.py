"""Converters of operations that move, fill or broadcast values in tensors of any rank, and of adaptive pooling."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glsl_infer.graph import Node
from glsl_infer.importers.core import emit
from glsl_infer.importers.core.convolutions import Window
from glsl_infer.importers.core.moves import gathered as gathered_nodes
from glsl_infer.importers.core.pooling import pooled
from glsl_infer.importers.keras import geometry
from glsl_infer.importers.keras.call import Call, Converter, array, is_tensor
from glsl_infer.importers.keras.elementwise import by, chain_of
from glsl_infer.importers.keras.geometry import slice_
from glsl_infer.ops.constant_map import constant_map

MOST_INDICES = 1 << 22
"""Largest number of elements that are gathered by index: the bundle stores all indices."""

Indices = NDArray[np.int64]
"""Flat indices of elements of an operation's first input, in the shape of its result."""

Move = Callable[[Call, Indices], Indices]
"""Effect of an operation on indices, with the batch as the first axis."""


def move_converter(move: Move) -> Converter:
    """Return the converter of an operation that only moves values."""

    def convert(call: Call) -> list[Node]:
        shape = call.shapes[0]
        indices = np.arange(math.prod(shape)).reshape(1, *shape)
        try:
            result = move(call, indices)
        except (ValueError, TypeError, IndexError) as error:
            raise call.refused(f"{type(call.layer).__name__}: {error}", "check its inputs") from None
        if len(result) != 1:
            raise call.refused("a change of the batch", "keep the batch as it is, the first axis")
        return gathered(call, result[0])

    return convert


def gathered(call: Call, indices: Indices) -> list[Node]:
    """Return the nodes that gather elements of the first input by flat indices."""
    if indices.size > MOST_INDICES:
        raise call.refused(f"{indices.size} numbers in other places", f"give it at most {MOST_INDICES}")
    return gathered_nodes(call.name, call.inputs[0], call.shapes[0], indices)


def _roll(call: Call, indices: Indices) -> Indices:
    layer = call.layer
    if layer.axis is None:
        raise ValueError("it has no axis")
    return np.roll(indices, layer.shift, layer.axis)


def _repeat(call: Call, indices: Indices) -> Indices:
    if call.layer.axis is None:
        raise ValueError("it has no axis")
    return np.repeat(indices, np.asarray(call.layer.repeats), call.layer.axis)


def _take(call: Call, indices: Indices) -> Indices:
    selection, axis = call.arguments[1], call.layer.axis
    if is_tensor(selection):
        raise ValueError("its indices are computed by the network; use keras.ops.take_along_axis")
    if axis is None:
        raise ValueError("it has no axis")
    result: Indices = np.take(indices, np.asarray(array(selection), np.int64), axis)
    return result


def _unstack(call: Call, indices: Indices) -> Indices:
    result: Indices = np.take(indices, call.output, call.layer.axis)
    return result


def _rotated(call: Call, indices: Indices) -> Indices:
    return np.rot90(indices, call.layer.k, tuple(call.layer.axes))


def _stack(call: Call) -> list[Node]:
    rank = len(call.shape) + 1
    axis = call.layer.axis % rank - 1
    if axis < 0:
        raise call.refused("a stack of batches", "give another axis than the first")
    shape = call.shapes[0]
    with_axis = (*shape[:axis], 1, *shape[axis:])
    if len(call.inputs) != len(call.arguments[0] if len(call.arguments) == 1 else call.arguments):
        raise call.refused("a stack with constants in it", "give it tensors of the model")
    return emit.stacked(call.name, call.inputs, with_axis, axis)


def _take_along(call: Call) -> list[Node]:
    table, indices = call.arguments[:2]
    axis = call.axis(call.layer.axis)
    if is_tensor(table) and is_tensor(indices):
        if _without_axis(call.shapes[0], axis) == _without_axis(call.shapes[1], axis):
            return [call.node("gather_elements", {"axis": axis})]
        return _take_along_broadcast(call, axis)
    if not is_tensor(table):
        raise call.refused("numbers of a constant", "give it a tensor of the model")
    constant, table_shape = array(indices), call.shapes[0]
    if constant.shape[0] != 1:
        raise call.refused(f"indices of shape {constant.shape}", "give them a batch of 1")
    result_shape = (*table_shape[:axis], constant.shape[axis + 1], *table_shape[axis + 1 :])
    return [call.node("gather_elements", {"axis": axis}, indices=np.broadcast_to(constant[0], result_shape))]


def _without_axis(shape: Sequence[int], axis: int) -> list[int]:
    return [*shape[:axis], *shape[axis + 1 :]]


def _take_along_broadcast(call: Call, axis: int) -> list[Node]:
    """Return the nodes of a take with broadcast indices, such as rows of a table by indices of one column."""
    nodes, names = [], []
    for name, own_shape, other_shape in zip(call.inputs, call.shapes, reversed(call.shapes)):
        full_shape = tuple(
            own if index == axis else max(own, other) for index, (own, other) in enumerate(zip(own_shape, other_shape))
        )
        if full_shape == own_shape:
            names.append(name)
            continue
        indices = np.broadcast_to(np.arange(math.prod(own_shape)).reshape(own_shape), full_shape)
        operand = "table" if name is call.inputs[0] else "indices"
        nodes += gathered_nodes(f"{call.name}-{operand}", name, own_shape, indices)
        names.append(nodes[-1].name)
    return [*nodes, Node(f"{call.name}-taken", "gather_elements", tuple(names), {"axis": axis})]


def sliced(call: Call, batch_of_indices: Indices) -> list[Node]:
    """Return the nodes of a slice of every axis and a reshape, or of another gather if it is not a slice.

    Args:
        call: the operation.
        batch_of_indices: flat indices of the input, with a batch of 1.
    """
    indices = batch_of_indices[0]
    if not indices.size:
        raise call.refused("an index with an empty result", "keep at least one element")
    shape = call.shapes[0]
    axis_indices = [np.unique(along_axis) for along_axis in np.unravel_index(indices.reshape(-1), shape)]
    lines = [line for line in map(_line, axis_indices) if line is not None]
    size = tuple(map(len, axis_indices))
    if math.prod(size) != indices.size or len(lines) != len(axis_indices):
        return gathered(call, indices)
    begin, strides = zip(*lines)
    slices = tuple(slice(int(along[0]), int(along[-1]) + 1, step) for along, step in zip(axis_indices, strides))
    block = np.arange(math.prod(shape)).reshape(shape)[slices]
    if not np.array_equal(block.reshape(-1), indices.reshape(-1)):
        return gathered(call, indices)
    node = call.node("tensor_slice", {"begin": begin, "size": size, "strides": strides})
    if size == indices.shape:
        return [node]
    return [node, Node(f"{call.name}-shape", "tensor_reshape", (call.name,), {"shape": indices.shape})]


def _line(indices: Indices) -> tuple[int, int] | None:
    """Return (begin, step) of equidistant indices; else None."""
    step = int(indices[1] - indices[0]) if len(indices) > 1 else 1
    is_line = np.array_equal(indices, indices[0] + step * np.arange(len(indices)))
    return (int(indices[0]), step) if is_line else None


def _sections(call: Call, indices: Indices) -> Indices:
    sections = call.layer.indices_or_sections
    boundaries = int(sections) if isinstance(sections, int) else [int(end) for end in sections]
    return np.split(indices, boundaries, call.layer.axis)[call.output]


def adaptive(reduction: str) -> Converter:
    """Return the converter of a pooling of a map or a sequence to a given size. Windows can overlap and differ."""

    def convert(call: Call) -> list[Node]:
        call.require_channels_last()
        (*sizes, _), counts, source = call.shapes[0], call.shape[:-1], call.inputs[0]
        if len(sizes) == 2 and not any(size % count for size, count in zip(sizes, counts)):
            size = (sizes[0] // counts[0], sizes[1] // counts[1])
            op = "average_pool" if reduction == "mean" else "max_pool"
            return pooled(call.name, source, call.shapes[0], op, Window(size, size))
        windows = [_windows(size, count) for size, count in zip(sizes, counts)]
        return _largest(call, windows) if reduction == "max" else _means(call, windows)

    return convert


def _windows(size: int, count: int) -> list[range]:
    return [range(index * size // count, -(-(index + 1) * size // count)) for index in range(count)]


def _largest(call: Call, windows: Sequence[Sequence[range]]) -> list[Node]:
    """Gather the values of every window, with the last repeated in short windows, and reduce them to the maximum."""
    indices = np.arange(math.prod(call.shapes[0])).reshape(call.shapes[0])
    for axis, ranges in enumerate(windows):
        longest = range(max(map(len, ranges)))
        windowed = np.array([[window[min(index, len(window) - 1)] for index in longest] for window in ranges])
        indices = np.take(indices, windowed, 2 * axis)
    nodes = gathered(call, indices)
    attrs = {"reduction": "max", "axes": tuple(range(1, 2 * len(windows), 2)), "keep": False}
    return [*nodes, Node(f"{call.name}-largest", "tensor_reduce", (nodes[-1].name,), attrs)]


def _means(call: Call, windows: Sequence[Sequence[range]]) -> list[Node]:
    """Multiply each axis but the channels by a matrix with the weight of each index in every window."""
    chain, order = chain_of(call), (*range(1, len(windows) + 1), 0)  # each axis is last once
    for ranges, size in zip(windows, call.shapes[0]):
        matrix = np.zeros((size, len(ranges)))
        for index, window in enumerate(ranges):
            matrix[window.start : window.stop, index] = 1.0 / len(window)
        chain.add("tensor_transpose", part="last", axes=order)
        chain.add("linear", part="means", weights={"kernel": matrix})
    chain.add("tensor_transpose", part="back", axes=order)
    return chain.nodes


MOVES: Mapping[str, Move] = {
    "Flip": lambda call, indices: np.flip(indices, call.layer.axis),
    "GetItem": lambda call, indices: indices[geometry.index_of(call)],
    "Moveaxis": lambda call, indices: np.moveaxis(indices, call.layer.source, call.layer.destination),
    "Repeat": _repeat,
    "Roll": _roll,
    "Rot90": _rotated,
    "Split": _sections,
    "Swapaxes": lambda call, indices: np.swapaxes(indices, call.layer.axis1, call.layer.axis2),
    "Take": _take,
    "Tile": lambda call, indices: np.tile(indices, call.layer.repeats),
    "Unstack": _unstack,
}
"""Moves by class name."""

OPERATIONS: Mapping[str, Converter] = {
    **{kind: move_converter(MOVES[kind]) for kind in ("Repeat", "Roll", "Rot90", "Take", "Tile")},
    "Moveaxis": geometry.transpose,
    "Stack": _stack,
    "Swapaxes": geometry.transpose,
    "TakeAlongAxis": _take_along,
    "Unstack": geometry.split,
}
"""Converters by class name."""

LAYERS: Mapping[str, Converter] = {
    "AdaptiveAveragePooling1D": adaptive("mean"),
    "AdaptiveAveragePooling2D": adaptive("mean"),
    "AdaptiveMaxPooling1D": adaptive("max"),
    "AdaptiveMaxPooling2D": adaptive("max"),
}
"""Converters of layers by class name."""


def _filled(value: Callable[[Call], Any]) -> Converter:
    """Return the converter of an operation whose result has the input's shape and one value everywhere."""

    def convert(call: Call) -> list[Node]:
        constant = value(call)
        if is_tensor(constant) or np.size(constant) != 1:
            raise call.refused("a fill by numbers that the network computes", "give it one number")
        number = float(np.asarray(constant).reshape(-1)[0])
        if len(call.shapes[0]) == 3:
            return [constant_map(call.name, np.full(call.shapes[0], number))]
        chain = chain_of(call)
        by(chain, "multiply", 0.0)
        return by(chain, "add", number) if number else chain.nodes

    return convert


def _broadcast_shape(call: Call) -> tuple[int, ...]:
    batch, *others = call.layer.shape
    if batch not in (1, -1, None):
        raise call.refused(f"a shape of {tuple(call.layer.shape)}", "keep the batch as the first axis, of 1")
    return (1, *(int(size) for size in others))


def _patches(call: Call) -> list[Node]:
    """Convert ``keras.ops.image.extract_patches``: each pixel of the result has the values of a window."""
    layer = call.layer
    if len(call.shapes[0]) != 3 or len(layer.size) != 2:
        raise call.refused(
            f"patches of an input of {call.shapes[0]}", "give it a feature map, and size=(height, width)"
        )
    call.require_channels_last()
    window, (height, width, channels) = call.window(layer.size), call.shapes[0]
    around, name, nodes = window.padding, call.inputs[0], list[Node]()
    if any(around):
        name = f"{call.name}-padded"
        nodes.append(
            Node(name, "tensor_pad", call.inputs, {"padding": (*around, 0, 0), "mode": "constant", "value": 0})
        )
        height, width = height + around[0] + around[1], width + around[2] + around[3]
    inside = [np.arange(length) * step for length, step in zip(window.size, window.dilations)]
    starts = [
        np.arange(0, length - taps[-1], step) for length, taps, step in zip((height, width), inside, window.strides)
    ]
    indices = np.arange(height * width * channels).reshape(height, width, channels)
    rows, columns = (start[:, None] + offset for start, offset in zip(starts, inside))
    patches = indices[rows[:, None, :, None], columns[None, :, None, :]]
    shape = (*patches.shape[:2], math.prod(patches.shape[2:]))
    padded = replace(call, inputs=(name,), shapes=((height, width, channels),))
    return [*nodes, *gathered(padded, patches.reshape(shape))]


FILLS: Mapping[str, Converter] = {
    "FullLike": _filled(lambda call: call.arguments[1]),
    "OnesLike": _filled(lambda call: 1.0),
    "ZerosLike": _filled(lambda call: 0.0),
}
"""Converters by class name, for tensors of any rank."""

ON_CPU: Mapping[str, Converter] = {
    **FILLS,
    "BroadcastTo": move_converter(lambda call, indices: np.broadcast_to(indices, _broadcast_shape(call))),
    "ExtractPatches": _patches,
    "Slice": slice_,
}
"""Converters to nodes for the CPU, by class name."""
