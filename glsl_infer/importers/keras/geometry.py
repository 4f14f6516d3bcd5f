"""Keras layers and operations that move pixels and channels -> nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from glsl_infer.graph import Node
from glsl_infer.importers.keras.call import Call
from glsl_infer.importers.shared import pixels

_METHODS = {"nearest": "nearest", "bilinear": "bilinear"}


def cropping(call: Call) -> list[Node]:
    """Convert a Cropping2D."""
    call.require_channels_last()
    (top, bottom), (left, right) = call.layer.cropping
    height, width = call.shapes[0][:2]
    size = (height - int(top) - int(bottom), width - int(left) - int(right))
    return [call.node("spatial_slice", {"begin": (int(top), int(left)), "size": size, "strides": (1, 1)})]


def center_crop(call: Call) -> list[Node]:
    """Convert a CenterCrop to a size that is not larger than the input."""
    call.require_channels_last()
    (height, width), wanted = call.shapes[0][:2], (int(call.layer.height), int(call.layer.width))
    if wanted[0] > height or wanted[1] > width:
        raise call.refused(f"a crop of {height}x{width} pixels to {wanted[0]}x{wanted[1]}", "use layers.Resizing")
    begin = ((height - wanted[0]) // 2, (width - wanted[1]) // 2)
    return [call.node("spatial_slice", {"begin": begin, "size": wanted, "strides": (1, 1)})]


def resizing(call: Call) -> list[Node]:
    """Convert a Resizing layer."""
    layer = call.layer
    call.require_channels_last()
    for option in ("crop_to_aspect_ratio", "pad_to_aspect_ratio"):
        if getattr(layer, option, False):
            raise call.refused(f"a resize with {option}", "leave it out: a runner fits photographs to the input")
    return _resized(call, (int(layer.height), int(layer.width)), str(layer.interpolation), bool(layer.antialias))


def resize(call: Call) -> list[Node]:
    """Convert ``keras.ops.image.resize``."""
    call.require_channels_last()
    size = tuple(int(length) for length in call.layer.size)
    return _resized(call, (size[0], size[1]), str(call.layer.interpolation), bool(call.layer.antialias))


def _resized(call: Call, size: tuple[int, int], interpolation: str, antialias: bool) -> list[Node]:
    if interpolation not in _METHODS:
        raise call.refused(f"interpolation='{interpolation}'", f"use one of: {', '.join(_METHODS)}")
    if antialias and (size[0] < call.shapes[0][0] or size[1] < call.shapes[0][1]):
        raise call.refused("a resize with antialias=True", "leave it out, or pool by whole factors")
    return [call.node("resize", {"size": size, "method": _METHODS[interpolation], "convention": "half_pixel"})]


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
    """Convert ``keras.ops.flip`` along rows, columns or both."""
    axis = call.layer.axis
    axes = {int(one) % 4 for one in (axis if isinstance(axis, (list, tuple)) else (axis,))} if axis is not None else {0}
    if not axes <= {1, 2}:
        raise call.refused(f"a flip along axis {axis}", "rows (1) and columns (2) can be flipped")
    height, width = call.shapes[0][:2]
    begin = (height - 1 if 1 in axes else 0, width - 1 if 2 in axes else 0)
    strides = (-1 if 1 in axes else 1, -1 if 2 in axes else 1)
    return [call.node("spatial_slice", {"begin": begin, "size": (height, width), "strides": strides})]


def get_item(call: Call) -> list[Node]:
    """Convert ``x[:, 1:-1, ::2, 4:8]``."""
    key = call.arguments[1]
    parts = _slices(call, key if isinstance(key, tuple) else (key,))
    rows, columns, channels = (range(length)[part] for part, length in zip(parts, call.shapes[0]))
    if not (rows and columns and channels):
        raise call.refused(f"an index {key} that leaves nothing", "take a pixel at least")
    return pixels.part_of(call.name, call.inputs[0], call.shapes[0], (rows, columns, channels))


def _slices(call: Call, key: Sequence[Any]) -> list[slice]:
    """Return the slices of rows, columns and channels."""
    entries = list(key)
    if Ellipsis in entries:
        place = entries.index(Ellipsis)
        entries[place : place + 1] = [slice(None)] * (5 - len(entries))
    entries += [slice(None)] * (4 - len(entries))
    if len(call.shapes[0]) != 3 or len(entries) != 4 or any(not isinstance(entry, slice) for entry in entries):
        raise call.refused(f"an index {tuple(key)}", "give slices, such as x[:, 1:-1, ::2, :4], of a feature map")
    if entries[0] != slice(None):
        raise call.refused("an index into the batch", "begin it with ':'")
    return entries[1:]


def pad(call: Call) -> list[Node]:
    """Convert ``keras.ops.pad`` of rows and columns: with zeros, reflected or symmetric."""
    layer = call.layer
    widths = [tuple(int(count) for count in pair) for pair in layer._process_pad_width(layer.pad_width)]
    if len(widths) == 1:
        widths *= 4
    mode = str(layer.mode)
    if len(widths) != 4 or any(widths[0]) or any(widths[3]):
        raise call.refused(f"padding of {layer.pad_width}", "rows and columns can be padded")
    padding = (*widths[1], *widths[2])
    if mode == "constant":
        value = call.arguments[1] if len(call.arguments) > 1 else None
        if value not in (None, 0, 0.0):
            raise call.refused(
                f"padding with {value}", "pad with zeros, or subtract the number before and add it after"
            )
        return [call.node("zero_padding", {"padding": padding})]
    return [call.node("mirror_padding", {"padding": padding, "mode": mode})]


def space_to_depth(call: Call) -> list[Node]:
    """Convert a space to depth: every phase of pixels, its channels one after the other."""
    call.require_channels_last()
    block = int(call.layer.block_size)
    height, width, _ = call.shapes[0]
    if height % block or width % block:
        raise call.refused(f"blocks of {block}x{block} in {height}x{width} pixels", "make both a multiple of the block")
    return pixels.space_to_depth(call.name, call.inputs[0], call.shapes[0], block)


def global_max_pool(call: Call) -> list[Node]:
    """Convert a GlobalMaxPooling2D: the largest of all rows of each column, then of all columns."""
    call.require_channels_last()
    nodes = pixels.global_max_pool(call.name, call.inputs[0], call.shapes[0])
    if call.layer.keepdims:
        return nodes
    return [*nodes, Node(f"{call.name}-vector", "flatten", (nodes[-1].name,), {"scale": None})]
