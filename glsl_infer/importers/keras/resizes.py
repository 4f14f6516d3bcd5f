"""Keras' resizes -> nodes: cropping or padding to keep the aspect ratio, then a resize or weighted sums of pixels."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glsl_infer.graph import Node
from glsl_infer.importers.core.emit import weighted_sums
from glsl_infer.importers.keras.call import Call

METHODS = ("bicubic", "lanczos3", "lanczos5")


def resampled(call: Call, size: tuple[int, int], interpolation: str, *, antialias: bool) -> list[Node]:
    """Return the nodes of a resize to (height, width): rows, then columns, as weighted sums.

    Raises:
        ModelError: a pixel depends on too many others.
    """
    nodes: list[Node] = []
    for axis, (given, wanted) in enumerate(zip(call.shapes[0][:2], size)):
        if given == wanted:
            continue
        sums = weighted_sums(_matrix(given, wanted, interpolation, antialias=antialias), np.zeros(wanted), axis)
        if sums is None:
            raise call.refused(f"a resize of {given} to {wanted} pixels, smoothed", "pool by whole factors before it")
        name = f"{call.name}-columns" if nodes else call.name
        nodes.append(Node(name, "resample", (nodes[-1].name,) if nodes else call.inputs, *sums))
    return nodes or [call.node("identity")]


def _matrix(given: int, wanted: int, interpolation: str, *, antialias: bool) -> NDArray[np.float64]:
    """Return Keras' matrix (wanted, given): the weights of the ``given`` pixels of a row for each ``wanted`` pixel."""
    from keras import ops

    units = np.eye(given, dtype=np.float32)[:, None]
    made = ops.image.resize(units, (wanted, 1), interpolation, antialias=antialias, data_format="channels_last")
    return np.asarray(ops.convert_to_numpy(made), np.float64).reshape(wanted, given)


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
    if interpolation in METHODS or (smoothed and interpolation == "bilinear"):
        return resampled(call, size, interpolation, antialias=antialias)
    if interpolation not in _METHODS:
        known = ", ".join((*_METHODS, *METHODS))
        raise call.refused(f"interpolation='{interpolation}'", f"use one of: {known}")
    return [call.node("resize", {"size": size, "method": _METHODS[interpolation], "convention": "half_pixel"})]
