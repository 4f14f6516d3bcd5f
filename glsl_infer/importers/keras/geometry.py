"""Converters of Keras layers and operations that move pixels and channels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from glsl_infer.graph import Node, Shape
from glsl_infer.importers.core import emit, moves
from glsl_infer.importers.keras.call import Call, Converter


def _cropped(call: Call, begin: tuple[int, int], size: Sequence[int]) -> list[Node]:
    """Return the nodes of a crop from a first (row, column) to a size (rows, columns)."""
    call.require_channels_last()
    parts = [range(first, first + count) for first, count in zip(begin, size)]
    return emit.sliced(call.name, call.inputs[0], call.shapes[0], [*parts, range(call.shapes[0][2])])


def cropping(call: Call) -> list[Node]:
    """Convert a Cropping2D."""
    (top, bottom), (left, right) = call.layer.cropping
    height, width = call.shapes[0][:2]
    return _cropped(call, (int(top), int(left)), (height - int(top) - int(bottom), width - int(left) - int(right)))


def crop_images(call: Call) -> list[Node]:
    """Convert ``keras.ops.image.crop_images``."""
    return _cropped(call, _before(call, "cropping", -1), call.shape[:2])


def pad_images(call: Call) -> list[Node]:
    """Convert ``keras.ops.image.pad_images``."""
    call.require_channels_last()
    top, left = _before(call, "padding", 1)
    bottom, right = (padded - size for padded, size in zip(call.shape[:2], call.shapes[0]))
    return [call.node("zero_padding", {"padding": (top, bottom - top, left, right - left)})]


def _before(call: Call, kind: str, sign: int) -> tuple[int, int]:
    """Return the leading rows and columns that are added or removed. The options may only have the trailing ones."""
    counts = []
    for first, last, padded, size in zip(("top", "left"), ("bottom", "right"), call.shape, call.shapes[0]):
        front, back = (getattr(call.layer, f"{side}_{kind}") for side in (first, last))
        counts.append(int(sign * (padded - size) - back if front is None else front))
    return counts[0], counts[1]


def center_crop(call: Call) -> list[Node]:
    """Convert a CenterCrop to a size not larger than the input."""
    (height, width), size = call.shapes[0][:2], (int(call.layer.height), int(call.layer.width))
    if size[0] > height or size[1] > width:
        raise call.refused(f"a crop of {height}x{width} pixels to {size[0]}x{size[1]}", "use layers.Resizing")
    return _cropped(call, ((height - size[0]) // 2, (width - size[1]) // 2), size)


def order_of(operation: Any, rank: int) -> tuple[int, ...] | None:
    """Return the order of axes after a transposition, including the batch axis; None for other operations."""
    order = np.arange(rank)
    kind = type(operation).__name__
    if kind == "Permute":
        return (0, *(int(axis) for axis in operation.dims))
    if kind == "Transpose":
        return tuple(int(axis) % rank for axis in (operation.axes or order[::-1]))
    if kind == "Swapaxes":
        order[[operation.axis1, operation.axis2]] = order[[operation.axis2, operation.axis1]]
        return tuple(order.tolist())
    if kind == "Moveaxis":
        sizes = np.empty(tuple(range(2, rank + 2)), np.int8)
        return tuple(size - 2 for size in np.moveaxis(sizes, operation.source, operation.destination).shape)
    return None


def transpose(call: Call) -> list[Node]:
    """Convert an operation that exchanges axes."""
    order = order_of(call.layer, len(call.shapes[0]) + 1)
    if order is None or order[0] != 0:
        raise call.refused(f"a transposition to {order}", "keep the batch as the first axis")
    return emit.transposed(call.name, call.inputs[0], call.shapes[0], [axis - 1 for axis in order[1:]])


def flip(call: Call) -> list[Node]:
    """Convert ``keras.ops.flip``."""
    axes = call.axes(call.layer.axis)
    return _sliced(call, [range(size)[:: -1 if axis in axes else 1] for axis, size in enumerate(call.shapes[0])])


def get_item(call: Call) -> list[Node]:
    """Convert ``x[:, 1:-1, ::2, None, 3]``."""
    key = index_of(call)
    parts = [range(size)[part] for part, size in zip(_slices_of(call, key), call.shapes[0])]
    return _sliced(call, parts, _shape_of(call, key, list(map(len, parts))))


def differences(call: Call) -> list[Node]:
    """Convert differences of neighbours along an axis, taken ``n`` times."""
    axis, times = call.axis(call.layer.axis), int(call.layer.n)
    shape, source = list(call.shapes[0]), call.inputs[0]
    if not 1 <= times < shape[axis]:
        raise call.refused(f"{times} differences along {shape[axis]} values", "take fewer, and at least one")
    nodes: list[Node] = []
    for time in range(times):
        name = f"{call.name}-{time}" if time else call.name
        later, earlier = ([range(size) for size in shape] for _ in range(2))
        later[axis], earlier[axis] = range(1, shape[axis]), range(shape[axis] - 1)
        nodes += (minuend := emit.sliced(name, source, tuple(shape), later))
        nodes += (subtrahend := emit.sliced(f"{name}-before", source, tuple(shape), earlier))
        shape[axis] -= 1
        sources = (minuend[-1].name, subtrahend[-1].name)
        nodes.append(emit.two(f"{name}-difference", "subtract", sources, [tuple(shape)] * 2))
        source = nodes[-1].name
    return nodes


def _sliced(call: Call, parts: Sequence[range], shape: Shape | None = None) -> list[Node]:
    """Return the nodes of a slice, which must not be empty, as for ``emit.sliced``."""
    if not all(parts):
        raise call.refused("an index with an empty result", "keep at least one element")
    return emit.sliced(call.name, call.inputs[0], call.shapes[0], parts, shape)


def index_of(call: Call) -> tuple[Any, ...]:
    """Return the entries of the index of ``x[...]``. In a saved model they are in a list."""
    key = call.arguments[1]
    return tuple(key) if isinstance(key, (list, tuple)) else (key,)


def _slices_of(call: Call, key: Sequence[Any]) -> list[slice]:
    """Return the slices of the axes after the batch. An integer becomes a slice of length 1."""
    indices = _indices_of_axes(call, key)
    old_axes = [index for index in indices if index is not None]
    rank = len(call.shapes[0]) + 1
    if len(old_axes) != rank or any(not isinstance(index, (slice, int)) for index in old_axes) or indices[0] is None:
        raise call.refused(f"an index {tuple(key)}", "give slices and numbers, such as x[:, 1:-1, ::2, 3]")
    if old_axes[0] != slice(None):
        raise call.refused(f"an index {tuple(key)}", "give slices and numbers, and ':' for the batch")
    return [index if isinstance(index, slice) else slice(index, index + 1 or None) for index in old_axes[1:]]


def _indices_of_axes(call: Call, key: Sequence[Any]) -> list[Any]:
    """Return the index of every axis, and None for every new axis."""
    rank = len(call.shapes[0]) + 1
    indexed = sum(index is not None and index is not Ellipsis for index in key)
    missing = [slice(None)] * (rank - indexed)
    for position, index in enumerate(key):
        if index is Ellipsis:
            return [*key[:position], *missing, *key[position + 1 :]]
    return [*key, *missing]


def _shape_of(call: Call, key: Sequence[Any], lengths: Sequence[int]) -> Shape:
    """Return the shape after integers have removed axes, and None has added some."""
    remaining_lengths, shape = iter(lengths), []
    for index in _indices_of_axes(call, key)[1:]:
        if index is None:
            shape.append(1)
            continue
        length = next(remaining_lengths)
        if isinstance(index, slice):
            shape.append(length)
    return tuple(shape)


def split(call: Call) -> list[Node]:
    """Convert one output of ``keras.ops.split``, or of ``keras.ops.unstack``."""
    axis, shape = call.axis(call.layer.axis), call.shapes[0]
    if type(call.layer).__name__ == "Unstack":
        boundaries, result = list(range(shape[axis] + 1)), (*shape[:axis], *shape[axis + 1 :])
    else:
        sections, result = call.layer.indices_or_sections, None
        if isinstance(sections, int):
            boundaries = [shape[axis] // sections * section for section in range(sections + 1)]
        else:
            boundaries = [0, *(int(end) for end in sections), shape[axis]]
    parts = [range(length) for length in shape]
    parts[axis] = parts[axis][boundaries[call.output] : boundaries[call.output + 1]]
    return _sliced(call, parts, result)


def slice_(call: Call) -> list[Node]:
    """Convert ``keras.ops.slice`` from constant positions."""
    starts, sizes = [int(start) for start in np.asarray(call.arguments[1]).reshape(-1)], call.layer.shape
    if starts[0] != 0 or len(starts) != len(call.shapes[0]) + 1:
        raise call.refused(f"a slice from {starts} on", "keep the batch as it is, the first axis")
    return _sliced(
        call,
        [
            range(length)[start : None if size < 0 else start + int(size)]
            for start, size, length in zip(starts[1:], sizes[1:], call.shapes[0])
        ],
    )


def padding_widths(call: Call) -> tuple[list[tuple[int, ...]], str, float]:
    """Return the options of ``keras.ops.pad``: (before, after) of each axis, the mode and the value."""
    layer, rank = call.layer, len(call.shapes[0]) + 1
    widths = [tuple(int(count) for count in pair) for pair in layer._process_pad_width(layer.pad_width)]
    value = call.arguments[1] if len(call.arguments) > 1 else None
    widths = widths * rank if len(widths) == 1 else widths
    if len(widths) != rank:
        raise call.refused(f"padding of {layer.pad_width}", f"give (before, after) of each of the {rank} axes")
    return widths, str(layer.mode), 0.0 if value is None else float(value)


def pad(call: Call) -> list[Node]:
    """Convert ``keras.ops.pad``."""
    widths, mode, value = padding_widths(call)
    if any(widths[0]):
        raise call.refused(f"padding of {call.layer.pad_width}", "leave the batch as it is")
    return emit.padded(call.name, call.inputs[0], call.shapes[0], widths[1:], mode, value)


def space_to_depth(call: Call) -> list[Node]:
    """Convert a space to depth. The channels of each phase of pixels are consecutive."""
    call.require_channels_last()
    block, (height, width, _) = int(call.layer.block_size), call.shapes[0]
    if height % block or width % block:
        raise call.refused(f"blocks of {block}x{block} in {height}x{width} pixels", "make both a multiple of the block")
    return moves.space_to_depth(call.name, call.inputs[0], call.shapes[0], (block, block))


def global_pool(kind: str) -> Converter:
    """Return the converter of a GlobalMaxPooling2D or a GlobalAveragePooling2D."""

    def convert(call: Call) -> list[Node]:
        call.require_channels_last()
        keep = bool(call.layer.keepdims)
        return emit.reduced(call.name, call.inputs[0], call.shapes[0], kind, (0, 1), keep=keep)

    return convert
