"""What the inputs of a network stand for: the bytes of a picture, and numbers in 8 or 16 bits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
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
"""How any picture becomes the network's; docs/reference/bundle-format.md has each one's rectangles."""

PICTURE_CHANNELS = (1, 3, 4)
"""Grey, colours, and colours with alpha."""

SCALES, ZEROS = (1.0,), (0.0,)
"""What an input without these attributes means: byte / 255."""


def is_picture(node: Node) -> bool:
    """Return whether an input node takes pictures; the others take numbers."""
    return node.attrs.get("fit") is not None


def has_alpha_lane(node: Node) -> bool:
    """Return whether the input is a picture of 1 or 3 channels.

    The alpha of its texels is 1, and 0 in the gutter, which holds bytes of 0.
    """
    return node.operator.is_input and is_picture(node) and node.attrs["shape"][2] != 4


def picture_range(node: Node) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return (scales, zeros) of an input node, each of length 1 or channels; defaults where it does not say."""
    return tuple(node.attrs.get("scales") or SCALES), tuple(node.attrs.get("zeros") or ZEROS)


def with_picture_range(node: Node, scales: Sequence[float], zeros: Sequence[float]) -> Node:
    """Return the input node with another meaning of its bytes, written as briefly as it can be.

    Equal numbers become one, and the default is left out, so that networks on [0, 1] are written as ever.
    """
    given = dict(zip(("scales", "zeros"), (tuple(scales), tuple(zeros))))
    given = {key: values[:1] if len(set(values)) == 1 else values for key, values in given.items()}
    attrs = {key: value for key, value in node.attrs.items() if key not in given}
    if given != {"scales": SCALES, "zeros": ZEROS}:
        attrs.update(given)
    return replace(node, attrs=attrs)


def picture_values(node: Node, picture: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Return what the bytes of a picture stand for: float64 of its shape."""
    scales, zeros = (np.asarray(values, np.float64) for values in picture_range(node))
    values: NDArray[np.float64] = scales * (picture - zeros) / 255.0
    return values


def input_values(node: Node, given: NDArray[Any]) -> Array:
    """Return the values of an input as the network reads them, float64, not rounded to what textures hold.

    Args:
        node: the input.
        given: a picture as uint8 (height, width, channels), a grey one also (height, width); or numbers of the
            input's shape, of any type.

    Raises:
        ImageError: a picture of another shape or type.
        InputError: numbers of another shape, or that are no finite numbers.
    """
    shape = tuple(node.attrs["shape"])
    if is_picture(node):
        if given.shape == shape[:2] and shape[2] == 1:
            given = given[..., None]
        if given.dtype != np.uint8 or given.shape != shape:
            raise ImageError(
                f"a picture of shape {given.shape}, {given.dtype}; input '{node.name}' of the model reads uint8 {shape}"
            )
        return picture_values(node, given)
    if given.shape != shape or given.dtype.kind not in "fiub":
        raise InputError(
            f"numbers of shape {given.shape}, {given.dtype}; input '{node.name}' of the model reads numbers {shape}"
        )
    if np.isnan(given).any():
        raise InputError(f"the numbers for input '{node.name}' contain NaN; give numbers only")
    return given.astype(np.float64)
