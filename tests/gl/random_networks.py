"""Random networks around every operator, from a seeded generator, for tests and scripts/bench/accuracy.py.

The same seed gives the same network on every driver.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
from graphs import conv_node, dense_node, input_node, pool_node
from layer_check import layer_error, make_bundle, stored_inputs
from random_nodes import NODE_BUILDERS
from random_windows import WINDOWS

from glsl_infer import ops
from glsl_infer.bundle import Bundle
from glsl_infer.compiler.ranges import Calibration
from glsl_infer.compiler.ranges.eight_bits import assign_ranges
from glsl_infer.compiler.ranges.precision import possible_layers
from glsl_infer.graph import Graph, Node
from glsl_infer.ops.conv2d import Conv2D
from glsl_infer.ops.operator import ViewOperator
from glsl_infer.program.layout import LAYOUTS, SixteenBitMap
from glsl_infer.runtime.session import Session

T = TypeVar("T")
Rng = np.random.Generator
NodesAndChannels = tuple[list[Node], int]
"""The nodes of a kind, the last of which is under test, and its number of channels."""

OPEN = ["linear", "relu", "relu(6)", "relu(0.5)"]
CLOSED = [
    "piecewise_linear_sigmoid",
    "hard_sigmoid",
    "sigmoid",
    "piecewise_linear(0.166666667,0.5)",
    "piecewise_linear(0.04,0.1,0,0.1,0.2,2.75,0.15,0.375)",
]
WEIGHTS = ("baked", "uniform", "texture", "auto")
SAME = (1, 1, 1, 1)


def pick(rng: Rng, options: Sequence[T]) -> T:
    return options[int(rng.integers(len(options)))]


def integer(rng: Rng, low: int, high: int) -> int:
    """Return a random integer from low to high, both included."""
    return int(rng.integers(low, high + 1))


def activation(rng: Rng) -> str:
    return pick(rng, [*OPEN, *CLOSED])


def network(kind: str, rng: Rng) -> Graph:
    """Return an input of some range, two convolutions, the operator under test, and optionally pool and dense."""
    size = integer(rng, 6, 11)  # "a" is one row and two columns smaller, and windows are up to 4x4
    low, high = pick(rng, [(0.0, 1.0), (0.0, 255.0), (-1.0, 1.0), (1.0, -2.0)])
    image = input_node(size)
    image = image.with_attrs(scales=(high - low,), zeros=(-low * 255.0 / (high - low),))
    channels = pick(rng, [1, 3, 4, 6, 8, 13])
    pads = pick(rng, [(0, 0, 0, 0), (1, 1, 1, 1), (0, 1, 0, 1)])
    body = [
        image,
        conv_node(rng, "a", ("image",), 3, channels, kernel=(2, 3), padding=pads, activation=activation(rng)),
        conv_node(rng, "b", ("a",), channels, channels, activation=activation(rng)),
    ]
    nodes, out = KINDS[kind](rng, channels, body)
    body += nodes
    if kind == "dense":
        hidden = integer(rng, 1, 40)
        body += [pool_node("pool", body[-1].name), dense_node(rng, "hidden", "pool", out, hidden)]
        body.append(dense_node(rng, "dense", "hidden", hidden, integer(rng, 1, 20)))
    elif kind == "flatten":
        (values,) = Graph("random", tuple(body), "flat").shapes["flat"]
        body.append(dense_node(rng, "dense", "flat", values, 3))
    elif pick(rng, [False, True]):
        body += [pool_node("pool", body[-1].name), dense_node(rng, "dense", "pool", out, 3)]
    return Graph("random", tuple(body), body[-1].name)


def convolution(rng: Rng, channels: int, body: list[Node]) -> NodesAndChannels:
    filters = pick(rng, [1, 4, 7])
    return [_conv(rng, "n", ("a",), channels, filters)], filters


def grouped(rng: Rng, channels: int, body: list[Node]) -> NodesAndChannels:
    many = pick(rng, [6, 8, 12, 24])
    groups = pick(rng, [g for g in (2, 3, 4, 6) if many % g == 0])
    filters = groups * integer(rng, 1, 4)
    source = conv_node(rng, "many", ("b",), channels, many, activation=activation(rng))
    return [source, _conv(rng, "n", ("many",), many, filters, groups=groups)], filters


def depthwise(rng: Rng, channels: int, body: list[Node]) -> NodesAndChannels:
    filters = channels * pick(rng, [1, 1, 2])
    return [_conv(rng, "n", ("b",), channels, filters, groups=channels)], filters


def residual(rng: Rng, channels: int, body: list[Node]) -> NodesAndChannels:
    """Return a convolution with a residual."""
    groups = pick(rng, [g for g in (1, 1, 2, 4, channels) if channels % g == 0])
    act = activation(rng)
    kernel, pads = pick(rng, [((3, 3), SAME), ((1, 1), (0, 0, 0, 0)), ((2, 1), (1, 0, 0, 0))])
    node = conv_node(
        rng, "n", ("a", "b"), channels, channels, kernel=kernel, groups=groups, padding=pads, activation=act
    )
    return [node], channels


def wide(rng: Rng, channels: int, body: list[Node]) -> NodesAndChannels:
    """Return a convolution of many channels, whose sum can take several passes."""
    many = pick(rng, [36, 50, 72, 128])
    groups = pick(rng, [1, 1, 2])
    kernel, pads = pick(rng, [((1, 1), (0, 0, 0, 0)), ((3, 3), SAME), ((2, 1), (0, 1, 0, 0))])
    filters = 2 * integer(rng, 1, 5)
    source = conv_node(rng, "many", ("b",), channels, many, activation=activation(rng))
    inputs: tuple[str, ...] = ("many",)
    extra = []
    strides = (integer(rng, 1, 2), integer(rng, 1, 2))
    if pick(rng, [False, True]):
        extra, inputs = (
            [conv_node(rng, "side", ("a",), channels, filters, activation=activation(rng))],
            ("many", "side"),
        )
        strides = (1, 1)
    options: dict[str, Any] = {"kernel": kernel, "groups": groups, "padding": pads, "strides": strides}
    return [source, *extra, conv_node(rng, "n", inputs, many, filters, activation=activation(rng), **options)], filters


def add(rng: Rng, channels: int, body: list[Node]) -> NodesAndChannels:
    return [Node("n", "add", pick(rng, [("a", "b"), ("a", "b", "a")]), {"activation": activation(rng)})], channels


def lone_activation(rng: Rng, channels: int, body: list[Node]) -> NodesAndChannels:
    return [Node("n", "activation", ("a",), {"function": activation(rng)})], channels


def pooling(op: str) -> Callable[[Rng, int, list[Node]], NodesAndChannels]:
    """Return a generator of pooling nodes with random windows."""

    def add_nodes(rng: Rng, channels: int, body: list[Node]) -> NodesAndChannels:
        pool = (integer(rng, 1, 4), integer(rng, 1, 4))
        pads = tuple(integer(rng, 0, min(1, pool[axis // 2] - 1)) for axis in range(4))
        strides = (integer(rng, 1, 3), integer(rng, 1, 3))
        source = pick(rng, ["a", "image"])
        if op in ("max_pool", "min_pool") and body[0].attrs["scales"][0] < 0:
            source = "a"
        node = Node("n", op, (source,), {"pool": pool, "strides": strides, "padding": pads})
        return [node], channels if source == "a" else 3

    return add_nodes


def concat(rng: Rng, channels: int, body: list[Node]) -> NodesAndChannels:
    """Return a concatenation and a convolution after it, perhaps with a pooling in between."""
    filters = pick(rng, [2, 5, 8])
    nodes = [conv_node(rng, "c", ("a",), channels, filters, activation=activation(rng))]
    op = "concat" if channels % 4 == 0 else "concat_copy"
    nodes.append(Node("joint", op, ("b", "c", "a") if op == "concat_copy" or filters % 4 == 0 else ("b", "c")))
    total = channels * (len(nodes[-1].inputs) - 1) + filters
    if integer(rng, 0, 1):
        nodes.append(Node("pooled", "max_pool", ("joint",), {"pool": (2, 2), "strides": (1, 1)}))
    source, pads = nodes[-1].name, (1, 0, 1, 1)
    last = conv_node(rng, "n", (source,), total, 6, kernel=(2, 2), padding=pads, activation=activation(rng))
    return [*nodes, last], 6


def upsample(op: str) -> Callable[[Rng, int, list[Node]], NodesAndChannels]:
    """Return a generator of enlargements by random integer factors."""

    def add_nodes(rng: Rng, channels: int, body: list[Node]) -> NodesAndChannels:
        source = pick(rng, ["a", "image"])
        node = Node("n", op, (source,), {"size": (integer(rng, 1, 4), integer(rng, 1, 3))})
        return [node], channels if source == "a" else 3

    return add_nodes


def depth_to_space(rng: Rng, channels: int, body: list[Node]) -> NodesAndChannels:
    block, out = pick(rng, [(2, 1), (2, 3), (2, 4), (2, 5), (3, 1), (3, 3)])
    wide_enough = conv_node(rng, "c", ("a",), channels, block**2 * out, activation=activation(rng))
    return [wide_enough, Node("n", "depth_to_space", ("c",), {"block": block})], out


def zero_padding(rng: Rng, channels: int, body: list[Node]) -> NodesAndChannels:
    pads = tuple(integer(rng, 0, 2) for _ in range(4))
    after = Node("n", "max_pool", ("p",), {"pool": (2, 2), "strides": (1, 1), "padding": (0, 0, 0, 0)})
    return [Node("p", "zero_padding", ("a",), {"padding": pads}), after], channels


def shuffle(rng: Rng, channels: int, body: list[Node]) -> NodesAndChannels:
    many = conv_node(rng, "many", ("a",), channels, 64, activation=activation(rng))
    node = conv_node(rng, "n", ("s",), 64, 64, kernel=(3, 3), groups=16, padding=SAME, activation=activation(rng))
    return [many, Node("s", "channel_shuffle", ("many",), {"step": 8}), node], 64


def before_dense(rng: Rng, channels: int, body: list[Node]) -> NodesAndChannels:
    """Return a layer with enough channels for dense layers of one and of several sums."""
    filters = pick(rng, [1, 5, 16, 70, 270])
    return [conv_node(rng, "n", ("a",), channels, filters, activation=activation(rng))], filters


def flatten(rng: Rng, channels: int, body: list[Node]) -> NodesAndChannels:
    even = channels + channels % 2
    return [_conv(rng, "few", ("a",), channels, even), Node("flat", "flatten", ("few",))], 0


def _conv(rng: Rng, name: str, inputs: tuple[str, ...], channels: int, filters: int, groups: int = 1) -> Node:
    """Return a convolution with a random kernel, strides, paddings and activation."""
    return conv_node(
        rng,
        name,
        inputs,
        channels,
        filters,
        kernel=(integer(rng, 1, 3), integer(rng, 1, 3)),
        groups=groups,
        strides=(integer(rng, 1, 3), integer(rng, 1, 3)),
        padding=(integer(rng, 0, 1), integer(rng, 0, 1), integer(rng, 0, 1), integer(rng, 0, 1)),
        activation=activation(rng),
    )


KINDS: dict[str, Callable[[Rng, int, list[Node]], NodesAndChannels]] = {
    "conv2d": convolution,
    "grouped": grouped,
    "depthwise": depthwise,
    "residual": residual,
    "wide": wide,
    "add": add,
    "activation": lone_activation,
    "max_pool": pooling("max_pool"),
    "min_pool": pooling("min_pool"),
    "average_pool": pooling("average_pool"),
    "concat": concat,
    "upsample_nearest": upsample("upsample_nearest"),
    "upsample_bilinear": upsample("upsample_bilinear"),
    "depth_to_space": depth_to_space,
    "zero_padding": zero_padding,
    "shuffle": shuffle,
    "dense": before_dense,
    "flatten": flatten,
    **NODE_BUILDERS,
    **WINDOWS,
}
"""The kinds of networks, by the operator under test."""


AMPLIFIED = 0.2
"""Largest error of the 32-bit sums of a layer, in steps, if all roundings added up."""


def random_bundle(kind: str, seed: int, *, sixteen_bit: bool = False) -> Bundle:
    """Return the bundle of a random network, with random layout and weights mode, calibrated on three random images.

    With ``sixteen_bit``, each layer that can be stored in 16 bits is, in two of three cases.

    A network is drawn again if one of its layers amplifies its input ten thousand times and cancels most of the result.
    The floats of a shader are too imprecise for it, and trained networks do not contain such layers.
    """
    for attempt in itertools.count():
        rng = np.random.default_rng([seed, list(KINDS).index(kind), *[attempt] * bool(attempt)])
        graph = network(kind, rng)
        size = graph.input.attrs["shape"][0]
        pictures = [rng.integers(0, 256, (size, size, 3), np.uint8) for _ in range(3)]
        weights, layout = pick(rng, WEIGHTS), pick(rng, LAYOUTS)
        ranged = assign_ranges(graph, Calibration(pictures)).graph
        bits = {name: pick(rng, [8, 16, 16]) for name in possible_layers(ranged)} if sixteen_bit else {}
        bundle = make_bundle(graph, weights, layout, pictures, precision_for=bits)
        if all(rounding(bundle, node) <= AMPLIFIED for node in bundle.graph.nodes if node.op == "conv2d"):
            return bundle
    raise AssertionError


def rounding(bundle: Bundle, node: Node) -> float:
    """Return the error of a convolution's sums in steps, if all 32-bit roundings are the largest and add up."""
    kernel = np.abs(node.weights["kernel"].astype(np.float64))
    source, target = bundle.values[node.inputs[0]], bundle.values[node.name]
    filters, groups = kernel.shape[3], node.attrs["groups"]
    scales = np.broadcast_to(np.abs(source.scale_of), (source.channels,)).reshape(groups, -1)
    sums = np.einsum("yxcgf,gc->gf", kernel.reshape(*kernel.shape[:3], groups, filters // groups), scales).reshape(-1)
    return float((255.0 * sums / np.abs(target.scale_of) * 2.0**-24).max())


def fine_rounding(bundle: Bundle, node: Node) -> float:
    """Return the error of 32-bit sums that the 256 times finer steps of 16 bits show, in steps of the node's output.

    Weights in a texture are bytes with 128 as 0, so intermediate sums are larger than the result. An NVIDIA H200
    fetches such a byte with an error in its last bit, which 24-bit biases make 5.3 steps; Mesa has less than 1.
    """
    if not isinstance(bundle.values[node.name], SixteenBitMap) or not isinstance(ops.get(node.op), Conv2D):
        return 0.0
    layer = next(layer for layer in bundle.network.layers if layer.name == node.name)
    return 256.0 * rounding(bundle, node) + 6.0 * any(member.endswith(".rgba") for member in layer.members)


def drawn_nodes(bundle: Bundle) -> list[Node]:
    """Return the nodes with passes."""
    return [
        node for node in bundle.graph.nodes if node.op != "input" and not isinstance(ops.get(node.op), ViewOperator)
    ]


def layer_errors(session: Session, rng: Rng) -> dict[str, float]:
    """Return the error of every layer on random stored inputs, in steps."""
    bundle = session.bundle
    return {
        node.name: layer_error(session, node.name, stored_inputs(bundle, node.name, rng))
        for node in drawn_nodes(bundle)
    }
