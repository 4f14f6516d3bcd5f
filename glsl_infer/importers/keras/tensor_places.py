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
from glsl_infer.importers.core.moves import placed as in_places
from glsl_infer.importers.core.pooling import pooled
from glsl_infer.importers.keras import geometry
from glsl_infer.importers.keras.call import Call, Converter, array, is_tensor
from glsl_infer.importers.keras.elementwise import by, chain_of
from glsl_infer.importers.keras.geometry import slice_
from glsl_infer.ops.constant_map import constant_map

MOST_INDICES = 1 << 22
"""Largest number of elements that are gathered by index: the bundle stores all indices."""

Numbers = NDArray[np.int64]


def moved(move: Callable[[Call, Numbers], Numbers]) -> Converter:
    """Return the converter of an operation with the effect of ``move`` on indices. Their first axis is the batch."""

    def convert(call: Call) -> list[Node]:
        shape = call.shapes[0]
        numbers = np.arange(math.prod(shape)).reshape(1, *shape)
        try:
            result = move(call, numbers)
        except (ValueError, TypeError, IndexError) as error:
            raise call.refused(f"{type(call.layer).__name__}: {error}", "check its inputs") from None
        if len(result) != 1:
            raise call.refused("a change of the batch", "keep the batch as it is, the first axis")
        return placed(call, result[0])

    return convert


def placed(call: Call, numbers: Numbers) -> list[Node]:
    """Return the nodes that gather elements of the first input by flat indices."""
    if numbers.size > MOST_INDICES:
        raise call.refused(f"{numbers.size} numbers in other places", f"give it at most {MOST_INDICES}")
    return in_places(call.name, call.inputs[0], call.shapes[0], numbers)


def _roll(call: Call, numbers: Numbers) -> Numbers:
    layer = call.layer
    if layer.axis is None:
        raise ValueError("it has no axis")
    return np.roll(numbers, layer.shift, layer.axis)


def _repeat(call: Call, numbers: Numbers) -> Numbers:
    if call.layer.axis is None:
        raise ValueError("it has no axis")
    return np.repeat(numbers, np.asarray(call.layer.repeats), call.layer.axis)


def _take(call: Call, numbers: Numbers) -> Numbers:
    indices, over = call.arguments[1], call.layer.axis
    if is_tensor(indices):
        raise ValueError("its indices are computed by the network; use keras.ops.take_along_axis")
    if over is None:
        raise ValueError("it has no axis")
    selected: Numbers = np.take(numbers, np.asarray(array(indices), np.int64), over)
    return selected


def _unstack(call: Call, numbers: Numbers) -> Numbers:
    selected: Numbers = np.take(numbers, call.output, call.layer.axis)
    return selected


def _rotated(call: Call, numbers: Numbers) -> Numbers:
    return np.rot90(numbers, call.layer.k, tuple(call.layer.axes))


def _stack(call: Call) -> list[Node]:
    rank = len(call.shape) + 1
    over = call.layer.axis % rank - 1
    if over < 0:
        raise call.refused("a stack of batches", "give another axis than the first")
    shape = call.shapes[0]
    longer = (*shape[:over], 1, *shape[over:])
    if len(call.inputs) != len(call.arguments[0] if len(call.arguments) == 1 else call.arguments):
        raise call.refused("a stack with constants in it", "give it tensors of the model")
    return emit.stacked(call.name, call.inputs, longer, over)


def _take_along(call: Call) -> list[Node]:
    table, indices = call.arguments[:2]
    over = call.axis(call.layer.axis)
    if is_tensor(table) and is_tensor(indices):
        source_shape, indices_shape = call.shapes
        if [size for index, size in enumerate(source_shape) if index != over] == [
            size for index, size in enumerate(indices_shape) if index != over
        ]:
            return [call.node("gather_elements", {"axis": over})]
        return _taken_along(call, over)
    if not is_tensor(table):
        raise call.refused("numbers of a constant", "give it a tensor of the model")
    numbers, source_shape = array(indices), call.shapes[0]
    if numbers.shape[0] != 1:
        raise call.refused(f"indices of shape {numbers.shape}", "give them a batch of 1")
    result_shape = tuple(numbers.shape[index + 1] if index == over else size for index, size in enumerate(source_shape))
    return [call.node("gather_elements", {"axis": over}, indices=np.broadcast_to(numbers[0], result_shape))]


def _taken_along(call: Call, over: int) -> list[Node]:
    """Return the nodes of a take with broadcast indices, such as rows of a table by indices of one column."""
    nodes, names = [], []
    for name, own_shape, other in zip(call.inputs, call.shapes, reversed(call.shapes)):
        full_shape = tuple(size if index == over else max(size, other[index]) for index, size in enumerate(own_shape))
        if full_shape == own_shape:
            names.append(name)
            continue
        numbers = np.broadcast_to(np.arange(math.prod(own_shape)).reshape(own_shape), full_shape)
        own = f"{call.name}-{'table' if name is call.inputs[0] else 'indices'}"
        nodes += in_places(own, name, own_shape, numbers)
        names.append(nodes[-1].name)
    return [*nodes, Node(f"{call.name}-taken", "gather_elements", tuple(names), {"axis": over})]


def cut(call: Call, places: Numbers) -> list[Node]:
    """Return the nodes of a slice of every axis, and a reshape. ``places`` are indices of the input, with a batch."""
    numbers = places[0]
    if not numbers.size:
        raise call.refused("an index that leaves nothing", "take a number at least")
    indices = [np.unique(part) for part in np.unravel_index(numbers.reshape(-1), call.shapes[0])]
    lines = [_line(part) for part in indices]
    if math.prod(map(len, indices)) == numbers.size and all(lines):
        begin, strides = zip(*(line for line in lines if line))
        size = tuple(map(len, indices))
        all_indices = np.arange(math.prod(call.shapes[0])).reshape(call.shapes[0])
        block = all_indices[tuple(slice(int(part[0]), int(part[-1]) + 1, step) for part, step in zip(indices, strides))]
        if np.array_equal(block.reshape(-1), numbers.reshape(-1)):
            node = call.node("tensor_slice", {"begin": begin, "size": size, "strides": strides})
            if size == numbers.shape:
                return [node]
            return [node, Node(f"{call.name}-shape", "tensor_reshape", (call.name,), {"shape": numbers.shape})]
    return placed(call, numbers)


def _line(part: Numbers) -> tuple[int, int] | None:
    """Return (begin, step) of equidistant indices; else None."""
    step = int(part[1] - part[0]) if len(part) > 1 else 1
    return (int(part[0]), step) if np.array_equal(part, part[0] + step * np.arange(len(part))) else None


def _sections(call: Call, numbers: Numbers) -> Numbers:
    sections = call.layer.indices_or_sections
    boundaries = int(sections) if isinstance(sections, int) else [int(end) for end in sections]
    return np.split(numbers, boundaries, call.layer.axis)[call.output]


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
    numbers = np.arange(math.prod(call.shapes[0])).reshape(call.shapes[0])
    for axis, ranges in enumerate(windows):
        longest = range(max(map(len, ranges)))
        windowed = np.array([[part[min(index, len(part) - 1)] for index in longest] for part in ranges])
        numbers = np.take(numbers, windowed, 2 * axis)
    nodes = placed(call, numbers)
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


MOVES: Mapping[str, Callable[[Call, Numbers], Numbers]] = {
    "Flip": lambda call, numbers: np.flip(numbers, call.layer.axis),
    "GetItem": lambda call, numbers: numbers[geometry.index_of(call)],
    "Moveaxis": lambda call, numbers: np.moveaxis(numbers, call.layer.source, call.layer.destination),
    "Repeat": _repeat,
    "Roll": _roll,
    "Rot90": _rotated,
    "Split": _sections,
    "Swapaxes": lambda call, numbers: np.swapaxes(numbers, call.layer.axis1, call.layer.axis2),
    "Take": _take,
    "Tile": lambda call, numbers: np.tile(numbers, call.layer.repeats),
    "Unstack": _unstack,
}
"""Effect of operations on indices whose first axis is the batch, by class name."""

OPERATIONS: Mapping[str, Converter] = {
    **{kind: moved(MOVES[kind]) for kind in ("Repeat", "Roll", "Rot90", "Take", "Tile")},
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
    numbers = np.arange(height * width * channels).reshape(height, width, channels)
    rows, columns = (start[:, None] + offset for start, offset in zip(starts, inside))
    patches = numbers[rows[:, None, :, None], columns[None, :, None, :]]
    shape = (*patches.shape[:2], math.prod(patches.shape[2:]))
    padded = replace(call, inputs=(name,), shapes=((height, width, channels),))
    return [*nodes, *placed(padded, patches.reshape(shape))]


FILLS: Mapping[str, Converter] = {
    "FullLike": _filled(lambda call: call.arguments[1]),
    "OnesLike": _filled(lambda call: 1.0),
    "ZerosLike": _filled(lambda call: 0.0),
}
"""Converters by class name, for tensors of any rank."""

ON_CPU: Mapping[str, Converter] = {
    **FILLS,
    "BroadcastTo": moved(lambda call, numbers: np.broadcast_to(numbers, _broadcast_shape(call))),
    "ExtractPatches": _patches,
    "Slice": slice_,
}
"""Converters to nodes for the CPU, by class name."""
