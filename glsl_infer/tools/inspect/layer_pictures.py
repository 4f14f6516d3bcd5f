"""What a layer computed, as a picture: every channel a grey square, all of them in a grid.

Black is the lowest number that the layer's texture can hold and white the highest, channel by channel for a feature
map, so that pictures of different photographs can be compared. A vector or partial sums, whose 16 bits reach further
than their numbers ever do, go from the lowest to the highest number that is there.
"""

from __future__ import annotations

import math
import re

import numpy as np
from numpy.typing import NDArray

from glsl_infer.program.layout import FeatureMap, FineMap, Value

GAP = 1
"""Pixels between two channels, before they are enlarged."""

GAP_GREY = 96
SMALLEST = 192
"""Pictures are enlarged by whole factors until their longer side has at least so many pixels."""

_LARGEST = 8192
_UNSAFE = re.compile(r"[^A-Za-z0-9_~-]+")


def file_name(index: int, layer: str) -> str:
    """Return the name of a layer's picture: its number and its name, with nothing in it that a file system minds."""
    return f"{index:03d}-{_UNSAFE.sub('_', layer)[:80]}.png"


def draw(output: NDArray[np.floating], value: Value | None) -> NDArray[np.uint8]:
    """Return a layer's output as a grey picture, uint8 (height, width).

    Args:
        output: as ``Session.layers`` yields it: (height, width, channels), (columns, length) or (length,); a tensor of
            the CPU of any other rank is drawn as a table of its last axis.
        value: how its texture stores it; None of the CPU's.
    """
    numbers = np.asarray(output, np.float64)
    if numbers.ndim not in (1, 2, 3):
        numbers = numbers.reshape(-1, numbers.shape[-1] if numbers.ndim else 1)
    if isinstance(value, (FeatureMap, FineMap)):
        low, high = value.range.ends(value.channels)
    else:
        low, high = np.asarray(numbers.min()), np.asarray(numbers.max())
    width = np.where(high > low, high - low, 1.0)
    grey = np.clip(np.rint(255.0 * (numbers - low) / width), 0, 255).astype(np.uint8)
    picture = _grid(grey) if grey.ndim == 3 else _strip(grey)
    factor = max(1, -(-SMALLEST // max(picture.shape)))
    enlarged: NDArray[np.uint8] = picture.repeat(factor, 0).repeat(factor, 1)[:_LARGEST, :_LARGEST]
    return enlarged


def _grid(channels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return the channels of (height, width, channels) side by side, in about as many rows as columns of pixels."""
    height, width, count = channels.shape
    columns = min(count, max(1, round(math.sqrt(count * (height + GAP) / (width + GAP)))))
    rows = -(-count // columns)
    picture = np.full((rows * (height + GAP) - GAP, columns * (width + GAP) - GAP), GAP_GREY, np.uint8)
    for index in range(count):
        row, column = divmod(index, columns)
        top, left = row * (height + GAP), column * (width + GAP)
        picture[top : top + height, left : left + width] = channels[..., index]
    return picture


def _strip(values: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return a vector as a row of squares, broken into as many rows as make it about square, or a table as it is."""
    if values.ndim == 2:
        return values
    columns = math.ceil(math.sqrt(len(values)))
    picture = np.full((-(-len(values) // columns)) * columns, GAP_GREY, np.uint8)
    picture[: len(values)] = values
    return picture.reshape(-1, columns)
