"""Random nodes for random_networks.py: binary operations, slices, resizes, channel operators and norms.

Each builder takes a random generator, the channel count of the maps "a" and "b", and the nodes so far. It returns new
nodes and the channel count of the last one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from graphs import conv_node, dense_node, pool_node

from glsl_infer.graph import Graph, Node, Shape
from glsl_infer.graph.elementwise import DRAWN
from glsl_infer.ops.mirror_padding import MODES
from glsl_infer.ops.resize import CONVENTIONS, METHODS

Rng = np.random.Generator
NodesAndChannels = tuple[list[Node], int]
NodeBuilder = Callable[[Rng, int, list[Node]], NodesAndChannels]


def shape_of_a(body: Sequence[Node]) -> Shape:
    return Graph("so far", tuple(body), "a").shapes["a"]


def two_operands(rng: Rng, channels: int, body: list[Node]) -> NodesAndChannels:
    """Return an operation on "a" and a map of its shape, of one channel, pixel or row, a vector, or a scalar."""
    operation = str(rng.choice([name for name in DRAWN if name != "divide"]))  # the divisor could be 0
    height, width, _ = shape_of_a(body)
    kind = str(rng.choice(["same", "channel", "pixel", "row", "vector", "number"]))
    second = "b"
    nodes: list[Node] = []
    if kind == "channel":
        nodes = [conv_node(rng, "other", ("a",), channels, 1, activation="relu")]
    elif kind == "pixel":
        nodes = [Node("other", "max_pool", ("b",), {"pool": (height, width), "strides": (1, 1)})]
    elif kind == "row":
        nodes = [Node("other", "max_pool", ("b",), {"pool": (height, 1), "strides": (1, 1)})]
    elif kind in ("vector", "number"):
        length = channels if kind == "vector" else 1
        nodes = [pool_node("mean", "b"), dense_node(rng, "other", "mean", channels, length)]
    if nodes:
        second = nodes[-1].name
    inputs = ("a", second) if rng.integers(2) else (second, "a")
    return [
        *nodes,
        Node(
            "two",
            "binary",
            inputs,
            {"operation": operation, "activation": str(rng.choice(["linear", "relu", "sigmoid", "tanh"]))},
        ),
    ], channels


def sliced(rng: Rng, channels: int, body: list[Node]) -> NodesAndChannels:
    """Return a slice of rows and columns with random strides, also negative ones."""
    height, width, _ = shape_of_a(body)
    begins, sizes, strides = [], [], []
    for length in (height, width):
        stride = int(rng.choice([-2, -1, 1, 2, 3]))
        size = int(rng.integers(1, (length - 1) // abs(stride) + 2))
        span = abs(stride) * (size - 1)
        begin = int(rng.integers(0, length - span))
        begins.append(begin if stride > 0 else begin + span)
        sizes.append(size)
        strides.append(stride)
    attrs = {"begin": tuple(begins), "size": tuple(sizes), "strides": tuple(strides)}
    return [Node("part", "spatial_slice", ("a",), attrs)], channels


def gathered(rng: Rng, channels: int, body: list[Node]) -> NodesAndChannels:
    picked = tuple(int(channel) for channel in rng.integers(0, channels, int(rng.integers(1, 14))))
    return [Node("picked", "channel_gather", ("a",), {"channels": picked})], len(picked)


def viewed(rng: Rng, channels: int, body: list[Node]) -> NodesAndChannels:
    order = [int(index) for index in rng.permutation(4)][: int(rng.integers(1, 5))]
    picked = tuple(4 * index + lane for index in order for lane in range(4))
    wide = conv_node(rng, "wide", ("a",), channels, 16, activation="relu")
    return [wide, Node("picked", "channel_view", ("wide",), {"channels": picked})], len(picked)


def resized(rng: Rng, channels: int, body: list[Node]) -> NodesAndChannels:
    """Return a resize to a random size, with any method and convention."""
    attrs = {
        "size": (int(rng.integers(1, 20)), int(rng.integers(1, 20))),
        "method": str(rng.choice(METHODS)),
        "convention": str(rng.choice(list(CONVENTIONS))),
    }
    return [Node("resized", "resize", ("a",), attrs)], channels


def mirrored(rng: Rng, channels: int, body: list[Node]) -> NodesAndChannels:
    height, width, _ = shape_of_a(body)
    mode = str(rng.choice(list(MODES)))
    most = [length - MODES[mode] for length in (height, height, width, width)]
    padding = tuple(int(rng.integers(0, min(limit, 4) + 1)) for limit in most)
    return [Node("mirrored", "mirror_padding", ("a",), {"padding": padding, "mode": mode})], channels


def transposed(rng: Rng, channels: int, body: list[Node]) -> NodesAndChannels:
    return [Node("swapped", "transpose", ("a",))], channels


def channel_operator(op: str, **options: Sequence[object]) -> NodeBuilder:
    """Return a builder of an operator across the channels of a map with up to 18, or of "b" concatenated with it."""

    def add_nodes(rng: Rng, channels: int, body: list[Node]) -> NodesAndChannels:
        channel_count = int(rng.choice([channels, 13, 18]))  # with others at most 7 textures in planar layout
        nodes = [
            conv_node(rng, "many", ("a",), channels, channel_count, activation=str(rng.choice(["linear", "sigmoid"])))
        ]
        if channels % 4 == 0 and rng.integers(2):
            nodes.append(Node("both", "concat", ("b", "many")))
            channel_count += channels
        attrs = {name: values[int(rng.integers(len(values)))] for name, values in options.items()}
        if op == "channel_norm" and rng.integers(2):
            attrs |= {name: tuple(rng.normal(0.5, 1.0, channel_count).tolist()) for name in ("gamma", "beta")}
        reduces = op in ("channel_argmax", "channel_extreme")
        return [*nodes, Node("n", op, (nodes[-1].name,), attrs)], 1 if reduces else channel_count

    return add_nodes


def normalised(rng: Rng, channels: int, body: list[Node]) -> NodesAndChannels:
    """Return a map normalised by its statistics, over channels or over groups of channels."""
    groups = int(rng.choice([count for count in range(1, channels + 1) if channels % count == 0]))
    nodes = [pool_node("mean", "a"), Node("deviation", "global_deviation", ("a",))]
    if rng.integers(2):
        statistics = ("mean", "deviation")
        nodes += [
            Node(f"group-{name}", "group_statistics", statistics, {"groups": groups, "statistic": name})
            for name in statistics
        ]
    attrs = {"epsilon": 1e-3, "activation": str(rng.choice(["linear", "relu", "tanh"]))}
    attrs |= {name: tuple(rng.normal(0.5, 1.0, channels).tolist()) for name in ("gamma", "beta")}
    return [*nodes, Node("n", "map_norm", ("a", *(node.name for node in nodes[-2:])), attrs)], channels


NODE_BUILDERS: dict[str, NodeBuilder] = {
    "binary": two_operands,
    "spatial_slice": sliced,
    "channel_gather": gathered,
    "channel_view": viewed,
    "resize": resized,
    "mirror_padding": mirrored,
    "transpose": transposed,
    "channel_argmax": channel_operator("channel_argmax", smallest=(False, True)),
    "channel_extreme": channel_operator("channel_extreme", operation=("max", "min")),
    "channel_norm": channel_operator(
        "channel_norm", kind=("layer", "rms", "unit"), epsilon=(1e-3, 1e-6), activation=("linear", "relu", "sigmoid")
    ),
    "channel_softmax": channel_operator("channel_softmax"),
    "map_norm": normalised,
}
