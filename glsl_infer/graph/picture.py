"""Network inputs: image fits, and the values of image bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from glsl_infer.errors import ImageError, InputError
from glsl_infer.support.ndarray import NDArray

if TYPE_CHECKING:
    from glsl_infer.graph.node import Array, Node

CENTER_SQUARE, CENTER_CROP, LETTERBOX, STRETCH = FITS = (
    "center-square/area-average",
    "center-crop/area-average",
    "letterbox/area-average",
    "stretch/area-average",
)
"""Methods to fit any image to the network's size; docs/reference/bundle-format.md has the rectangles of each."""

PICTURE_CHANNELS = (1, 3, 4)
"""Channel counts of images: grey, RGB and RGBA."""

SCALES = (1.0,)
"""Default of an input without the attribute ``scales``: value = byte / 255."""

ZEROS = (0.0,)
"""Default of an input without the attribute ``zeros``."""


def is_picture(node: Node) -> bool:
    """Return whether an input node is an image; the others are arrays of numbers."""
    return node.attrs.get("fit") is not None


def has_alpha_lane(node: Node) -> bool:
    """Return whether the input is an image of 1 or 3 channels, whose alpha lane is constant.

    Its alpha is 1, and 0 in the gutter, where all bytes are 0.
    """
    return node.operator.is_input and is_picture(node) and node.attrs["shape"][2] != 4


def picture_range(node: Node) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return (scales, zeros) of an input node, each of length 1 or channels, with defaults for missing ones."""
    return tuple(node.attrs.get("scales") or SCALES), tuple(node.attrs.get("zeros") or ZEROS)


def with_picture_range(node: Node, scales: Sequence[float], zeros: Sequence[float]) -> Node:
    """Return the input node with other scales and zero points, in the shortest form.

    Equal values per channel become one value, and the defaults are left out. Therefore the graph.json of a network on
    [0, 1] has neither attribute.
    """
    from dataclasses import replace  # runners start sooner without it

    attributes = dict(zip(("scales", "zeros"), (tuple(scales), tuple(zeros))))
    attributes = {key: values[:1] if len(set(values)) == 1 else values for key, values in attributes.items()}
    attrs = {key: value for key, value in node.attrs.items() if key not in attributes}
    if attributes != {"scales": SCALES, "zeros": ZEROS}:
        attrs.update(attributes)
    return replace(node, attrs=attrs)


def picture_values(node: Node, picture: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Return the values of the bytes of an image: float64, of the same shape."""
    scales, zeros = (np.asarray(values, np.float64) for values in picture_range(node))
    values: NDArray[np.float64] = scales * (picture - zeros) / 255.0
    return values


def input_values(node: Node, array: NDArray[Any]) -> Array:
    """Return the values of an input in float64, not rounded to stored values.

    Args:
        node: the input.
        array: an image, uint8 (height, width, channels) or (height, width) for one channel; or numbers of any type, of
            the shape of the input.

    Raises:
        ImageError: the image has another shape or type.
        InputError: the numbers have another shape, are not numeric or contain NaN.
    """
    shape = tuple(node.attrs["shape"])
    if is_picture(node):
        if array.shape == shape[:2] and shape[2] == 1:
            array = array[..., None]
        if array.dtype != np.uint8 or array.shape != shape:
            raise ImageError(
                f"an image of shape {array.shape}, {array.dtype}; input '{node.name}' of the model reads uint8 {shape}"
            )
        return picture_values(node, array)
    if array.shape != shape or array.dtype.kind not in "fiub":
        raise InputError(
            f"numbers of shape {array.shape}, {array.dtype}; input '{node.name}' of the model reads numbers {shape}"
        )
    if np.isnan(array).any():
        raise InputError(f"the numbers for input '{node.name}' contain NaN; give numbers only")
    return array.astype(np.float64)
