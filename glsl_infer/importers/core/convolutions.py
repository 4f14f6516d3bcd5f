"""Windows over maps: padding by its names in frameworks, and plain and transposed convolutions as nodes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from glsl_infer.graph import Array, Node

Pair = tuple[int, int]
"""(y, x)."""

Padding = tuple[int, int, int, int]
"""(top, bottom, left, right) in pixels."""


@dataclass(frozen=True)
class Window:
    """A window of taps that moves over a map.

    Attributes:
        size: rows and columns of taps.
        strides: between windows.
        padding: pixels by which windows extend beyond the map; a convolution crops the map by negative values.
        dilations: between taps.
    """

    size: Pair
    strides: Pair = (1, 1)
    padding: Padding = (0, 0, 0, 0)
    dilations: Pair = (1, 1)


def same_padding(size: int, kernel: int, stride: int, dilation: int = 1) -> tuple[int, int]:
    """Return TensorFlow's padding (before, after) of an axis for ``same``. An odd pixel goes after."""
    reach = dilation * (kernel - 1) + 1
    total = max((-(-size // stride) - 1) * stride + reach - size, 0)
    return total // 2, total - total // 2


def padded_window(kind: str, shape: Sequence[int], window: Window) -> Window:
    """Return a window with the padding for a map of (height, width, ...): ``same``, ``valid`` or ``causal``.

    Raises:
        ValueError: ``kind`` has another value.
    """
    if kind not in ("same", "valid", "causal"):
        raise ValueError(f"padding='{kind}'")
    if kind == "valid":
        return window
    if kind == "causal":
        top, left = ((size - 1) * apart for size, apart in zip(window.size, window.dilations))
        return replace(window, padding=(top, 0, left, 0))
    (top, bottom), (left, right) = map(same_padding, shape, window.size, window.strides, window.dilations)
    return replace(window, padding=(top, bottom, left, right))


Sides = Sequence[int]
"""(top, bottom, left, right) in pixels."""


def dilated_padding(block: Sequence[int], padding: Sides, crops: Sides, inner: Sides) -> Padding:
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


def convolved(
    name: str,
    source: str,
    kernel: Array,
    bias: Array,
    window: Window,
    groups: int = 1,
) -> list[Node]:
    """Return the nodes of a convolution by a kernel (height, width, channels of a group, filters)."""
    nodes = []
    if min(window.padding) < 0:
        nodes = [Node(name, "zero_padding", (source,), {"padding": window.padding})]
        window, source, name = replace(window, padding=(0, 0, 0, 0)), name, f"{name}-conv"
    attrs = {
        "strides": window.strides,
        "padding": window.padding,
        "groups": groups,
        "dilations": window.dilations,
        "activation": "linear",
    }
    arrays = {"kernel": kernel, "bias": bias}
    weights = {key: np.ascontiguousarray(array, np.float32) for key, array in arrays.items()}
    return [*nodes, Node(name, "conv2d", (source,), attrs, weights)]


@dataclass(frozen=True)
class Transposed:
    """A transposed convolution.

    Attributes:
        weights: (height, width, filters, channels).
        bias: (filters,).
        strides: (y, x).
        output_size: (height, width) of the output.
        crop: numbers of rows and columns left out at the top and left; None for half of the surplus, as TensorFlow
            crops for a given output shape.
        dilations: (y, x). Values above 1 require strides of 1.
    """

    weights: NDArray[np.float32]
    bias: NDArray[np.float32]
    strides: Pair
    output_size: Pair
    crop: Pair | None
    dilations: Pair = (1, 1)


def transposed(
    name: str,
    source: str,
    shape: Sequence[int],
    layer: Transposed,
    activated: Callable[[list[Node]], list[Node]] = list,
) -> list[Node]:
    """Return the nodes of a transposed convolution.

    Output pixel ``s * b + r`` sums input pixels ``b - j`` times kernel tap ``s * j + r``, for stride s and phase r. So
    a convolution of ceil(k / s) taps gives all phases of a block as channels. Its padding decides which blocks it
    computes, and a slice removes the pixels outside the output. Blocks that no input pixel reaches have the bias.

    Args:
        name: of the layer, and of the first node.
        source: name of the input node.
        shape: shape of the input.
        layer: the transposed convolution.
        activated: function that appends the layer's activation to the nodes of the convolution.
    """
    weights, strides, output_size, dilations = layer.weights, layer.strides, layer.output_size, layer.dilations
    phases = _phases(weights, strides)
    outputs = phases.shape[3]
    before, after, begin = [], [], []
    for axis in range(2):
        reach = (phases.shape[axis] - 1) * dilations[axis]  # window of the convolution minus 1, in blocks
        span = (weights.shape[axis] - 1) * dilations[axis] + 1
        surplus = max((shape[axis] - 1) * strides[axis] + span - output_size[axis], 0)
        skipped, first = divmod(surplus // 2 if layer.crop is None else layer.crop[axis], strides[axis])
        blocks = -(-(first + output_size[axis]) // strides[axis])
        before.append(reach - skipped)
        after.append(max(blocks + skipped - shape[axis], 0))
        begin.append(first)
    window = Window((phases.shape[0], phases.shape[1]), (1, 1), (before[0], after[0], before[1], after[1]), dilations)
    nodes = activated(convolved(name, source, phases, np.tile(layer.bias, outputs // weights.shape[2]), window))
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


def _phases(weights: NDArray[np.float32], strides: Pair) -> NDArray[np.float32]:
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


def _blocks(strides: Pair) -> list[Pair]:
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
