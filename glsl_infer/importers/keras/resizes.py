"""Keras' resizing -> nodes: cropping or padding to keep the aspect ratio, then the resize."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from glsl_infer.graph import Node
from glsl_infer.importers.keras import resampling
from glsl_infer.importers.keras.call import Call

_METHODS = {"nearest": "nearest", "bilinear": "bilinear"}


def resizing(call: Call) -> list[Node]:
    """Convert a Resizing layer."""
    return _converted(call, (int(call.layer.height), int(call.layer.width)))


def resize(call: Call) -> list[Node]:
    """Convert ``keras.ops.image.resize``."""
    size = tuple(int(length) for length in call.layer.size)
    return _converted(call, (size[0], size[1]))


def _converted(call: Call, size: tuple[int, int]) -> list[Node]:
    layer: Any = call.layer
    call.require_channels_last()
    before: list[Node] = []
    if getattr(layer, "crop_to_aspect_ratio", False):
        before = _cropped(call, size)
    elif getattr(layer, "pad_to_aspect_ratio", False):
        before = _padded(call, size)
    if before:
        shape = _shape_of(before[0], call)
        call = replace(call, name=f"{call.name}-resized", inputs=(before[-1].name,), shapes=(shape,))
    return [*before, *_resized(call, size, str(layer.interpolation), bool(layer.antialias))]


def _fitting(call: Call, size: tuple[int, int]) -> tuple[int, int]:
    """Return the height for the full width and the width for the full height in the ratio of ``size``."""
    height, width, _ = call.shapes[0]
    return width * size[0] // size[1], height * size[1] // size[0]


def _cropped(call: Call, size: tuple[int, int]) -> list[Node]:
    """Crop the middle of the map to the aspect ratio of ``size``."""
    given = call.shapes[0][:2]
    kept = tuple(max(min(most, fit), 1) for most, fit in zip(given, _fitting(call, size)))
    begin = tuple((most - part) // 2 for most, part in zip(given, kept))
    return [call.node("spatial_slice", {"begin": begin, "size": kept, "strides": (1, 1)})] if kept != given else []


def _padded(call: Call, size: tuple[int, int]) -> list[Node]:
    """Pad both sides of the map equally to the aspect ratio of ``size``. An odd pixel is not added."""
    down, right = ((max(most, fit) - most) // 2 for most, fit in zip(call.shapes[0], _fitting(call, size)))
    padding, value = (down, down, right, right), float(call.layer.fill_value)
    if not any(padding):
        return []
    if value:
        return [call.node("constant_padding", {"padding": padding, "value": value})]
    return [call.node("zero_padding", {"padding": padding})]


def _shape_of(node: Node, call: Call) -> tuple[int, int, int]:
    height, width, channels = call.shapes[0]
    if "size" in node.attrs:
        height, width = node.attrs["size"]
    else:
        top, bottom, left, right = node.attrs["padding"]
        height, width = height + top + bottom, width + left + right
    return height, width, channels


def _resized(call: Call, size: tuple[int, int], interpolation: str, antialias: bool) -> list[Node]:
    smoothed = antialias and (size[0] < call.shapes[0][0] or size[1] < call.shapes[0][1])
    if interpolation in resampling.METHODS or (smoothed and interpolation == "bilinear"):
        return resampling.resampled(call, size, interpolation, antialias=antialias)
    if interpolation not in _METHODS:
        known = ", ".join((*_METHODS, *resampling.METHODS))
        raise call.refused(f"interpolation='{interpolation}'", f"use one of: {known}")
    return [call.node("resize", {"size": size, "method": _METHODS[interpolation], "convention": "half_pixel"})]
