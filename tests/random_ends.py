"""Random small networks with several inputs and outputs."""

from __future__ import annotations

import numpy as np
from graphs import conv_node, dense_node, pool_node

from glsl_infer.graph import Graph, GraphOutput, Node
from glsl_infer.graph.host_steps import HostStep
from glsl_infer.graph.picture import FITS


def random_ends(seed: int) -> Graph:
    """Return a network of one to three images, maps and vectors, with one to four outputs."""
    rng = np.random.default_rng(seed)
    height, width = (int(rng.integers(5, 15)) for _ in range(2))
    nodes: list[Node] = []
    maps: list[tuple[str, int]] = []
    vectors: list[tuple[str, int]] = []
    for index in range(int(rng.integers(1, 4))):
        _input(rng, index, nodes, maps, vectors, height, width)
    if not maps:
        channels = int(rng.choice([1, 3]))
        nodes.append(Node("shown", "input", (), {"shape": (height, width, channels)}))
        maps.append(("shown", channels))
    trunk = []
    for index, (name, channels) in enumerate(maps):
        filters = int(rng.integers(1, 10))
        around = (1, 1, 1, 1)
        nodes.append(
            conv_node(rng, f"conv{index}", (name,), channels, filters, kernel=(3, 3), padding=around, strides=(2, 2))
        )
        trunk.append((f"conv{index}", filters))
    joined, channels = trunk[0]
    if len(trunk) > 1:
        nodes.append(Node("joined", "concat", tuple(name for name, _ in trunk)))
        joined, channels = "joined", sum(count for _, count in trunk)
    nodes.append(pool_node("pool", joined))
    vectors.append(("pool", channels))
    vector, length = vectors[0]
    if len(vectors) > 1:
        nodes.append(Node("all", "concat", tuple(name for name, _ in vectors)))
        vector, length = "all", sum(count for _, count in vectors)
    return Graph(f"random{seed}", nodes, _outputs(rng, nodes, joined, channels, vector, length))


def _input(
    rng: np.random.Generator,
    index: int,
    nodes: list[Node],
    maps: list[tuple[str, int]],
    vectors: list[tuple[str, int]],
    height: int,
    width: int,
) -> None:
    """Add an input of a random kind."""
    name, kind = f"in{index}", int(rng.integers(3))
    if kind == 0:
        channels, fit = int(rng.choice([1, 3, 4])), str(rng.choice(list(FITS)))
        ranged = {"scales": (2.0,), "zeros": (127.5,)} if channels != 4 and rng.random() < 0.5 else {}
        nodes.append(Node(name, "input", (), {"shape": (height, width, channels), "fit": fit, **ranged}))
        maps.append((name, channels))
    elif kind == 1:
        channels = int(rng.integers(1, 9))
        attrs = {
            "shape": (height, width, channels),
            "fit": None,
            "scales": (1.5,),
            "zeros": (float(rng.integers(256)),),
        }
        nodes.append(Node(name, "input", (), attrs))
        maps.append((name, channels))
    else:
        length = int(rng.integers(1, 12))
        nodes.append(Node(name, "input_fixed", (), {"shape": (length,), "low": -3.0, "high": 2.0}))
        vectors.append((name, length))


def _outputs(
    rng: np.random.Generator, nodes: list[Node], joined: str, channels: int, vector: str, length: int
) -> list[GraphOutput]:
    """Add the heads, and return the outputs."""
    outputs: list[GraphOutput] = []
    if rng.random() < 0.6:
        nodes.append(conv_node(rng, "mask", (joined,), channels, int(rng.integers(2, 7))))
        outputs.append(GraphOutput("mask", ("mask",), (HostStep("argmax"),)))
    if rng.random() < 0.6:
        nodes += [conv_node(rng, f"rows{index}", (joined,), channels, 6 + 3 * index) for index in range(2)]
        steps = (HostStep("rows", 3), HostStep("concatenate"), HostStep("sigmoid"))
        outputs.append(GraphOutput("rows", ("rows0", "rows1"), steps))
    if rng.random() < 0.6:
        nodes.append(dense_node(rng, "vector", vector, length, 5))
        outputs.append(GraphOutput("vector", ("vector",), (HostStep("l2-normalize"),)))
    if not outputs or rng.random() < 0.5:
        nodes.append(dense_node(rng, "first", vector, length, 7, activation="relu"))
        nodes.append(dense_node(rng, "second", vector, length, 7))
        nodes.append(Node("summed", "add", ("first", "second"), {"activation": "relu"}))
        nodes.append(Node("likely", "softmax", ("summed",)))
        outputs.append(GraphOutput("likely", ("likely",)))
    # A layer that no output reads would be drawn in vain, and an input must have a reader.
    read = {layer for output in outputs for layer in output.layers}
    for node in reversed(nodes):
        if node.name in read:
            read.update(node.inputs)
    nodes[:] = [node for node in nodes if node.name in read]
    return outputs
