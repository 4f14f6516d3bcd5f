"""Chains of thousands of layers: no step rebuilds the graph for each change, and the results stay equal."""

from __future__ import annotations

import random

import numpy as np
import pytest
from graphs import conv_node, input_node

from glsl_infer.compiler import memory
from glsl_infer.compiler.memory import greedy
from glsl_infer.compiler.memory.objects import Tensor
from glsl_infer.compiler.optimize import optimize
from glsl_infer.graph import Graph, Node

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
        apart: list[Tensor] = []
        for index, (first, last) in enumerate(spans):
            tensor = Tensor(index, ((1,),), (first, last))
            meets = any(tensor.meets(other) for other in apart)
            assert greedy.meets(tensor.lifetime, sorted(other.lifetime for other in apart)) == meets
            if not meets:
                apart.append(tensor)


def test_memory_of_thousands_of_layers() -> None:
    for method in ("greedy", "by-size"):
        planned = memory.plan([100] * 5000, [(step, step + 1) for step in range(5000)], method)
        assert planned.objects == ((100,), (100,))
