"""Lines longer than a texture is wide, such as sounds, as maps of several rows."""

from __future__ import annotations

import math

from glsl_infer.graph import Shape
from glsl_infer.program.layout import MAX_TEXTURE_SIZE

LONGEST_VECTOR = 2 * MAX_TEXTURE_SIZE
"""Numbers of a vector that a texture holds in one row."""


def in_rows(shape: Shape) -> Shape:
    """Return a line (1, length, channels) or (length,) as (rows, columns, channels) if it fits no texture.

    The numbers keep their order. Any other shape is returned as it is, and so is a length without fitting factors.
    """
    length, channels = (shape[1], shape[2]) if len(shape) == 3 and shape[0] == 1 else (shape[0], 1)
    if length != math.prod(shape[:2]) or length <= (MAX_TEXTURE_SIZE if len(shape) == 3 else LONGEST_VECTOR):
        return shape
    fewest = -(-length // MAX_TEXTURE_SIZE)
    rows = next((rows for rows in range(fewest, MAX_TEXTURE_SIZE + 1) if not length % rows), None)
    return shape if rows is None else (rows, length // rows, channels)
