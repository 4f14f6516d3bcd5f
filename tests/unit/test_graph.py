"""Graphs check their names, order and shapes."""

from __future__ import annotations

import numpy as np
import pytest
from graphs import conv_node, dense_node, input_node, pool_node

from glsl_infer import ops
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
