"""Anchors of detectors: the boxes to which a network's outputs are relative, computed from a short description."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from glsl_infer.errors import InputError

MAX_ANCHORS = 1 << 18
"""Largest number of anchors of a detector. Practical networks have less than a hundredth, and more would fill the
memory."""


@dataclass(frozen=True)
class Level:
    """Anchors of a feature map: the same boxes around the centre of each cell.

    Attributes:
        stride: size of a cell in pixels of the network's input; None with ``cells``.
        cells: rows and columns; None with ``stride``.
        sizes: width and height of each box of a cell, relative to the network's input. Outputs are ordered by row,
            column, then box.
    """

    sizes: tuple[tuple[float, float], ...]
    stride: int | None = None
    cells: tuple[int, int] | None = None

    def grid(self, height: int, width: int) -> tuple[int, int]:
        """Return rows and columns for an input of ``height`` x ``width`` pixels."""
        if self.cells is not None:
            return self.cells
        assert self.stride is not None
        return -(-height // self.stride), -(-width // self.stride)


def sizes_of(scale: float, aspects: Sequence[float]) -> tuple[tuple[float, float], ...]:
    """Return width and height of boxes with area ``scale`` squared, for each aspect ratio (width / height)."""
    return tuple((scale * math.sqrt(aspect), scale / math.sqrt(aspect)) for aspect in aspects)


def anchors(levels: Sequence[Level], height: int, width: int) -> NDArray[np.float32]:
    """Return all anchors, float32 (count, 4): centre x, centre y, width and height, relative to the network's input.

    Args:
        levels: the feature maps, in the order of the network's outputs.
        height: of the network's input, in pixels.
        width: of the network's input, in pixels.

    Raises:
        InputError: there are more than ``MAX_ANCHORS`` anchors.
    """
    grids = [level.grid(height, width) for level in levels]
    count = sum(rows * columns * len(level.sizes) for level, (rows, columns) in zip(levels, grids))
    if count > MAX_ANCHORS:
        raise InputError(f"{count} anchors; at most {MAX_ANCHORS} are possible: give larger strides or fewer sizes")
    all_anchors = []
    for level, (rows, columns) in zip(levels, grids):
        level_anchors = np.empty((rows, columns, len(level.sizes), 4), np.float32)
        level_anchors[..., 0] = ((np.arange(columns) + 0.5) / columns)[None, :, None]
        level_anchors[..., 1] = ((np.arange(rows) + 0.5) / rows)[:, None, None]
        level_anchors[..., 2:] = np.asarray(level.sizes, np.float32)
        all_anchors.append(level_anchors.reshape(-1, 4))
    return np.concatenate(all_anchors)
