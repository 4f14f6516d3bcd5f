"""A convolution between space to batch and batch to space is one with dilation.

TensorFlow writes dilated convolutions so: the pixels of a phase become a picture of the batch, a plain convolution runs
on each, and the phases are put together again. A graph has no batch, and needs none.
"""

from __future__ import annotations

from collections.abc import Sequence

Sides = Sequence[int]
"""(top, bottom, left, right) in pixels."""


def dilated_padding(block: Sequence[int], padding: Sides, crops: Sides, inner: Sides) -> tuple[int, int, int, int]:
    """Return the padding of the one convolution that does the same as all three: ``dilations`` = ``block``, strides 1.

    Args:
        block: of space to batch and of batch to space, (y, x).
        padding: of space to batch, in pixels of the map.
        crops: of batch to space, in pixels of the map.
        inner: the padding of the plain convolution, in pixels of its phases.

    Returns:
        (top, bottom, left, right). What is negative has to be cut off the map first (``zero_padding`` does that).
    """
    top, bottom, left, right = (
        around + size * within - cut
        for around, size, within, cut in zip(padding, (block[0], block[0], block[1], block[1]), inner, crops)
    )
    return top, bottom, left, right
