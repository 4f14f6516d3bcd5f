"""Random nodes with windows that the convolutions and poolings of random_networks.py do not have.

Each function gets a generator, the number of channels of the maps "a" and "b" and the previous nodes. It returns nodes
and the number of channels of the last one.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from graphs import conv_node
from random_nodes import shape_of_a

from glsl_infer.graph import Node
from glsl_infer.ops.channel_gather import ZERO
from glsl_infer.ops.depth_to_space import ORDERS

Rng = np.random.Generator
NodesAndChannels = tuple[list[Node], int]

ACTIVATIONS = ("linear", "relu", "relu(6)", "sigmoid", "piecewise_linear_sigmoid")


def dilated(rng: Rng, channels: int, body: list[Node]) -> NodesAndChannels:
    """Return a dilated convolution: full, grouped or depthwise, strided or with a residual."""
    groups = int(rng.choice([1, 1, channels]))
    filters = channels if groups > 1 else int(rng.choice([1, 4, 7]))
    kernel = (int(rng.integers(1, 4)), int(rng.integers(2, 4)))
    dilations = (int(rng.integers(1, 4)), int(rng.integers(1, 5)))
    around = [(size - 1) * step for size, step in zip(kernel, dilations)]
    strides = (int(rng.integers(1, 3)), int(rng.integers(1, 3)))
    inputs: tuple[str, ...] = ("a",)
    nodes: list[Node] = []
    if rng.integers(2):
        strides = (1, 1)
        nodes = [conv_node(rng, "side", ("b",), channels, filters, activation="relu")]
        inputs = ("a", "side")
    before = [int(rng.integers(0, total + 1)) if strides != (1, 1) else total // 2 for total in around]
    padding = (before[0], around[0] - before[0], before[1], around[1] - before[1])
    nodes.append(
        conv_node(
            rng,
            "n",
            inputs,
            channels,
            filters,
            kernel=kernel,
            groups=groups,
            strides=strides,
            padding=padding,
            dilations=dilations,
            activation=str(rng.choice(ACTIVATIONS)),
        )
    )
    return nodes, filters


def dilated_wide(rng: Rng, channels: int, body: list[Node]) -> NodesAndChannels:
    """Return a dilated convolution over many slices.

    Its shaders compute taps per tile, and planar layout adds partial sums.
    """
    many = int(rng.choice([36, 50, 72]))
    height, width, _ = shape_of_a(body)
    dilations = (int(rng.integers(1, height + 3)), int(rng.integers(1, width + 3)))
    source = conv_node(rng, "many", ("b",), channels, many, activation="relu")
    padding = (dilations[0], dilations[0], dilations[1], dilations[1])
    last = conv_node(rng, "n", ("many",), many, 6, kernel=(3, 3), padding=padding, dilations=dilations)
    return [source, last], 6


def shuffled_pixels(rng: Rng, channels: int, body: list[Node]) -> NodesAndChannels:
    """Return a depth to space with any block sides, in both orders."""
    down, across = int(rng.integers(1, 4)), int(rng.integers(1, 3))
    out = int(rng.choice([1, 3, 5] if down * across < 4 else [1, 4]))
    wide_enough = conv_node(rng, "c", ("a",), channels, down * across * out, activation="sigmoid")
    attrs = {"block": (down, across), "order": str(rng.choice(ORDERS))}
    return [wide_enough, Node("n", "depth_to_space", ("c",), attrs)], out


def padded_with_a_number(rng: Rng, channels: int, body: list[Node]) -> NodesAndChannels:
    padding = tuple(int(side) for side in rng.integers(-1, 4, 4))
    value = float(rng.choice([-1.5, 0.3, 4.0]))
    return [Node("n", "constant_padding", ("a",), {"padding": padding, "value": value})], channels


def cropped(rng: Rng, channels: int, body: list[Node]) -> NodesAndChannels:
    padding = tuple(int(side) for side in rng.integers(-1, 3, 4))
    return [Node("n", "zero_padding", ("a",), {"padding": padding})], channels


def more_channels(rng: Rng, channels: int, body: list[Node]) -> NodesAndChannels:
    before, after = int(rng.integers(0, 6)), int(rng.integers(0, 10))
    picked = (*[ZERO] * before, *range(channels), *[ZERO] * after)
    gathered = Node("grown", "channel_gather", ("a",), {"channels": picked})
    return [gathered, conv_node(rng, "n", ("grown",), len(picked), 3, kernel=(3, 3), padding=(1, 1, 1, 1))], 3


def roots_of_squares(rng: Rng, channels: int, body: list[Node]) -> NodesAndChannels:
    pool = (int(rng.integers(1, 5)), int(rng.integers(1, 5)))
    padding = tuple(int(rng.integers(0, min(2, pool[axis // 2]))) for axis in range(4))
    strides = (int(rng.integers(1, 4)), int(rng.integers(1, 4)))
    source = str(rng.choice(["a", "image"]))
    node = Node("n", "l2_pool", (source,), {"pool": pool, "strides": strides, "padding": padding})
    return [node], channels if source == "a" else 3


WINDOWS: dict[str, Callable[[Rng, int, list[Node]], NodesAndChannels]] = {
    "dilated": dilated,
    "dilated_wide": dilated_wide,
    "shuffled_pixels": shuffled_pixels,
    "constant_padding": padded_with_a_number,
    "cropped": cropped,
    "more_channels": more_channels,
    "l2_pool": roots_of_squares,
}
