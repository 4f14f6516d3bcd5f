"""Anchors: the boxes that a detector's numbers are relative to, computed from a few lines of data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from glsl_infer.errors import InputError

MOST = 1 << 18
"""Most anchors of a detector: no network for this engine has a hundredth of them, and their boxes would fill memory."""


@dataclass(frozen=True)
class Level:
    """The anchors of one feature map: the same boxes around the middle of each of its cells.

    Attributes:
        stride: pixels of the network's picture that a cell covers; or None with ``cells``.
        cells: rows and columns; or None with ``stride``.
        sizes: width and height of each box of a cell, in parts of the network's picture. Numbers follow each other
            box by box, then cell by cell from left to right and row by row.
    """

    sizes: tuple[tuple[float, float], ...]
    stride: int | None = None
    cells: tuple[int, int] | None = None

    def grid(self, height: int, width: int) -> tuple[int, int]:
        """Return rows and columns over a network's picture of ``height`` x ``width`` pixels."""
        if self.cells is not None:
            return self.cells
        assert self.stride is not None
        return -(-height // self.stride), -(-width // self.stride)


def sizes_of(scale: float, aspects: Sequence[float]) -> tuple[tuple[float, float], ...]:
    """Return width and height of boxes of one area, ``scale`` squared, for each aspect (width by height)."""
    return tuple((scale * math.sqrt(aspect), scale / math.sqrt(aspect)) for aspect in aspects)


def anchors(levels: Sequence[Level], height: int, width: int) -> NDArray[np.float32]:
    """Return all anchors: float32 (number, 4), the middle's x and y, width and height, in parts of the picture.

    Args:
        levels: the feature maps, in the order of the network's numbers.
        height: of the network's picture, in pixels.
        width: of the network's picture, in pixels.

    Raises:
        InputError: more than ``MOST``.
    """
    grids = [level.grid(height, width) for level in levels]
    number = sum(rows * columns * len(level.sizes) for level, (rows, columns) in zip(levels, grids))
    if number > MOST:
        raise InputError(f"{number} anchors; at most {MOST} are possible: give larger strides or fewer sizes")
    parts = []
    for level, (rows, columns) in zip(levels, grids):
        part = np.empty((rows, columns, len(level.sizes), 4), np.float32)
        part[..., 0] = ((np.arange(columns) + 0.5) / columns)[None, :, None]
        part[..., 1] = ((np.arange(rows) + 0.5) / rows)[:, None, None]
        part[..., 2:] = np.asarray(level.sizes, np.float32)
        parts.append(part.reshape(-1, 4))
    return np.concatenate(parts)
