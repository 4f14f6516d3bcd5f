"""Transposed convolutions as nodes: a convolution that computes every phase of the output, and depth to space."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from glsl_infer.errors import ModelError
from glsl_infer.graph import Node

PLAIN = {"strides": (1, 1), "padding": (0, 0, 0, 0), "groups": 1, "activation": "linear"}
"""Attributes of a convolution without options."""


def transposed(
    name: str,
    source: str,
    weights: NDArray[np.float32],
    bias: NDArray[np.float32],
    stride: int,
    *,
    given: Sequence[int],
    wanted: Sequence[int],
    begin: Sequence[int],
    activation: Sequence[Node] = (),
) -> list[Node]:
    """Return the nodes of a transposed convolution.

    Output pixel ``s * b + r`` sums input pixels ``b - j`` times kernel tap ``s * j + r``, for stride s and phase r. So
    a convolution of ceil(k / s) taps gives all phases of a block as channels; what lies beyond the output is cut off.

    Args:
        name: of the layer, and of the first node.
        source: the node that it reads.
        weights: (height, width, filters, channels).
        bias: (filters,).
        stride: of both axes.
        given: (height, width) of the input.
        wanted: (height, width) of the output.
        begin: (y, x) of its first pixel among those that the kernel reaches.
        activation: a node that reads the one called ``name``, or none.

    Raises:
        ModelError: an output beyond what the kernel reaches.
    """
    phases = _phases(weights, stride)
    taps_y, taps_x, _, outputs = phases.shape
    padding = (taps_y - 1, taps_y - 1, taps_x - 1, taps_x - 1)
    tiled = np.tile(bias, outputs // weights.shape[2]).astype(np.float32)
    first = Node(name, "conv2d", (source,), {**PLAIN, "padding": padding}, {"kernel": phases, "bias": tiled})
    nodes = [first, *activation]
    if stride > 1:
        nodes.append(Node(f"{name}-pixels", "depth_to_space", (nodes[-1].name,), {"block": stride}))
    made = ((given[0] + taps_y - 1) * stride, (given[1] + taps_x - 1) * stride)
    short = [want - (size - start) for want, size, start in zip(wanted, made, begin)]
    if max(short) > 0:  # more than the kernel reaches: zeros, plus the bias, which only a wider convolution gives
        raise ModelError.layer(
            name,
            f"an output of {wanted[0]}x{wanted[1]} pixels, beyond what the kernel reaches",
            "leave out output_padding, or make the kernel at least as large as the stride",
        )
    if tuple(wanted) != made:
        attrs = {"begin": tuple(begin), "size": tuple(wanted), "strides": (1, 1)}
        nodes.append(Node(f"{name}-cut", "spatial_slice", (nodes[-1].name,), attrs))
    return nodes


def cut_for_same(given: Sequence[int], wanted: Sequence[int], kernel: Sequence[int], stride: int) -> tuple[int, ...]:
    """Return where an output padded ``same`` begins: half of what is too much is cut off in front, as in TensorFlow."""
    return tuple(max((size - 1) * stride + taps - want, 0) // 2 for size, want, taps in zip(given, wanted, kernel))


def _phases(weights: NDArray[np.float32], block: int) -> NDArray[np.float32]:
    """Return the kernel (taps, taps, channels, block * block * filters) of the convolution of all phases."""
    height, width, filters, channels = weights.shape
    taps_y, taps_x = -(-height // block), -(-width // block)
    padded = np.zeros((taps_y * block, taps_x * block, filters, channels), np.float32)
    padded[:height, :width] = weights
    parts = padded.reshape(taps_y, block, taps_x, block, filters, channels)[::-1, :, ::-1]
    return np.ascontiguousarray(parts.transpose(0, 2, 5, 1, 3, 4).reshape(taps_y, taps_x, channels, -1))
