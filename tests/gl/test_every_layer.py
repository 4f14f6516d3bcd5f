"""Random networks of every operator, layer by layer on any stored input, in every layout and weights mode."""

from __future__ import annotations

import numpy as np
import pytest
from graphs import conv_node, dense_node, input_node, pool_node
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from layer_check import TOLERANCE, layer_error, make_bundle, stored_inputs

from glsl_infer import ops
from glsl_infer.bundle import Bundle
from glsl_infer.gl.context import Context
from glsl_infer.graph import Graph, Node
from glsl_infer.importers.keras import same_padding
from glsl_infer.ops.operator import ViewOperator
from glsl_infer.session import Session

OPEN = ["linear", "relu", "relu(6)", "relu(0.5)"]
CLOSED = ["piecewise_linear_sigmoid", "hard_sigmoid", "sigmoid"]


def activation(draw: st.DrawFn) -> str:
    return draw(st.sampled_from([*OPEN, *CLOSED]))


@st.composite
def networks(draw: st.DrawFn, kind: str) -> Graph:
    """A picture of some range, two convolutions, the operator under test, then pool and dense or nothing."""
    rng = np.random.default_rng(draw(st.integers(0, 1 << 30)))
    size = draw(st.integers(5, 11))
    low, high = draw(st.sampled_from([(0.0, 1.0), (0.0, 255.0), (-1.0, 1.0), (1.0, -2.0)]))
    image = input_node(size)
    image = image.with_attrs(scales=(high - low,), zeros=(-low * 255.0 / (high - low),))
    channels = draw(st.sampled_from([1, 3, 4, 6, 8, 13]))
    pads = draw(st.sampled_from([(0, 0, 0, 0), (1, 1, 1, 1), (0, 1, 0, 1)]))
    body = [
        image,
        conv_node(rng, "a", ("image",), 3, channels, kernel=(2, 3), padding=pads, activation=activation(draw)),
    ]
    body.append(conv_node(rng, "b", ("a",), channels, channels, activation=activation(draw)))
    node, out = OPERATORS[kind](draw, rng, channels, body)
    body += node
    if kind == "flatten":
        values = Graph("random", tuple(body), "flat").shapes["flat"][0]
        body.append(dense_node(rng, "dense", "flat", values, 3))
    elif draw(st.booleans()):
        body += [pool_node("pool", body[-1].name), dense_node(rng, "dense", "pool", out, 3)]
    return Graph("random", tuple(body), body[-1].name)


def convolution(draw: st.DrawFn, rng: np.random.Generator, channels: int, body: list[Node]):
    kernel = (draw(st.integers(1, 3)), draw(st.integers(1, 3)))
    filters = draw(st.sampled_from([1, 4, 7]))
    pads = tuple(draw(st.integers(0, 1)) for _ in range(4))
    node = conv_node(rng, "n", ("a",), channels, filters, kernel=kernel, padding=pads, activation=activation(draw))
    return [node], filters


def depthwise(draw: st.DrawFn, rng: np.random.Generator, channels: int, body: list[Node]):
    multiplier = draw(st.sampled_from([1, 1, 2]))
    node = conv_node(
        rng,
        "n",
        ("b",),
        channels,
        channels * multiplier,
        kernel=(3, 3),
        groups=channels,
        strides=(draw(st.integers(1, 2)), 1),
        padding=(1, 1, 1, 1),
        activation=activation(draw),
    )
    return [node], channels * multiplier


def residual(draw: st.DrawFn, rng: np.random.Generator, channels: int, body: list[Node]):
    node = conv_node(
        rng, "n", ("a", "b"), channels, channels, kernel=(3, 3), padding=(1, 1, 1, 1), activation=activation(draw)
    )
    return [node], channels


def wide(draw: st.DrawFn, rng: np.random.Generator, channels: int, body: list[Node]):
    many = draw(st.sampled_from([36, 50, 72, 128]))
    groups = draw(st.sampled_from([1, 1, 2]))
    kernel = draw(st.sampled_from([(1, 1), (3, 3), (2, 1)]))
    pads = (*same_padding(9, kernel[0], 1), *same_padding(9, kernel[1], 1))
    filters = 2 * draw(st.integers(1, 5))
    more = conv_node(rng, "many", ("b",), channels, many, activation=activation(draw))
    inputs = ("many",)
    extra = []
    if draw(st.booleans()):
        extra = [conv_node(rng, "side", ("a",), channels, filters, activation=activation(draw))]
        inputs = ("many", "side")
    node = conv_node(
        rng, "n", inputs, many, filters, kernel=kernel, groups=groups, padding=pads, activation=activation(draw)
    )
    return [more, *extra, node], filters


def add(draw: st.DrawFn, rng: np.random.Generator, channels: int, body: list[Node]):
    return [Node("n", "add", ("a", "b", "a"), {"activation": activation(draw)})], channels


def lone_activation(draw: st.DrawFn, rng: np.random.Generator, channels: int, body: list[Node]):
    return [Node("n", "activation", ("a",), {"function": activation(draw)})], channels


def pooling(op: str):
    def made(draw: st.DrawFn, rng: np.random.Generator, channels: int, body: list[Node]):
        pool = (draw(st.integers(1, 4)), draw(st.integers(1, 4)))
        pads = [draw(st.integers(0, min(1, pool[axis // 2] - 1))) for axis in range(4)]
        strides = (draw(st.integers(1, 3)), draw(st.integers(1, 3)))
        source = draw(st.sampled_from(["a", "image"]))
        if op == "max_pool" and body[0].attrs["scales"][0] < 0:
            source = "a"
        node = Node("n", op, (source,), {"pool": pool, "strides": strides, "padding": tuple(pads)})
        return [node], channels if source == "a" else 3

    return made


def concat(draw: st.DrawFn, rng: np.random.Generator, channels: int, body: list[Node]):
    filters = draw(st.sampled_from([2, 5, 8]))
    nodes = [conv_node(rng, "c", ("a",), channels, filters, activation=activation(draw))]
    op = "concat" if channels % 4 == 0 else "concat_copy"
    nodes.append(Node("joint", op, ("b", "c", "a") if op == "concat_copy" or filters % 4 == 0 else ("b", "c")))
    total = channels * (len(nodes[-1].inputs) - 1) + filters
    if draw(st.booleans()):
        nodes.append(Node("pooled", "max_pool", ("joint",), {"pool": (2, 2), "strides": (1, 1)}))
    source, kind = nodes[-1].name, activation(draw)
    last = conv_node(rng, "n", (source,), total, 6, kernel=(2, 2), padding=(1, 0, 1, 1), activation=kind)
    return [*nodes, last], 6


def upsample(op: str):
    def made(draw: st.DrawFn, rng: np.random.Generator, channels: int, body: list[Node]):
        size = (draw(st.integers(1, 4)), draw(st.integers(1, 3)))
        source = draw(st.sampled_from(["a", "image"]))
        return [Node("n", op, (source,), {"size": size})], channels if source == "a" else 3

    return made


def depth_to_space(draw: st.DrawFn, rng: np.random.Generator, channels: int, body: list[Node]):
    block, out = draw(st.sampled_from([(2, 1), (2, 3), (2, 4), (2, 5), (3, 1), (3, 3)]))
    wide_enough = conv_node(rng, "c", ("a",), channels, block**2 * out, activation=activation(draw))
    return [wide_enough, Node("n", "depth_to_space", ("c",), {"block": block})], out


def zero_padding(draw: st.DrawFn, rng: np.random.Generator, channels: int, body: list[Node]):
    pads = tuple(draw(st.integers(0, 2)) for _ in range(4))
    after = Node("n", "max_pool", ("p",), {"pool": (2, 2), "strides": (1, 1), "padding": (0, 0, 0, 0)})
    return [Node("p", "zero_padding", ("a",), {"padding": pads}), after], channels


def shuffle(draw: st.DrawFn, rng: np.random.Generator, channels: int, body: list[Node]):
    many = conv_node(rng, "many", ("a",), channels, 64, activation=activation(draw))
    node = conv_node(
        rng, "n", ("s",), 64, 64, kernel=(3, 3), groups=16, padding=(1, 1, 1, 1), activation=activation(draw)
    )
    return [many, Node("s", "channel_shuffle", ("many",), {"step": 8}), node], 64


def flatten(draw: st.DrawFn, rng: np.random.Generator, channels: int, body: list[Node]):
    kept = channels + channels % 2
    few = conv_node(rng, "few", ("a",), channels, kept, strides=(2, 2), activation=activation(draw))
    return [few, Node("flat", "flatten", ("few",))], 0


OPERATORS = {
    "flatten": flatten,
    "convolution": convolution,
    "depthwise": depthwise,
    "residual": residual,
    "wide": wide,
    "add": add,
    "activation": lone_activation,
    "max_pool": pooling("max_pool"),
    "average_pool": pooling("average_pool"),
    "concat": concat,
    "upsample_nearest": upsample("upsample_nearest"),
    "upsample_bilinear": upsample("upsample_bilinear"),
    "depth_to_space": depth_to_space,
    "zero_padding": zero_padding,
    "shuffle": shuffle,
}


def errors(session: Session, rng: np.random.Generator) -> dict[str, float]:
    made: Bundle = session.bundle
    drawn = [node for node in made.graph.nodes if node.op != "input" and not isinstance(ops.get(node.op), ViewOperator)]
    return {node.name: layer_error(session, node.name, stored_inputs(made, node.name, rng)) for node in drawn}


@pytest.mark.parametrize("kind", OPERATORS)
def test_every_layer_is_exact(context: Context, kind: str) -> None:
    @given(networks(kind), st.sampled_from(["baked", "uniform", "auto"]), st.sampled_from(["atlas", "planar"]))
    @settings(max_examples=12, suppress_health_check=[HealthCheck.too_slow], phases=[Phase.generate])
    def check(graph: Graph, weights: str, layout: str) -> None:
        rng = np.random.default_rng(0)
        size = graph.input.attrs["shape"][0]
        pictures = [rng.integers(0, 256, (size, size, 3), np.uint8) for _ in range(3)]
        made = make_bundle(graph, weights, layout, pictures)
        with Session(made, context=context, selfcheck=True) as session:
            found = errors(session, rng)
        assert max(found.values()) <= TOLERANCE, found

    check()
