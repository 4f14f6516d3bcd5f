"""Placement: as few parts as possible, the GPU if both processors are possible, and one module that decides."""

from __future__ import annotations

import re

import numpy as np
import pytest
from graphs import conv_node, input_node
from pages import ROOT

from glsl_infer.compiler.place import place
from glsl_infer.graph import Graph, Node

RNG = np.random.default_rng(0)


def parts(*nodes: Node) -> list[tuple[str, tuple[str, ...]]]:
    graph = Graph("m", [input_node(8), conv_node(RNG, "first", ("image",), 3, 4), *nodes], nodes[-1].name)
    return [("cpu" if part.on_cpu else "gpu", part.nodes) for part in place(graph)]


def on_cpu(name: str, source: str) -> Node:
    return Node(name, "tensor_softmax", (source,), {"axis": 0})


def cheap(name: str, *sources: str) -> Node:
    return Node(name, "activation", sources, {"function": "square"})


def conv(name: str, source: str) -> Node:
    return conv_node(RNG, name, (source,), 4, 4, kernel=(3, 3), padding=(1, 1, 1, 1))


def test_a_graph_of_shaders_is_one_part() -> None:
    assert parts(cheap("a", "first"), conv("last", "a")) == [("gpu", ("first", "a", "last"))]


def test_a_cheap_node_between_cpu_nodes_joins_them() -> None:
    assert parts(on_cpu("a", "first"), cheap("b", "a"), on_cpu("c", "b")) == [
        ("gpu", ("first",)),
        ("cpu", ("a", "b", "c")),
    ]


def test_a_cheap_node_that_only_the_gpu_reads_runs_there() -> None:
    assert parts(on_cpu("a", "first"), cheap("b", "a"), cheap("c", "b"), conv("last", "c")) == [
        ("gpu", ("first",)),
        ("cpu", ("a",)),
        ("gpu", ("b", "c", "last")),
    ]


def test_a_cheap_node_that_both_sides_read_needs_no_part_of_its_own() -> None:
    both = Node("both", "add", ("d", "last"))
    assert [kind for kind, _ in parts(on_cpu("a", "first"), cheap("b", "a"), conv("c", "b"),
                                      on_cpu("d", "b"), conv("e", "c"), cheap("last", "e"), both)] == [
        "gpu", "cpu", "gpu",
    ]  # fmt: skip


def test_a_network_without_sums_keeps_a_gpu_part() -> None:
    graph = Graph("m", [input_node(8), on_cpu("a", "image"), cheap("b", "a")], "b")
    assert [part.on_cpu for part in place(graph)] == [True, False]


@pytest.mark.parametrize("word", [r"\bon_cpu\b", "TEXTURE_RANKS ="])
def test_importers_leave_placement_to_the_compiler(word: str) -> None:
    files = [path for path in (ROOT / "glsl_infer/importers").rglob("*.py")]
    assert files and not [path.name for path in files if re.search(word, path.read_text("utf-8"))]


def test_the_ranks_of_textures_are_defined_once() -> None:
    results = [
        path.name for path in (ROOT / "glsl_infer").rglob("*.py") if "TEXTURE_RANKS =" in path.read_text("utf-8")
    ]
    assert results == ["layout.py"]
