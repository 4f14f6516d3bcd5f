"""Padding of tensors with zeros, other constants, or mirrored values."""

from __future__ import annotations

import numpy as np

from glsl_infer.graph import Node
from glsl_infer.importers.tflite.call import Call

_MODES = ("reflect", "symmetric")

ZERO = -1
"""Index of a channel of zeros in ``channel_gather``."""

MOST_CHANNELS = 2**16
"""Largest number of channels added by padding."""


def identity(call: Call) -> list[Node]:
    """Convert an operator without an effect."""
    return [call.node("identity")]


def pad(call: Call) -> list[Node]:
    """Convert a PAD of rows, columns and channels, with zeros or another value."""
    around = _around(call)
    value = float(call.constant(2, "a value").reshape(-1)[0]) if len(call.constants) > 2 else 0.0
    if not np.isfinite(value):
        raise call.refused(f"with {value}", "give a finite number")
    padding = (*around[1], *around[2])
    nodes: list[Node] = []
    if value and any(around[3]):
        raise call.refused(f"channels with {value:g}", "channels can be padded with zeros")
    if value:
        return [call.node("constant_padding", {"padding": padding, "value": value})]
    if any(padding):
        nodes.append(Node(call.name, "zero_padding", call.inputs[:1], {"padding": padding}))
    if any(around[3]):
        nodes += _channels_padded(call, nodes, around[3])
    return nodes or identity(call)


def _channels_padded(call: Call, before: list[Node], around: tuple[int, int]) -> list[Node]:
    """Return nodes that add channels of zeros before and after those of a map.

    The zeros are drawn once: up to 4 channels, by a convolution whose weights are 0. Views put them at their positions.
    """
    source = before[-1].name if before else call.inputs[0]
    channels = call.feature_map()[2]
    if sum(around) > MOST_CHANNELS:
        raise call.refused(f"by {sum(around)} channels", "the file is damaged")
    width = min(4, max(around), channels)
    name = f"{call.name}-zeros" if before else call.name
    part = Node(name, "channel_gather", (source,), {"channels": tuple(range(width))})
    attrs = {"strides": (1, 1), "padding": (0, 0, 0, 0), "groups": width, "activation": "linear"}
    weights = {"kernel": np.zeros((1, 1, 1, width), np.float32), "bias": np.zeros(width, np.float32)}
    zeros = Node(f"{name}-0", "conv2d", (part.name,), attrs, weights)
    nodes, sides = [part, zeros], []
    filled = 0 if around[0] % 4 else min(-channels % 4, around[1])
    if filled:  # a slice has free lanes for them
        kept = (*range(channels), *[ZERO] * filled)
        nodes.append(Node(f"{name}-filled", "channel_gather", (source,), {"channels": kept}))
        source = nodes[-1].name
    for count in (around[0], around[1] - filled):
        whole, rest = divmod(count, width)
        side = [zeros.name] * whole
        if rest:
            fewer = Node(f"{name}-{rest}", "channel_gather", (zeros.name,), {"channels": tuple(range(rest))})
            if fewer.name not in {node.name for node in nodes}:  # the other side can have the same number
                nodes.append(fewer)
            side.append(fewer.name)
        sides.append(side)
    return [*nodes, Node(f"{name}-joined", "concat", (*sides[0], source, *sides[1]))]


def mirror_pad(call: Call) -> list[Node]:
    """Convert a MIRROR_PAD of rows and columns."""
    around, mode = _around(call), call.option("Mode")
    if any(around[3]) or not 0 <= mode < len(_MODES):
        raise call.refused(f"by {around}", "rows and columns can be mirrored")
    return [call.node("mirror_padding", {"padding": (*around[1], *around[2]), "mode": _MODES[mode]})]


def _around(call: Call) -> list[tuple[int, int]]:
    """Return (before, after) of each of the four axes."""
    call.feature_map()
    numbers = call.integers(1, "its widths")
    if len(numbers) == 6:  # a tensor of three axes is a map of height 1
        numbers = [*numbers[:2], 0, 0, *numbers[2:]]
    if len(numbers) != 8 or min(numbers) < 0 or any(numbers[:2]):
        raise call.refused(f"by {numbers}", "rows, columns and channels can be padded, not the batch")
    return [(numbers[2 * axis], numbers[2 * axis + 1]) for axis in range(4)]
