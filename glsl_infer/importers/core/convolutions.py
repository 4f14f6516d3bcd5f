"""Convolutions: padding by its names in frameworks, and transposed convolutions as nodes."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from glsl_infer.graph import Node

Padding = tuple[int, int, int, int]
"""(top, bottom, left, right) in pixels."""


def same_padding(size: int, kernel: int, stride: int, dilation: int = 1) -> tuple[int, int]:
    """Return TensorFlow's padding (before, after) of an axis for ``same``. An odd pixel goes after."""
    reach = dilation * (kernel - 1) + 1
    total = max((-(-size // stride) - 1) * stride + reach - size, 0)
    return total // 2, total - total // 2


def padding_of(
    kind: str, size: tuple[int, int], window: tuple[int, int], strides: tuple[int, int], dilation: tuple[int, int]
) -> Padding:
    """Return the padding of a window over a map of (height, width); ``kind`` is ``same`` or ``valid``.

    Raises:
        ValueError: ``kind`` has another value.
    """
    if kind == "valid":
        return 0, 0, 0, 0
    if kind != "same":
        raise ValueError(f"padding='{kind}'")
    (top, bottom), (left, right) = (same_padding(*each) for each in zip(size, window, strides, dilation))
    return top, bottom, left, right


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


MOST_PIXELS = 16
"""Largest number of pixels of a block in depth to space: a draw has this many coordinates
(``bindings.MAX_SOURCES``)."""

PLAIN = {"strides": (1, 1), "padding": (0, 0, 0, 0), "groups": 1, "activation": "linear"}
"""Default attributes of a convolution."""


def transposed(
    name: str,
    source: str,
    weights: NDArray[np.float32],
    bias: NDArray[np.float32],
    *,
    strides: tuple[int, int],
    shape: Sequence[int],
    output_size: tuple[int, ...],
    same: bool,
    dilations: tuple[int, int] = (1, 1),
    activation: Sequence[Node] = (),
) -> list[Node]:
    """Return the nodes of a transposed convolution.

    Output pixel ``s * b + r`` sums input pixels ``b - j`` times kernel tap ``s * j + r``, for stride s and phase r. So
    a convolution of ceil(k / s) taps gives all phases of a block as channels. Its padding decides which blocks it
    computes, and a slice removes the pixels outside the output. Blocks that no input pixel reaches have the bias.

    Args:
        name: of the layer, and of the first node.
        source: name of the input node.
        weights: (height, width, filters, channels).
        bias: (filters,).
        strides: (y, x).
        shape: shape of the input.
        output_size: (height, width) of the output.
        same: whether half of the surplus is cropped at the top and left, as TensorFlow does for a given output shape.
        dilations: (y, x). Values above 1 require strides of 1.
        activation: a node that reads the node called ``name``, or an empty sequence.
    """
    phases = _phases(weights, strides)
    outputs = phases.shape[3]
    before, after, begin = [], [], []
    for axis in range(2):
        reach = (phases.shape[axis] - 1) * dilations[axis]  # window of the convolution minus 1, in blocks
        span = (weights.shape[axis] - 1) * dilations[axis] + 1
        surplus = max((shape[axis] - 1) * strides[axis] + span - output_size[axis], 0)
        skipped, first = divmod(surplus // 2, strides[axis]) if same else (0, 0)
        blocks = -(-(first + output_size[axis]) // strides[axis])
        before.append(reach - skipped)
        after.append(max(blocks + skipped - shape[axis], 0))
        begin.append(first)
    attrs = {**PLAIN, "padding": (before[0], after[0], before[1], after[1]), "dilations": dilations}
    numbers = np.tile(bias, outputs // weights.shape[2]).astype(np.float32)
    nodes = [Node(name, "conv2d", (source,), attrs, {"kernel": phases, "bias": numbers}), *activation]
    for number, (down, across) in enumerate(_blocks(strides)):
        step = f"{name}-pixels{f'-{number + 1}' if number else ''}"
        block = down if down == across else (down, across)
        nodes.append(Node(step, "depth_to_space", (nodes[-1].name,), {"block": block}))
    full_size = tuple(
        (size + first + last - (taps - 1) * dilation) * stride
        for size, first, last, taps, dilation, stride in zip(shape, before, after, phases.shape, dilations, strides)
    )
    if output_size != full_size:
        part = {"begin": tuple(begin), "size": output_size, "strides": (1, 1)}
        nodes.append(Node(f"{name}-cut", "spatial_slice", (nodes[-1].name,), part))
    return nodes


def _phases(weights: NDArray[np.float32], strides: tuple[int, int]) -> NDArray[np.float32]:
    """Return the kernel (taps, taps, channels, phases * filters) of the convolution of all phases of a block."""
    height, width, filters, channels = weights.shape
    taps_y, taps_x = -(-height // strides[0]), -(-width // strides[1])
    padded = np.zeros((taps_y * strides[0], taps_x * strides[1], filters, channels), np.float32)
    padded[:height, :width] = weights
    blocks = _blocks(strides)
    sizes = [taps_y, *(down for down, _ in blocks), taps_x, *(across for _, across in blocks), filters, channels]
    parts = np.flip(padded.reshape(sizes), (0, 1 + len(blocks)))
    # The order is taps, channels, then the rows and columns of each step's block, which become pixels.
    inner = [axis + step for step in range(len(blocks)) for axis in (1, 2 + len(blocks))]
    order = [0, 1 + len(blocks), len(sizes) - 1, *inner, len(sizes) - 2]
    return np.ascontiguousarray(parts.transpose(order).reshape(taps_y, taps_x, channels, -1))


def _blocks(strides: tuple[int, int]) -> list[tuple[int, int]]:
    """Return the blocks of the depth-to-space steps, none of them with more than ``MOST_PIXELS`` pixels if possible.

    A draw of a step reads a slice for each pixel of its block.
    """
    blocks, left = [], list(strides)
    while math.prod(left) > 1:
        fitting = [
            (down, across)
            for down in range(1, left[0] + 1)
            for across in range(1, left[1] + 1)
            if not left[0] % down and not left[1] % across and 1 < down * across <= MOST_PIXELS
        ]
        block = max(fitting, key=lambda size: (size[0] * size[1], -abs(size[0] - size[1])), default=(left[0], left[1]))
        blocks.append(block)
        left = [size // part for size, part in zip(left, block)]
    return blocks
