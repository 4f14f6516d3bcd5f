"""Fusion of space to batch, convolution and batch to space into one dilated convolution.

TensorFlow writes a dilated convolution as these three operators: the pixels of each phase become an image of the batch,
a plain convolution runs on each image, and the phases are interleaved again. A graph does not need the batch.
"""

from __future__ import annotations

from collections.abc import Sequence

Sides = Sequence[int]
"""(top, bottom, left, right) in pixels."""


def dilated_padding(block: Sequence[int], padding: Sides, crops: Sides, inner: Sides) -> tuple[int, int, int, int]:
    """Return the padding of the dilated convolution that replaces the three: ``dilations`` = ``block``, strides 1.

    Args:
        block: of space to batch and of batch to space, (y, x).
        padding: of space to batch, in pixels of the map.
        crops: of batch to space, in pixels of the map.
        inner: the padding of the plain convolution, in pixels of its phases.

    Returns:
        (top, bottom, left, right). A negative value is a crop of the map before the convolution, by ``zero_padding``.
    """
    top, bottom, left, right = (
        around + size * within - cut
        for around, size, within, cut in zip(padding, (block[0], block[0], block[1], block[1]), inner, crops)
    )
    return top, bottom, left, right
