"""Graphs check their names, order and shapes; chains of thousands of layers compile in linear time."""

from __future__ import annotations

import random

import numpy as np
import pytest
from graphs import conv_node, dense_node, input_node, pool_node

from glsl_infer import ops
from glsl_infer.compiler import memory
from glsl_infer.compiler.memory import greedy
from glsl_infer.compiler.memory.objects import Tensor
from glsl_infer.compiler.optimize import optimize
from glsl_infer.errors import ModelError
from glsl_infer.graph import Graph, Node

RNG = np.random.default_rng(0)


def graph(*nodes: Node, output: str | None = None) -> Graph:
    return Graph("test", nodes, output or nodes[-1].name)


def mirrored(padding: tuple[int, int, int, int]) -> Node:
    return Node("m", "mirror_padding", ("image",), {"padding": padding})


@pytest.mark.parametrize(
    "nodes, message",
    [
        ([input_node(4), input_node(4)], "'image': the name is used twice"),
        ([pool_node("pool", "image"), input_node(4)], r"'pool': reads \['image'\]"),
        ([input_node(4), Node("x", "nonsense", ("image",))], "no operator is called 'nonsense'; there are: activation"),
        ([input_node(4), conv_node(RNG, "c", ("image",), 4, 4)], "'c': a kernel of"),
        ([input_node(4), conv_node(RNG, "c", ("image",), 3, 4, kernel=(5, 5))], "'c': a 5x5 window on 4x4 pixels"),
        ([input_node(4), dense_node(RNG, "d", "image", 3, 2)], "'d': a dense of shape .*GlobalAveragePooling2D"),
        ([input_node(4), pool_node("p", "image"), dense_node(RNG, "d", "p", 4, 2)], "'d': a kernel of"),
        ([input_node(4), Node("s", "channel_shuffle", ("image",), {"step": 8})], "'s': channel shuffle of 3 channels"),
        (
            [input_node(4), Node("a", "activation", ("image",), {"function": "wave"})],
            "'a': no activation is called 'wave'",
        ),
        ([input_node(4), pool_node("p", "image"), Node("a", "add", ("image", "p"))], "'a': an addition of shapes"),
        ([input_node(4), conv_node(RNG, "c", ("image", "image"), 3, 4)], "'c': a residual of"),
        ([input_node(4), Node("s", "vector_softmax", ("image",))], "'s': a vector_softmax of shape"),
        ([input_node(4), mirrored((0, 0, 0, 4))], "'m': padding of"),
        ([input_node(4), mirrored((4, 0, 0, 0))], "'m': padding of"),
        ([input_node(4), mirrored((0, 0, -1, 0))], "'m': padding of"),
    ],
)
def test_inconsistent_nodes_are_refused_by_name(nodes: list[Node], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        graph(*nodes)


def test_a_missing_output_is_refused() -> None:
    with pytest.raises(ModelError, match="'other'"):
        graph(input_node(4), output="other")


def test_shapes_consumers_and_text() -> None:
    network = graph(
        input_node(8), conv_node(RNG, "c", ("image",), 3, 6, kernel=(3, 3), strides=(2, 2)), pool_node("p", "c")
    )
    assert dict(network.shapes) == {"image": (8, 8, 3), "c": (3, 3, 6), "p": (6,)}
    assert [node.name for node in network.consumers["c"]] == ["p"]
    assert "3x3x6" in str(network)


def test_every_operator_module_is_found_and_documented() -> None:
    assert {"conv2d", "dense", "add", "activation", "input", "global_average_pool"} <= set(ops.names())
    for name in ops.names():
        assert type(ops.get(name)).__doc__


LINEAR = {"activation": "linear"}


def chain(content: str, length: int) -> Graph:
    """Return a chain of layers, all of which fold into earlier ones."""
    rng = np.random.default_rng(0)
    scaled = {"scales": (-1.0,), "offsets": (0.25,)}
    if content == "vectors":
        nodes = [
            input_node(4),
            Node("flat", "flatten", ("image",), {"scale": None}),
            Node("0", "reshape", ("flat",), {"shape": (1, 1, 48)}),
        ]
    else:
        nodes = [input_node(4)]
        if content != "picture":
            nodes.append(conv_node(rng, "0", ("image",), 3, 3, **LINEAR))
    for index in range(1, length):
        before = nodes[-1].name
        if content in ("picture", "scales"):
            nodes.append(Node(str(index), "rescaling", (before,), scaled))
        elif content == "vectors" or index % 2:
            nodes.append(Node(str(index), "activation", (before,), {"function": "relu"}))
        else:
            nodes.append(conv_node(rng, str(index), (before,), 3, 3, **LINEAR))
    return Graph(content, nodes, nodes[-1].name)


@pytest.mark.parametrize("content", ["picture", "scales", "convolutions", "vectors"])
def test_graphs_that_are_made(content: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Optimising a long chain creates as many graphs as a short one."""
    rebuilt: list[int] = []
    begin = Graph.__init__

    def counted(self: Graph, *args: object, **kwargs: object) -> None:
        rebuilt[-1] += 1
        begin(self, *args, **kwargs)  # type: ignore[arg-type]

    chains = [chain(content, length) for length in (8, 80)]
    monkeypatch.setattr(Graph, "__init__", counted)
    for each in chains:
        rebuilt.append(0)
        optimize(each)
    assert rebuilt[0] == rebuilt[1] > 0


def test_a_picture_through_thousands_of_scales() -> None:
    """All scales fold into the input's range: an even number of negations with an offset each."""
    graph = optimize(chain("picture", 3002))
    scale, offset = 1.0, 0.0
    for _ in range(3000):
        scale, offset = -scale, 0.25 - offset
    (picture,) = (node for node in graph.nodes if node.op == "input")
    assert len(graph.nodes) == 2  # the second node is the output
    assert picture.attrs.get("scales", (1.0,)) == (scale,)
    assert picture.attrs.get("zeros", (0.0,))[0] == pytest.approx(-255 * offset / scale)


def test_scales_without_end_stay() -> None:
    """Scales that would make the input's range infinite are not folded."""
    nodes = [input_node(4)]
    for index in range(40):
        scaled = {"scales": (1e30,), "offsets": (1.0,)}
        nodes.append(Node(str(index), "rescaling", (nodes[-1].name,), scaled))
    graph = optimize(Graph("large", nodes, "39"))
    assert np.isfinite(graph.input.attrs["scales"]).all()
    assert len(graph.nodes) > 20


def test_objects_are_those_of_comparing_all() -> None:
    """The fast check of lifetimes agrees with a comparison of every tensor of an object."""
    rng = random.Random(0)
    for _ in range(300):
        spans = [sorted(rng.sample(range(30), 2)) for _ in range(rng.randrange(1, 12))]
        distinct: list[Tensor] = []
        for index, (first, last) in enumerate(spans):
            tensor = Tensor(index, ((1,),), (first, last))
            meets = any(tensor.meets(other) for other in distinct)
            assert greedy.meets(tensor.lifetime, sorted(other.lifetime for other in distinct)) == meets
            if not meets:
                distinct.append(tensor)


def test_memory_of_thousands_of_layers() -> None:
    for method in ("greedy", "by-size"):
        planned = memory.plan([100] * 5000, [(step, step + 1) for step in range(5000)], method)
        assert planned.objects == ((100,), (100,))
