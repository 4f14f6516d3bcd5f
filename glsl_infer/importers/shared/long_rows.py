"""Lines longer than the largest texture, such as audio, as maps of several rows."""

from __future__ import annotations

import math

from glsl_infer.graph import Shape
from glsl_infer.program.layout import MAX_TEXTURE_SIZE

LONGEST_VECTOR = 2 * MAX_TEXTURE_SIZE
"""Largest number of elements of a vector in one row of a texture."""


def in_rows(shape: Shape) -> Shape:
    """Return (rows, columns, channels) for a line (1, length, channels) or (length,) that does not fit a texture.

    The elements keep their order. Any other shape is returned unchanged, as is a length without suitable factors.
    """
    length, channels = (shape[1], shape[2]) if len(shape) == 3 and shape[0] == 1 else (shape[0], 1)
    if length != math.prod(shape[:2]) or length <= (MAX_TEXTURE_SIZE if len(shape) == 3 else LONGEST_VECTOR):
        return shape
    fewest = -(-length // MAX_TEXTURE_SIZE)
    rows = next((rows for rows in range(fewest, MAX_TEXTURE_SIZE + 1) if not length % rows), None)
    return shape if rows is None else (rows, length // rows, channels)
