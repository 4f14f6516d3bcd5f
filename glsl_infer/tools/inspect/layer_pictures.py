"""Output of a layer as an image: every channel as a grey square, in a grid.

For a feature map, black is the smallest and white the largest value of each channel's range, so images of different
photographs are comparable. Vectors and partial sums use far less than the range of their 16 bits, so black and white
are their actual minimum and maximum.
"""

from __future__ import annotations

import math
import re

import numpy as np
from numpy.typing import NDArray

from glsl_infer.program.layout import FeatureMap, SixteenBitMap, Value

GAP = 1
"""Pixels between two channels, before enlargement."""

GAP_GREY = 96
SMALLEST = 192
"""Images are enlarged by an integer factor until their longer side has at least this number of pixels."""

_LARGEST = 8192
_UNSAFE = re.compile(r"[^A-Za-z0-9_~-]+")


def file_name(index: int, layer: str) -> str:
    """Return the file name of a layer's image: its index and its name, without characters unsafe in a file system."""
    return f"{index:03d}-{_UNSAFE.sub('_', layer)[:80]}.png"


def draw(output: NDArray[np.floating], value: Value | None) -> NDArray[np.uint8]:
    """Return a layer's output as a grey image, uint8 (height, width).

    Args:
        output: as ``Session.layers`` yields it: (height, width, channels), (columns, length) or (length,). A tensor of
            another rank from the CPU is drawn as a table with its last axis as columns.
        value: its storage in textures; None for an output of the CPU.
    """
    values = np.asarray(output, np.float64)
    if values.ndim not in (1, 2, 3):
        values = values.reshape(-1, values.shape[-1] if values.ndim else 1)
    if isinstance(value, (FeatureMap, SixteenBitMap)):
        low, high = value.range.ends(value.channels)
    else:
        low, high = np.asarray(values.min()), np.asarray(values.max())
    width = np.where(high > low, high - low, 1.0)
    grey = np.clip(np.rint(255.0 * (values - low) / width), 0, 255).astype(np.uint8)
    picture = _grid(grey) if grey.ndim == 3 else _strip(grey)
    factor = max(1, -(-SMALLEST // max(picture.shape)))
    enlarged: NDArray[np.uint8] = picture.repeat(factor, 0).repeat(factor, 1)[:_LARGEST, :_LARGEST]
    return enlarged


def _grid(channels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return the channels of (height, width, channels) in a grid of approximately square shape in pixels."""
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
    """Return a vector as squares in an approximately square grid, and a table unchanged."""
    if values.ndim == 2:
        return values
    columns = math.ceil(math.sqrt(len(values)))
    picture = np.full((-(-len(values) // columns)) * columns, GAP_GREY, np.uint8)
    picture[: len(values)] = values
    return picture.reshape(-1, columns)
