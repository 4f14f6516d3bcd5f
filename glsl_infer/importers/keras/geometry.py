"""Keras layers and operations that move pixels and channels -> nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from glsl_infer.graph import Node, Shape
from glsl_infer.importers.keras.call import Call
from glsl_infer.ops.channel_gather import ZERO


def cropping(call: Call) -> list[Node]:
    """Convert a Cropping2D."""
    call.require_channels_last()
    (top, bottom), (left, right) = call.layer.cropping
    height, width = call.shapes[0][:2]
    size = (height - int(top) - int(bottom), width - int(left) - int(right))
    return [call.node("spatial_slice", {"begin": (int(top), int(left)), "size": size, "strides": (1, 1)})]


def crop_images(call: Call) -> list[Node]:
    """Convert ``keras.ops.image.crop_images``."""
    call.require_channels_last()
    begin = _before(call, "cropping", -1)
    return [call.node("spatial_slice", {"begin": begin, "size": call.shape[:2], "strides": (1, 1)})]


def pad_images(call: Call) -> list[Node]:
    """Convert ``keras.ops.image.pad_images``."""
    call.require_channels_last()
    top, left = _before(call, "padding", 1)
    bottom, right = (made - size for made, size in zip(call.shape[:2], call.shapes[0]))
    return [call.node("zero_padding", {"padding": (top, bottom - top, left, right - left)})]


def _before(call: Call, kind: str, sign: int) -> tuple[int, int]:
    """Return the leading rows and columns that are added or removed. The options may only have the trailing ones."""
    counts = []
    for first, last, made, size in zip(("top", "left"), ("bottom", "right"), call.shape, call.shapes[0]):
        front, back = (getattr(call.layer, f"{side}_{kind}") for side in (first, last))
        counts.append(int(sign * (made - size) - back if front is None else front))
    return counts[0], counts[1]


def center_crop(call: Call) -> list[Node]:
    """Convert a CenterCrop to a size not larger than the input."""
    call.require_channels_last()
    (height, width), wanted = call.shapes[0][:2], (int(call.layer.height), int(call.layer.width))
    if wanted[0] > height or wanted[1] > width:
        raise call.refused(f"a crop of {height}x{width} pixels to {wanted[0]}x{wanted[1]}", "use layers.Resizing")
    begin = ((height - wanted[0]) // 2, (width - wanted[1]) // 2)
    return [call.node("spatial_slice", {"begin": begin, "size": wanted, "strides": (1, 1)})]


def permute(call: Call) -> list[Node]:
    """Convert a Permute of rows and columns."""
    return _transposed(call, tuple(int(axis) - 1 for axis in call.layer.dims))


def transpose(call: Call) -> list[Node]:
    """Convert ``keras.ops.transpose``."""
    axes = call.layer.axes
    if axes is None or axes[0] != 0:
        raise call.refused(f"a transposition to {axes}", "keep the batch as the first axis")
    return _transposed(call, tuple(int(axis) - 1 for axis in axes[1:]))


def _transposed(call: Call, axes: tuple[int, ...]) -> list[Node]:
    if axes == tuple(range(len(axes))):
        return [call.node("identity")]
    if axes != (1, 0, 2):
        raise call.refused(
            f"axes in the order {axes}", "rows and columns can be exchanged, channels stay the last axis"
        )
    return [call.node("transpose")]


def flip(call: Call) -> list[Node]:
    """Convert ``keras.ops.flip`` along rows, columns, channels or several of them."""
    axis = call.layer.axis
    axes = (
        {int(number) % 4 for number in (axis if isinstance(axis, (list, tuple)) else (axis,))}
        if axis is not None
        else {0}
    )
    if 0 in axes or len(call.shapes[0]) != 3:
        raise call.refused(f"a flip along axis {axis}", "rows (1), columns (2) and channels (3) can be flipped")
    parts = [range(size)[:: -1 if number in axes else 1] for number, size in enumerate(call.shapes[0], 1)]
    return _sliced(call, call.name, parts) or [call.node("identity")]


def get_item(call: Call) -> list[Node]:
    """Convert ``x[:, 1:-1, ::2, 4:8]``, and ``x[:, None, None, :]`` and ``x[:, 0, 0]`` between vectors and 1x1 maps."""
    key = index_of(call)
    given = call.shapes[0]
    entries = _entries(call, key)
    parts = [range(size)[part] for part, size in zip(entries, given)]
    if not all(parts):
        raise call.refused(f"an index {key} that leaves nothing", "take a pixel at least")
    shape = _shape_of(call, key, [len(part) for part in parts])
    nodes = _sliced(call, call.name, parts)
    if shape != tuple(len(part) for part in parts):
        before = nodes[-1].name if nodes else call.inputs[0]
        name = f"{call.name}-shape" if nodes else call.name
        nodes.append(Node(name, "reshape", (before,), {"shape": shape}))
    return nodes or [call.node("identity")]


def index_of(call: Call) -> tuple[Any, ...]:
    """Return the entries of the index of ``x[...]``. In a saved model they are in a list."""
    key = call.arguments[1]
    return tuple(key) if isinstance(key, (list, tuple)) else (key,)


def _sliced(call: Call, name: str, parts: Sequence[range]) -> list[Node]:
    """Return the nodes that slice rows, columns and channels of a map, or elements of a vector."""
    channels = parts[-1]
    whole = channels == range(call.shapes[0][-1])
    if len(parts) == 1:
        return [] if whole else [Node(name, "vector_gather", call.inputs, {"channels": tuple(channels)})]
    nodes: list[Node] = []
    rows, columns, _ = parts
    if (rows, columns) != tuple(map(range, call.shapes[0][:2])):
        attrs = {
            "begin": (rows.start, columns.start),
            "size": (len(rows), len(columns)),
            "strides": (rows.step, columns.step),
        }
        nodes.append(Node(name, "spatial_slice", call.inputs, attrs))
    if not whole:
        own = f"{name}-channels" if nodes else name
        inputs = (name,) if nodes else call.inputs
        nodes.append(Node(own, "channel_gather", inputs, {"channels": tuple(channels)}))
    return nodes


def _entries(call: Call, key: Sequence[Any]) -> list[slice]:
    """Return the slices of the axes after the batch. An integer becomes a slice of length 1."""
    full = list(_full(call, key))
    entries = [entry for entry in full if entry is not None]
    rank = len(call.shapes[0]) + 1
    if len(entries) != rank or any(not isinstance(entry, (slice, int)) for entry in entries) or full[0] is None:
        raise call.refused(f"an index {tuple(key)}", "give slices, such as x[:, 1:-1, ::2, :4], of a feature map")
    if entries[0] != slice(None):
        raise call.refused("an index into the batch", "begin it with ':'")
    return [entry if isinstance(entry, slice) else slice(entry, entry + 1 or None) for entry in entries[1:]]


def _full(call: Call, key: Sequence[Any]) -> list[Any]:
    """Return an index with an entry for every axis, and None for every new axis."""
    entries, rank = list(key), len(call.shapes[0]) + 1
    taken = sum(entry is not None and entry is not Ellipsis for entry in entries)
    places = [index for index, entry in enumerate(entries) if entry is Ellipsis]
    if places:
        entries[places[0] : places[0] + 1] = [slice(None)] * (rank - taken)
        return entries
    return entries + [slice(None)] * (rank - taken)


def _shape_of(call: Call, key: Sequence[Any], lengths: Sequence[int]) -> Shape:
    """Return the shape after integers have removed axes, and None has added some."""
    left, shape = iter(lengths), []
    for entry in _full(call, key)[1:]:
        if entry is None:
            shape.append(1)
            continue
        length = next(left)
        if isinstance(entry, slice):
            shape.append(length)
    if len(shape) not in (1, 3):
        raise call.refused(f"an index {tuple(key)}", "give slices, such as x[:, 1:-1, ::2, :4], of a feature map")
    return tuple(shape)


def split(call: Call) -> list[Node]:
    """Convert one output of ``keras.ops.split``."""
    given, sections = call.shapes[0], call.layer.indices_or_sections
    axis = int(call.layer.axis) % (len(given) + 1) - 1
    if axis < 0:
        raise call.refused("a split of the batch", "split rows, columns or channels")
    size = given[axis]
    if isinstance(sections, int):
        ends = [size // sections * number for number in range(sections + 1)]
    else:
        ends = [0, *(int(end) for end in sections), size]
    taken = slice(ends[call.output], ends[call.output + 1])
    parts = [range(length)[taken if place == axis else slice(None)] for place, length in enumerate(given)]
    return _sliced(call, call.name, parts) or [call.node("identity")]


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
    """Convert ``keras.ops.pad``: rows and columns by a constant, reflected or symmetric; channels by zeros."""
    widths, mode, value = padding_widths(call)
    if len(widths) != 4 or any(widths[0]):
        raise call.refused(f"padding of {call.layer.pad_width}", "rows, columns and channels can be padded")
    if any(widths[3]) and (mode != "constant" or value):
        raise call.refused(f"padding of channels by '{mode}', with {value:g}", "channels can be padded with zeros")
    padding = (*widths[1], *widths[2])
    if mode != "constant":
        return [call.node("mirror_padding", {"padding": padding, "mode": mode})]
    if not any(widths[3]):
        return [call.node("constant_padding", {"padding": padding, "value": value})] if value else _zeros(call, padding)
    before, after = widths[3]
    channels = (*[ZERO] * before, *range(call.shapes[0][2]), *[ZERO] * after)
    if not any(padding):
        return [call.node("channel_gather", {"channels": channels})]
    nodes = _zeros(call, padding)
    return [*nodes, Node(f"{call.name}-channels", "channel_gather", (nodes[-1].name,), {"channels": channels})]


def _zeros(call: Call, padding: tuple[int, ...]) -> list[Node]:
    return [call.node("zero_padding", {"padding": padding})]


def space_to_depth(call: Call) -> list[Node]:
    """Convert a space to depth. The channels of each phase of pixels are consecutive."""
    call.require_channels_last()
    block = int(call.layer.block_size)
    height, width, _ = call.shapes[0]
    if height % block or width % block:
        raise call.refused(f"blocks of {block}x{block} in {height}x{width} pixels", "make both a multiple of the block")
    return space_to_depth_nodes(call, block)


def space_to_depth_nodes(call: Call, block: int) -> list[Node]:
    """Return the nodes that move the pixels of every block to the channels of one pixel, phase by phase."""
    height, width, _ = call.shapes[0]
    size = (height // block, width // block)
    nodes: list[Node] = []
    for y in range(block):
        for x in range(block):
            attrs = {"begin": (y, x), "size": size, "strides": (block, block)}
            nodes.append(Node(f"{call.name}-{y}-{x}" if nodes else call.name, "spatial_slice", call.inputs, attrs))
    return [*nodes, Node(f"{call.name}-joined", "concat", tuple(node.name for node in nodes))]


def global_max_pool(call: Call) -> list[Node]:
    """Convert a GlobalMaxPooling2D: the maximum of each column over its rows, then over the columns."""
    call.require_channels_last()
    height, width = call.shapes[0][:2]
    once = {"strides": (1, 1), "padding": (0, 0, 0, 0)}
    rows = call.node("max_pool", {**once, "pool": (height, 1)})
    whole = Node(f"{call.name}-columns", "max_pool", (call.name,), {**once, "pool": (1, width)})
    if call.layer.keepdims:
        return [rows, whole]
    return [rows, whole, Node(f"{call.name}-vector", "flatten", (whole.name,), {"scale": None})]
