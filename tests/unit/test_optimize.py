"""Every optimisation step keeps the reference's output and makes its intended change."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from graphs import PLS, conv_node, dense_node, input_node, pool_node

from glsl_infer import ops
from glsl_infer.bundle.format_constants import MAX_RANK
from glsl_infer.compiler import optimize
from glsl_infer.compiler.gutters import gutters
from glsl_infer.compiler.optimize import peel_endings
from glsl_infer.graph import Graph, Node, reference
from glsl_infer.graph.node import OBSERVED_RANGE
from glsl_infer.graph.piecewise_linear import HARD_SIGMOID, SEVEN_PIECES
from glsl_infer.importers.core.moves import gathered


def optimized(*nodes: Node) -> Graph:
    """Return the optimised graph of some nodes that read ``image``, 6x6 pixels, and check its output."""
    graph = Graph("network", (input_node(6), *nodes), nodes[-1].name)
    smaller = optimize.optimize(graph)
    picture = np.random.default_rng(1).integers(0, 256, (6, 6, 3), np.uint8)
    expected, result = (reference.run(each, picture) for each in (graph, smaller))
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5)
    return smaller


def batch_norm(rng: np.random.Generator, name: str, source: str, channels: int) -> Node:
    weights = {key: rng.normal(0, 1, channels).astype(np.float32) for key in ("gamma", "beta", "mean")}
    weights["variance"] = rng.uniform(0.2, 2, channels).astype(np.float32)
    return Node(name, "batch_norm", (source,), {"epsilon": 1e-3}, weights)


def network_for_all_steps(seed: int) -> Graph:
    """Return a network in which every step applies, with a case that the step must leave alone."""
    rng = np.random.default_rng(seed)
    linear = {"activation": "linear"}
    nodes = [
        input_node(11),
        Node("pad", "zero_padding", ("image",), {"padding": (1, 0, 2, 1)}),
        conv_node(rng, "a", ("pad",), 3, 8, kernel=(3, 3), padding=(0, 1, 0, 0), **linear),
        batch_norm(rng, "a-bn", "a", 8),
        batch_norm(rng, "a-bn2", "a-bn", 8),
        Node("a-drop", "identity", ("a-bn2",)),
        Node("a-act", "activation", ("a-drop",), {"function": PLS}),
        Node("same", "channel_shuffle", ("a-act",), {"step": 8}),
        conv_node(rng, "b", ("same",), 8, 8, kernel=(3, 3), padding=(1, 1, 1, 1), groups=2, **linear),
        batch_norm(rng, "b-bn", "b", 8),
        Node("b-add", "add", ("b-bn", "a-act"), linear),
        Node("b-act", "activation", ("b-add",), {"function": "sigmoid"}),
        Node("lin", "activation", ("b-act",), {"function": "linear"}),
        batch_norm(rng, "alone", "lin", 8),
        Node("alone-act", "activation", ("alone",), {"function": "hard_sigmoid"}),
        conv_node(rng, "read-twice", ("alone-act",), 8, 8, **linear),
        Node("one", "activation", ("read-twice",), {"function": "sigmoid"}),
        Node("two", "activation", ("read-twice",), {"function": PLS}),
        Node("sum", "add", ("one", "two"), linear),
        Node("sum-act", "activation", ("sum",), {"function": PLS}),
        pool_node("pool", "sum-act"),
        Node("flat", "flatten", ("pool",), {"scale": None}),
        dense_node(rng, "dense", "flat", 8, 5),
        batch_norm(rng, "dense-bn", "dense", 5),
        Node("dense-act", "activation", ("dense-bn",), {"function": "relu"}),
        dense_node(rng, "logits", "dense-act", 5, 4),
    ]
    return Graph("everything", tuple(nodes), "logits")


def outputs(graph: Graph, seed: int) -> np.ndarray:
    picture = np.random.default_rng(seed).integers(0, 256, (11, 11, 3), np.uint8)
    return reference.run(graph, picture, mode="float")


@pytest.mark.parametrize("step", optimize.STEPS, ids=lambda step: step.__name__)
@pytest.mark.parametrize("seed", [0, 1])
def test_each_step_alone_changes_no_output(step: Callable[[Graph], Graph], seed: int) -> None:
    graph = network_for_all_steps(seed)
    np.testing.assert_allclose(outputs(step(graph), seed), outputs(graph, seed), rtol=1e-4, atol=1e-4)


def test_sigmoids_of_straight_pieces_get_their_numbers() -> None:
    results = {node.name: node.attrs for node in optimize.sigmoids_as_pieces(network_for_all_steps(0)).nodes}
    assert results["alone-act"]["function"] == HARD_SIGMOID.name
    assert results["sum-act"]["function"] == SEVEN_PIECES.name == "piecewise_linear(0.05,0.125,1,0,0.25,2,0.2,0.3)"
    assert results["one"]["function"] == "sigmoid"


def test_the_original_graph_is_left_alone() -> None:
    graph = network_for_all_steps(0)
    before = str(graph), graph.by_name["a"].weights["kernel"].copy()
    optimize.optimize(graph)
    assert str(graph) == before[0]
    np.testing.assert_array_equal(graph.by_name["a"].weights["kernel"], before[1])


def test_all_steps_together_keep_the_outputs() -> None:
    graph = network_for_all_steps(2)
    small = optimize.optimize(graph)
    np.testing.assert_allclose(outputs(small, 2), outputs(graph, 2), rtol=1e-4, atol=1e-4)
    assert [(node.name, node.op) for node in small.nodes] == [
        ("image", "input"),
        ("a", "conv2d"),
        ("b", "conv2d"),
        ("alone", "conv2d"),
        ("read-twice", "conv2d"),
        ("one", "activation"),
        ("two", "activation"),
        ("sum", "add"),
        ("pool", "global_average_pool"),
        ("dense", "dense"),
        ("logits", "dense"),
    ]
    a, b = small.by_name["a"], small.by_name["b"]
    assert a.attrs["padding"] == (1, 1, 2, 1)
    assert a.attrs["fused"] == ("a-bn", "a-bn2", "a-act")
    assert b.inputs == ("a", "a")
    assert b.attrs["activation"] == "sigmoid"
    assert small.by_name["alone"].attrs["groups"] == 8
    assert small.by_name["alone"].attrs["activation"] == "piecewise_linear(0.166666667,0.5)"
    assert small.by_name["dense"].attrs["activation"] == "relu"


def test_optimising_is_idempotent() -> None:
    once = optimize.optimize(network_for_all_steps(0))
    assert str(optimize.optimize(once)) == str(once)


def test_only_the_final_softmax_is_removed() -> None:
    rng = np.random.default_rng(0)
    nodes = [
        input_node(5),
        pool_node("pool", "image"),
        dense_node(rng, "one", "pool", 3, 4),
        Node("inner", "softmax", ("one",)),
        dense_node(rng, "two", "inner", 4, 3),
        Node("last", "softmax", ("two",)),
    ]
    small = peel_endings(Graph("g", tuple(nodes), "last"))
    assert (small.output, small.outputs[0].steps) == ("two", ())
    assert "inner" in small.by_name


def test_a_convolution_that_is_the_output_keeps_its_name_and_value() -> None:
    rng = np.random.default_rng(0)
    nodes = (input_node(5), conv_node(rng, "conv", ("image",), 3, 4, activation="linear"))
    graph = Graph("g", (*nodes, Node("act", "activation", ("conv",), {"function": PLS})), "conv")
    optimized = optimize.optimize(graph)
    assert optimized.output == "conv"
    assert optimized.by_name["conv"].attrs["activation"] == "linear"


def test_a_residual_keeps_the_sum_s_own_activation() -> None:
    rng = np.random.default_rng(0)
    nodes = [
        input_node(11),
        conv_node(rng, "a", ("image",), 3, 3, activation="linear"),
        Node("sum", "add", ("a", "image"), {"activation": "relu"}),
    ]
    graph = Graph("g", tuple(nodes), "sum")
    np.testing.assert_allclose(outputs(optimize.optimize(graph), 0), outputs(graph, 0), atol=1e-5)
    assert outputs(graph, 0).min() == 0


def test_a_sum_of_many_maps_becomes_sums_that_a_draw_can_read() -> None:
    rng = np.random.default_rng(0)
    terms = [conv_node(rng, f"c{index}", ("image",), 3, 4) for index in range(17)]
    total = Node("sum", "add", tuple(node.name for node in terms), {"activation": "relu(6)"})
    graph = Graph("g", (input_node(4), *terms, total), "sum")
    small = optimize.optimize(graph)
    sums = [node for node in small.nodes if node.op == "add"]
    assert [len(node.inputs) for node in sums] == [8, 8, 3]
    picture = rng.integers(0, 256, (4, 4, 3), np.uint8)
    np.testing.assert_allclose(reference.run(small, picture), reference.run(graph, picture), rtol=1e-6)


@pytest.mark.parametrize("padding", [(0, 0, 127, 127), (65, 0, 64, 0), (200, 3, 0, 130)])
def test_padding_wider_than_a_gutter_is_split(padding: tuple[int, int, int, int]) -> None:
    rng = np.random.default_rng(0)
    kernel = (padding[0] + padding[1] + 1, padding[2] + padding[3] + 1)
    graph = Graph(
        "wide", (input_node(11), conv_node(rng, "conv", ("image",), 3, 2, kernel=kernel, padding=padding)), "conv"
    )
    split = optimize.split_wide_padding(graph)
    assert max(gutters(split).values()) <= 64
    assert [node.op for node in split.nodes[1:-1]] == ["zero_padding"] * len(split.nodes[1:-1]) != []
    np.testing.assert_allclose(outputs(split, 0), outputs(graph, 0), atol=1e-4)
    assert max(gutters(optimize.optimize(graph)).values()) <= 64


def ops_of(graph: Graph) -> list[str]:
    return [node.op for node in graph.nodes if node.op not in ("input", "input_fixed")]


def enlarged(op: str, filters: int = 4, **attrs: object) -> Graph:
    rng = np.random.default_rng(0)
    return optimized(
        conv_node(rng, "a", ("image",), 3, 8),
        Node("up", op, ("a",), {"size": (2, 3)}),
        conv_node(rng, "b", ("up",), 8, filters, **attrs),
    )


@pytest.mark.parametrize(
    ("op", "activation"),
    [("upsample_bilinear", "linear"), ("upsample_nearest", "linear"), ("upsample_nearest", "relu")],
)
def test_single_pixels_are_convolved_before_they_are_enlarged(op: str, activation: str) -> None:
    graph = enlarged(op, activation=activation)
    assert ops_of(graph) == ["conv2d", "conv2d", op]
    assert [node.name for node in graph.nodes] == ["image", "a", "b-before", "b"]


@pytest.mark.parametrize(
    ("filters", "attrs"),
    [
        (12, {"activation": "linear"}),  # more channels to enlarge
        (4, {"activation": "relu"}),
        (4, {"activation": "linear", "strides": (2, 2)}),
        (4, {"activation": "linear", "kernel": (3, 3)}),
        (4, {"activation": "linear", "padding": (1, 0, 0, 0)}),
    ],
)
def test_other_convolutions_stay_after_the_enlargement(filters: int, attrs: dict[str, object]) -> None:
    assert ops_of(enlarged("upsample_bilinear", filters, **attrs)) == ["conv2d", "upsample_bilinear", "conv2d"]


@pytest.mark.parametrize("op", ["upsample_bilinear", "upsample_nearest"])
def test_the_range_of_a_quantised_file_is_that_of_both_layers(op: str) -> None:
    """Interpolated values have a smaller range than the values before, which the file does not have."""
    rng = np.random.default_rng(0)
    nodes = [conv_node(rng, "a", ("image",), 3, 8), Node("up", op, ("a",), {"size": (2, 2)})]
    nodes.append(conv_node(rng, "b", ("up",), 8, 4, activation="linear").with_attrs(**{OBSERVED_RANGE: (-1.0, 2.0)}))
    graph = optimize.optimize(Graph("order", (input_node(6), *nodes), "b"))
    names = [node.name for node in graph.nodes if node.attrs.get(OBSERVED_RANGE) == (-1.0, 2.0)]
    assert names == (["b-before", "b"] if op == "upsample_nearest" else ["b"])


def test_an_enlarged_map_with_two_readers_stays() -> None:
    rng = np.random.default_rng(0)
    graph = optimized(
        conv_node(rng, "a", ("image",), 3, 4),
        Node("up", "upsample_bilinear", ("a",), {"size": (2, 2)}),
        conv_node(rng, "b", ("up",), 4, 4, activation="linear"),
        Node("product", "binary", ("up", "b"), {"operation": "multiply"}),
    )
    assert ops_of(graph) == ["conv2d", "upsample_bilinear", "conv2d", "binary"]


@pytest.mark.parametrize(
    "move",
    [
        Node("m", "depth_to_space", ("a",), {"block": 2}),
        Node("m", "transpose", ("a",)),
        Node("m", "channel_shuffle", ("a",), {"step": 8}),
        Node("m", "mirror_padding", ("a",), {"padding": (1, 1, 2, 0)}),
        Node("m", "upsample_nearest", ("a",), {"size": (2, 2)}),
    ],
    ids=lambda node: node.op,
)
def test_an_activation_is_fused_across_a_move(move: Node) -> None:
    rng = np.random.default_rng(0)
    a = conv_node(rng, "a", ("image",), 3, 64, activation="linear")
    graph = optimized(a, move, Node("act", "activation", ("m",), {"function": "sigmoid"}))
    assert ops_of(graph) == ["conv2d", move.op]
    assert [node.name for node in graph.nodes][1:] == ["act-before", "act"]


def test_activations_of_parts_and_of_channels_are_kept() -> None:
    rng = np.random.default_rng(0)
    a = conv_node(rng, "a", ("image",), 3, 8, activation="linear")
    corner = Node("m", "spatial_slice", ("a",), {"begin": (0, 0), "size": (1, 1)})
    graph = optimized(a, corner, Node("act", "activation", ("m",), {"function": "sigmoid"}))
    assert ops_of(graph) == ["conv2d", "spatial_slice", "activation"]
    each = Node("act", "activation", ("m",), {"function": "prelu(" + ",".join(["0.1"] * 7 + ["0.2"]) + ")"})
    graph = optimized(a, Node("m", "transpose", ("a",)), each)
    assert ops_of(graph) == ["conv2d", "transpose", "activation"]


def terms(count: int, channels: int, **attrs: object) -> list[Node]:
    """Return maps, and the node ``sum`` of them."""
    rng = np.random.default_rng(0)
    maps = [conv_node(rng, f"map{index}", ("image",), 3, channels) for index in range(count)]
    return [*maps, Node("sum", "add", tuple(node.name for node in maps), attrs)]


def averaged(count: int, channels: int, outputs: int = 5, **attrs: object) -> Graph:
    dense = dense_node(np.random.default_rng(2), "dense", "mean", channels, outputs)
    return optimized(*terms(count, channels, **attrs), pool_node("mean", "sum"), dense)


def convolved(channels: int, filters: int, **attrs: object) -> Graph:
    rng = np.random.default_rng(2)
    return optimized(*terms(2, channels), conv_node(rng, "end", ("sum",), channels, filters, **attrs))


@pytest.mark.parametrize(("count", "channels"), [(2, 8), (3, 6), (2, 64), (2, 130)])
def test_the_terms_of_a_sum_are_averaged(count: int, channels: int) -> None:
    graph = averaged(count, channels)
    assert ops_of(graph) == ["conv2d"] * count + ["global_average_pool", "dense"]
    assert graph.by_name["dense"].inputs == ("mean-terms",)
    assert graph.shapes["mean-terms"] == (count * channels,)


@pytest.mark.parametrize(
    ("count", "channels", "attrs"),
    [
        (2, 7, {}),  # a texel has two elements
        (3, 44, {}),  # the dense layer would take two passes
        (2, 8, {"activation": "relu"}),
    ],
)
def test_other_sums_are_drawn_before_they_are_averaged(count: int, channels: int, attrs: dict[str, object]) -> None:
    assert ops_of(averaged(count, channels, **attrs)) == ["conv2d"] * count + ["add", "global_average_pool", "dense"]


def test_a_sum_with_two_readers_is_drawn() -> None:
    rng = np.random.default_rng(2)
    dense = dense_node(rng, "dense", "mean", 8, 8)
    gated = Node("gated", "binary", ("sum", "dense"), {"operation": "multiply"})
    graph = optimized(*terms(2, 8), pool_node("mean", "sum"), dense, gated)
    assert ops_of(graph) == ["conv2d", "conv2d", "add", "global_average_pool", "dense", "binary"]


@pytest.mark.parametrize("op", ["upsample_bilinear", "upsample_nearest"])
def test_maps_are_averaged_before_they_are_enlarged(op: str) -> None:
    rng = np.random.default_rng(0)
    nodes = [
        conv_node(rng, "a", ("image",), 3, 8),
        Node("up", op, ("a",), {"size": (2, 3)}),
        Node("again", op, ("up",), {"size": (3, 1)}),
    ]
    assert ops_of(optimized(*nodes, pool_node("mean", "again"))) == ["conv2d", "global_average_pool"]
    gates = Node("gated", "binary", ("again", "mean"), {"operation": "multiply"})
    graph = optimized(*nodes, pool_node("mean", "again"), gates)
    assert ops_of(graph) == ["conv2d", op, op, "global_average_pool", "binary"]
    assert graph.by_name["mean"].inputs == ("a",)


def test_a_term_is_averaged_before_it_is_enlarged() -> None:
    rng = np.random.default_rng(0)
    graph = optimized(
        conv_node(rng, "large", ("image",), 3, 8),
        conv_node(rng, "small", ("image",), 3, 8, kernel=(2, 2), strides=(2, 2)),
        Node("up", "upsample_bilinear", ("small",), {"size": (2, 2)}),
        Node("sum", "add", ("large", "up")),
        pool_node("mean", "sum"),
        dense_node(rng, "dense", "mean", 8, 8, activation="sigmoid"),
        Node("gated", "binary", ("large", "dense"), {"operation": "multiply"}),
        Node("end", "add", ("gated", "up")),
    )
    assert graph.by_name["mean-terms"].inputs == ("large", "small")
    assert ops_of(graph) == ["conv2d", "conv2d", "upsample_bilinear", "global_average_pool", "dense", "binary", "add"]


def test_terms_are_convolved_as_channels_of_one_map() -> None:
    graph = convolved(8, 6)
    assert ops_of(graph) == ["conv2d", "conv2d", "concat", "conv2d"]
    assert graph.by_name["end"].weights["kernel"].shape == (1, 1, 16, 6)


@pytest.mark.parametrize(
    ("channels", "filters", "attrs"),
    [
        (6, 4, {}),  # not a view
        (8, 4, {"kernel": (3, 3)}),
        (8, 4, {"groups": 2}),
        (8, 4, {"padding": (1, 0, 0, 0)}),
        (68, 4, {}),  # more slices than a draw of 16 bits reads
        (64, 2400, {}),  # the products take longer than the sum
    ],
)
def test_other_convolutions_read_the_sum(channels: int, filters: int, attrs: dict[str, object]) -> None:
    assert ops_of(convolved(channels, filters, **attrs)) == ["conv2d", "conv2d", "add", "conv2d"]


def test_a_sum_in_the_draw_of_a_product_stays() -> None:
    rng = np.random.default_rng(2)
    maps = [conv_node(rng, name, ("image",), 3, 8) for name in "abc"]
    gated = Node("gated", "binary", ("a", "b"), {"operation": "multiply"})
    graph = optimized(*maps, gated, Node("sum", "add", ("gated", "c")), conv_node(rng, "end", ("sum",), 8, 4))
    assert ops_of(graph) == ["conv2d"] * 3 + ["binary", "add", "conv2d"]


def operators(shape: tuple[int, ...], indices: np.ndarray) -> list[str]:
    """Compute the nodes of a reordering, compare with NumPy, and return their operators."""
    values = {"x": np.arange(float(np.prod(shape))).reshape(shape)}
    nodes = gathered("moved", "x", shape, indices)
    for node in nodes:
        read = [values[name] for name in node.inputs]
        values[node.name] = ops.get(node.op).reference(node, read)
        assert values[node.name].shape == tuple(ops.get(node.op).shape(node, [value.shape for value in read]))
    assert np.array_equal(values[nodes[-1].name], values["x"].reshape(-1)[indices])
    return [node.op for node in nodes]


@pytest.mark.parametrize("seed", range(40))
def test_cuts_and_moves_of_axes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    shape = tuple(int(size) for size in rng.integers(1, 6, rng.integers(1, 6)))
    values = np.arange(np.prod(shape)).reshape(shape).transpose(rng.permutation(len(shape)))
    begins = [int(rng.integers(0, size)) for size in values.shape]
    parts = [slice(begin, int(rng.integers(begin + 1, size + 1))) for begin, size in zip(begins, values.shape)]
    assert "gather_points" not in operators(shape, np.ascontiguousarray(values[tuple(parts)]))


def test_heads_are_cut_and_turned() -> None:
    values = np.arange(9 * 3 * 2 * 4).reshape(9, 3, 2, 4).transpose(1, 2, 0, 3)[1]
    assert operators((9, 24), values) == ["tensor_reshape", "tensor_slice", "tensor_transpose", "tensor_reshape"]


def test_other_moves_name_every_place() -> None:
    values = np.arange(12).reshape(3, 4)
    assert operators((3, 4), values) == ["reshape"]
    assert (
        operators((3, 4), values[::-1]) == operators((3, 4), values[[0, 2, 2]]) == ["tensor_reshape", "gather_points"]
    )


@pytest.mark.parametrize("shape", [(32,), (4, 8), (2, 2, 2, 2, 2), (2, 2, 2, 2, 1, 2)])
def test_rolled_numbers_fit_the_axes_of_a_weight(shape: tuple[int, ...]) -> None:
    values = np.roll(np.arange(32).reshape(4, 4, 2), (-1, -1), (0, 1)).reshape(shape)
    operators((4, 4, 2), values)
    for node in gathered("moved", "x", (4, 4, 2), values):
        assert all(weights.ndim <= MAX_RANK for weights in node.weights.values())
