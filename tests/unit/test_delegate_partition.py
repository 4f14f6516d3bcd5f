"""Layers for the CPU: as few parts as possible, and the placement of each layer."""

from __future__ import annotations

import re

import numpy as np
import parted
import pytest
from graphs import conv_node, dense_node, input_node, pool_node
from pages import ROOT

from glsl_infer.compiler.build import Options
from glsl_infer.compiler.delegate import build
from glsl_infer.compiler.place import anchored, cpu_layers, move_to_cpu, place
from glsl_infer.errors import InputError, ModelError
from glsl_infer.graph import Graph, GraphOutput, Node, reference
from glsl_infer.ops.constant_map import constant_map

RNG = np.random.default_rng(0)


def branches() -> Graph:
    """Return a graph of two branches, each a convolution and a softmax, which join at the end."""
    body = [
        input_node(8),
        conv_node(RNG, "a", ("image",), 3, 4),
        Node("s", "tensor_softmax", ("a",), {"axis": 0}),
        conv_node(RNG, "b", ("image",), 3, 4),
        conv_node(RNG, "c", ("b",), 4, 4),
        Node("t", "tensor_softmax", ("c",), {"axis": 1}),
        Node("sum", "add", ("s", "t")),
        Node("peak", "max_pool", ("sum",), {"pool": (2, 2), "strides": (2, 2), "padding": (0, 0, 0, 0)}),
        conv_node(RNG, "d", ("peak",), 4, 4),
        pool_node("pool", "d"),
        dense_node(RNG, "dense", "pool", 4, 2),
    ]
    return Graph("m", body, "dense")


def partition(graph: Graph, *names: str) -> list[tuple[str, tuple[str, ...]]]:
    return [("cpu" if part.on_cpu else "gpu", part.nodes) for part in place(graph, names)]


def test_parts_take_all_that_is_ready() -> None:
    graph = branches()
    assert cpu_layers(graph) == ("s", "t")
    assert partition(graph, "s", "t") == [
        ("gpu", ("a", "b", "c")),
        ("cpu", ("s", "t")),
        ("gpu", ("sum", "peak", "d", "pool", "dense")),
    ]


def test_the_first_part_can_run_on_the_cpu() -> None:
    assert [kind for kind, _ in partition(branches(), "a", "b", "c")] == ["cpu", "gpu"]


def test_layers_without_weights_stay_between_cpu_layers() -> None:
    assert partition(branches(), "s", "t", "d", "pool", "dense") == [
        ("gpu", ("a", "b", "c")),
        ("cpu", ("s", "t", "sum", "peak", "d", "pool", "dense")),
    ]


@pytest.mark.parametrize(("filters", "groups", "stays"), [(4, 4, True), (4, 1, False)])
def test_scaling_convolutions_stay_between_cpu_layers(filters: int, groups: int, stays: bool) -> None:
    body = [
        input_node(8),
        conv_node(RNG, "a", ("image",), 3, 4),
        Node("s", "tensor_softmax", ("a",), {"axis": 0}),
        conv_node(RNG, "scaled", ("s",), 4, filters, groups=groups, activation="linear"),
        Node("t", "tensor_softmax", ("scaled",), {"axis": 1}),
    ]
    kinds = [kind for kind, _ in partition(Graph("m", body, "t"), "s", "t")]
    assert kinds == (["gpu", "cpu"] if stays else ["gpu", "cpu", "gpu", "cpu"])


def test_tensors_of_other_ranks_are_the_cpus() -> None:
    graph = parted.attentive()
    assert cpu_layers(graph) == ("rows", "query", "mixed", "even", "shares", "map")


def test_layers_by_name() -> None:
    with pytest.raises(InputError, match=r"--delegate-for x: .*; there are: a, rows, query, .* and \d+ more$"):
        build(parted.attentive(), parted.LABELS, options=Options(delegate_for=("x",)))
    with pytest.raises(InputError, match="--delegate-for"):
        build(parted.attentive(), parted.LABELS, options=Options(delegate_for=("image",)))


def test_without_delegation_layers_are_refused_by_name() -> None:
    options = Options(delegate=False)
    with pytest.raises(ModelError, match="layer 'rows'"):
        build(parted.attentive(), parted.LABELS, options=options)
    with pytest.raises(ModelError, match="layer 's'"):
        build(branches(), ("a", "b"), options=options)


def test_an_unknown_range_needs_images() -> None:
    body = [
        input_node(8),
        conv_node(RNG, "a", ("image",), 3, 4),
        Node("n", "tensor_norm", ("a",)),
        conv_node(RNG, "b", ("n",), 4, 4),
        pool_node("pool", "b"),
    ]
    graph = Graph("m", body, "pool")
    with pytest.raises(ModelError, match="layer 'n'"):
        build(graph, tuple("abcd"))
    built = build(graph, tuple("abcd"), calibration=[RNG.integers(0, 256, (8, 8, 3), np.uint8)])
    assert len(built.parts) == 3


def test_layers_that_lowering_refuses_go_to_the_cpu() -> None:
    wide = Node("wide", "resize", ("c",), {"size": (6, 2100), "method": "nearest", "convention": "half_pixel"})
    graph = Graph("m", [input_node(6), conv_node(RNG, "c", ("image",), 3, 4), wide], "wide")
    assert cpu_layers(graph) == ("wide",)
    with pytest.raises(ModelError, match="layer 'wide'"):
        build(graph, (), options=Options(delegate=False), calibration=[RNG.integers(0, 256, (6, 6, 3), np.uint8)])
    built = build(graph, (), calibration=[RNG.integers(0, 256, (6, 6, 3), np.uint8)])
    assert [part.on_cpu for part in built.parts] == [False, True] and built.parts[1].nodes == ("wide",)


def test_constants_of_a_part_read_its_input() -> None:
    constant = constant_map("k", np.ones((8, 8, 4), np.float32))
    body = [input_node(8), conv_node(RNG, "a", ("image",), 3, 4), constant, Node("sum", "add", ("a", "k"))]
    graph = anchored(Graph("m", body, "sum"))
    assert [node.inputs for node in graph.nodes] == [(), ("image",), ("image",), ("a", "k")]
    assert anchored(graph).by_name["k"].inputs == ("image",)


@pytest.mark.parametrize(("count", "op"), [(1, "cpu:concat"), (2, "tensor_concat")])
def test_a_concatenation_on_the_cpu(count: int, op: str) -> None:
    assert move_to_cpu(Node("joined", "concat", ("a",) * count)).op == op


def test_a_model_that_is_all_the_cpus() -> None:
    graph = Graph("m", [input_node(6), Node("s", "tensor_softmax", ("image",))], "s")
    with pytest.raises(ModelError, match="'m'"):
        build(graph, ())


def test_the_range_of_a_recurrent_layer_is_learnt() -> None:
    weights = {
        name: np.full(shape, 0.01, np.float32)
        for name, shape in (("kernel", (1, 32, 12)), ("recurrent", (1, 4, 12)), ("bias", (1, 12)))
    }
    body = [
        input_node(8),
        conv_node(RNG, "a", ("image",), 3, 4),
        Node("rows", "tensor_reshape", ("a",), {"shape": (8, 32)}),
        Node("steps", "gru", ("rows",), {}, weights),
        conv_node(RNG, "b", ("steps",), 4, 4),
    ]
    graph = Graph("m", body, "b")
    images = [RNG.integers(0, 256, (8, 8, 3), np.uint8)]
    largest = np.abs(dict(reference.layers(graph, images[0], mode="float"))["steps"]).max()
    (steps,) = build(graph, (), calibration=images).gpu[1].prepared.graph.inputs
    assert largest < 0.3 and max(steps.attrs["scales"]) < 2.0 * largest
    (steps,) = build(graph, (), calibration=()).gpu[1].prepared.graph.inputs
    assert max(steps.attrs["scales"]) > 1.9


def test_layers_on_the_cpu_read_numbers_that_no_texture_has_rounded() -> None:
    body = [
        Node("x", "input", (), {"shape": (2, 2, 3), "fit": None, "scales": None, "zeros": None}),
        Node("double", "tensor_binary", ("x",), {"operation": "multiply"}, {"constant": np.full(1, 2.0, np.float32)}),
        conv_node(RNG, "b", ("x",), 3, 3),
    ]
    graph = Graph("m", body, (GraphOutput("double", ("double",)), GraphOutput("b", ("b",))))
    sample = {"x": RNG.normal(0.0, 1.0, (2, 2, 3))}
    bundle = build(graph, (), calibration=[sample]).bundle
    stored, exact = (reference.run(bundle, sample, mode=mode) for mode in reference.MODES)
    np.testing.assert_allclose(stored["double"], exact["double"], rtol=1e-6)
    assert np.abs(stored["b"] - exact["b"]).max() > 1e-6


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
