"""Steps for image ranges, heads on 1x1 maps, concatenation, long vectors and channels of zeros."""

from __future__ import annotations

import numpy as np
import pytest
from graphs import classifier, conv_node, dense_node, input_node, pool_node
from pairwise import each_of

from glsl_infer.compiler import optimize
from glsl_infer.compiler.optimize import optimize as optimize_graph
from glsl_infer.compiler.ranges import Calibration, prepare
from glsl_infer.compiler.ranges.rewrites import dedupe_zero_maps
from glsl_infer.errors import ModelError
from glsl_infer.graph import Graph, Node, host_steps, reference
from glsl_infer.graph.picture import picture_range

LINEAR = {"activation": "linear"}


def rescaling(name: str, source: str, scales: tuple[float, ...], offsets: tuple[float, ...] = (0.0,)) -> Node:
    return Node(name, "rescaling", (source,), {"scales": scales, "offsets": offsets})


def reshape(name: str, source: str, *shape: int) -> Node:
    return Node(name, "reshape", (source,), {"shape": shape})


def checked(nodes: list[Node], size: int = 5) -> Graph:
    """Return the optimised graph, after comparing every step's outputs with those before."""
    graph = Graph("g", tuple(nodes), nodes[-1].name)
    picture = np.random.default_rng(1).integers(0, 256, (size, size, 3), np.uint8)
    for step in optimize.STEPS:
        after = step(graph)
        before_output = reference.run(graph, picture, mode="float")
        np.testing.assert_allclose(reference.run(after, picture, mode="float"), before_output, rtol=1e-4, atol=1e-4)
        graph = after
    assert str(optimize.optimize(graph)) == str(graph)
    return graph


def kinds(graph: Graph) -> list[str]:
    return [node.op for node in graph.nodes]


@each_of(("scales", [(2.0,), (1.0, -2.0, 0.5)]), ("offsets", [(0.0,), (-1.0, 0.0, 3.0)]))
def test_rescaling_of_the_picture(scales, offsets) -> None:
    rng = np.random.default_rng(0)
    nodes = [
        input_node(5).with_attrs(scales=(255.0,), zeros=(0.5,)),
        rescaling("first", "image", (1 / 255,), (0.25,)),
        rescaling("second", "first", scales, offsets),
        conv_node(rng, "a", ("second",), 3, 4, kernel=(3, 3), padding=(1, 1, 1, 1)),
        conv_node(rng, "b", ("second",), 3, 4, kernel=(3, 3), padding=(1, 1, 1, 1)),
        Node("sum", "add", ("a", "b"), LINEAR),
    ]
    graph = checked(nodes)
    assert "rescaling" not in kinds(graph)
    found_scales, found_zeros = picture_range(graph.input)
    np.testing.assert_allclose(np.broadcast_to(found_scales, 3), np.broadcast_to(scales, 3))
    value_of_0 = np.array(scales) * (255 * (0 - 0.5) / 255 / 255 + 0.25) + np.array(offsets)
    np.testing.assert_allclose(np.array(found_scales) * found_zeros / -255 + np.zeros(3), value_of_0 + np.zeros(3))


@pytest.mark.parametrize("second, convolutions", [((0.5, 2.0, 2.0), 4), ((2.0, 2.0, 2.0), 2), ((2.0,), 2)])
def test_two_rescalings_of_the_picture_fold_only_when_equal(second, convolutions) -> None:
    rng = np.random.default_rng(0)
    nodes = [
        input_node(5),
        rescaling("one", "image", (2.0,), (-1.0,)),
        rescaling("two", "image", second, (-1.0,)),
        conv_node(rng, "a", ("one",), 3, 4, kernel=(3, 3), padding=(1, 1, 1, 1)),
        conv_node(rng, "b", ("two",), 3, 4, kernel=(3, 3), padding=(1, 1, 1, 1)),
        Node("sum", "add", ("a", "b"), LINEAR),
    ]
    graph = checked(nodes)
    assert kinds(graph).count("conv2d") == convolutions
    assert picture_range(graph.input)[0] == ((1.0,) if convolutions == 4 else (2.0,))


def test_a_rescaling_by_0_or_of_the_output_is_not_folded_into_the_picture() -> None:
    rng = np.random.default_rng(0)
    padded = conv_node(rng, "a", ("off",), 3, 4, kernel=(3, 3), padding=(1, 1, 1, 1))
    nodes = [input_node(5), rescaling("off", "image", (0.0, 1.0, 1.0), (0.5,)), padded]
    assert checked(nodes).by_name["off"].op == "conv2d"
    assert kinds(checked([input_node(5), rescaling("last", "image", (2.0,))])) == ["input", "conv2d"]


def test_a_scale_goes_into_a_padded_convolution_and_scales_into_one() -> None:
    rng = np.random.default_rng(0)
    padded = conv_node(rng, "b", ("two",), 4, 4, kernel=(3, 3), padding=(1, 1, 1, 1))
    before = [input_node(5), conv_node(rng, "a", ("image",), 3, 4)]
    scales = [rescaling("one", "a", (2.0,)), rescaling("two", "one", (1.0, 2.0, 3.0, 4.0))]
    assert kinds(checked([*before, *scales, padded])) == ["input", "conv2d", "conv2d"]
    offset = [rescaling("one", "a", (2.0,), (1.0,)), rescaling("two", "one", (1.0, 2.0, 3.0, 4.0))]
    assert kinds(checked([*before, *offset, padded])) == ["input", "conv2d", "conv2d", "conv2d"]


def test_rescaling_after_convolutions_and_dense_layers() -> None:
    rng = np.random.default_rng(0)
    nodes = [
        input_node(5),
        conv_node(rng, "a", ("image",), 3, 4, **LINEAR),
        rescaling("after", "a", (1.0, 2.0, 3.0, 4.0), (0.5,)),
        Node("act", "activation", ("after",), {"function": "relu"}),
        rescaling("alone", "act", (0.5,), (1.0,)),
        pool_node("pool", "alone"),
        rescaling("before", "pool", (2.0,)),
        dense_node(rng, "dense", "before", 4, 3),
        rescaling("last", "dense", (2.0,), (1.0, 2.0, 3.0)),
    ]
    assert kinds(checked(nodes)) == ["input", "conv2d", "conv2d", "global_average_pool", "dense"]


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("padding", [(0, 0, 0, 0), (0, 1, 0, 0)])
def test_rescaling_before_a_convolution_goes_into_it_unless_it_pads(groups, padding) -> None:
    rng = np.random.default_rng(0)
    nodes = [
        input_node(5),
        conv_node(rng, "a", ("image",), 3, 4),
        rescaling("before", "a", (1.0, 2.0, 3.0, 4.0), (0.5, 0.0, -1.0, 2.0)),
        conv_node(rng, "b", ("before",), 4, 6, kernel=(2, 2), groups=groups, padding=padding),
    ]
    assert kinds(checked(nodes)).count("conv2d") == (3 if any(padding) else 2)


def test_batch_norm_of_the_picture_is_its_range() -> None:
    rng = np.random.default_rng(0)
    weights = {key: rng.normal(0, 1, 3).astype(np.float32) for key in ("gamma", "beta", "mean")}
    weights["variance"] = rng.uniform(0.2, 2, 3).astype(np.float32)
    padded = conv_node(rng, "a", ("norm",), 3, 4, kernel=(3, 3), padding=(1, 1, 1, 1))
    nodes = [input_node(5), Node("norm", "batch_norm", ("image",), {"epsilon": 1e-3}, weights), padded]
    assert kinds(checked(nodes)) == ["input", "conv2d"]


@pytest.mark.parametrize(
    "kernel, padding, strides",
    [
        ((1, 1), (0, 0, 0, 0), (1, 1)),
        ((3, 3), (1, 1, 1, 1), (1, 1)),
        ((2, 3), (0, 1, 2, 0), (1, 1)),
        ((2, 2), (1, 1, 0, 1), (3, 3)),
        ((2, 2), (2, 0, 0, 1), (2, 2)),
    ],
)
@pytest.mark.parametrize("groups", [1, 3])
def test_a_convolution_of_a_pooled_map_is_a_dense_layer(kernel, padding, strides, groups) -> None:
    rng = np.random.default_rng(0)
    options = {"kernel": kernel, "padding": padding, "strides": strides, "groups": groups}
    nodes = [
        input_node(5),
        pool_node("pool", "image"),
        reshape("map", "pool", 1, 1, 3),
        conv_node(rng, "conv", ("map",), 3, 6, **options, **LINEAR),
        Node("act", "activation", ("conv",), {"function": "relu"}),
        conv_node(rng, "last", ("act",), 6, 4, **LINEAR),
        reshape("vector", "last", 4),
    ]
    graph = checked(nodes)
    assert kinds(graph) == ["input", "global_average_pool", "dense", "dense"]
    assert graph.output == "last"
    assert graph.by_name["conv"].attrs["activation"] == "relu"


def test_a_pooled_map_that_several_read_and_that_is_the_output() -> None:
    rng = np.random.default_rng(0)
    nodes = [
        input_node(5),
        pool_node("pool", "image"),
        reshape("map", "pool", 1, 1, 3),
        conv_node(rng, "a", ("map",), 3, 6, **LINEAR),
        Node("b", "activation", ("map",), {"function": "relu"}),
        conv_node(rng, "c", ("b",), 3, 6, **LINEAR),
        Node("sum", "add", ("a", "c"), LINEAR),
    ]
    assert sorted(kinds(checked(nodes))[2:]) == ["dense", "dense", "vector_map", "vector_sum", "vector_sum"]
    graph = checked(nodes[:4])
    assert [(node.name, node.op) for node in graph.nodes[2:]] == [("a", "dense"), ("a-map", "vector_map")]
    assert graph.output == "a-map"


def test_a_convolution_that_enlarges_a_pooled_map_stays() -> None:
    rng = np.random.default_rng(0)
    nodes = [input_node(5), pool_node("pool", "image"), reshape("map", "pool", 1, 1, 3)]
    nodes.append(conv_node(rng, "conv", ("map",), 3, 4, kernel=(3, 3), padding=(2, 2, 2, 2)))
    assert kinds(checked(nodes)) == ["input", "global_average_pool", "vector_map", "conv2d"]


def test_reshapes_merge_vanish_or_become_flatten() -> None:
    rng = np.random.default_rng(0)
    conv = conv_node(rng, "conv", ("image",), 3, 8, kernel=(5, 5))
    nodes = [input_node(5), conv, reshape("a", "conv", 2, 2, 2), reshape("b", "a", 4, 1, 2), reshape("c", "b", 8)]
    graph = checked([*nodes, dense_node(rng, "dense", "c", 8, 3)])
    assert [(node.name, node.op) for node in graph.nodes[2:]] == [("c", "flatten"), ("dense", "dense")]
    nodes = [input_node(5), conv, Node("flat", "flatten", ("conv",), {"scale": None}), reshape("back", "flat", 1, 1, 8)]
    assert kinds(checked([*nodes, conv_node(rng, "next", ("back",), 8, 4)])) == ["input", "conv2d", "conv2d"]
    nodes = [input_node(5), reshape("same", "image", 5, 5, 3), conv_node(rng, "conv", ("same",), 3, 4)]
    assert kinds(checked(nodes)) == ["input", "conv2d"]


def test_names_in_use_get_a_suffix() -> None:
    rng = np.random.default_rng(0)
    nodes = [
        input_node(5),
        pool_node("relu-map", "image"),
        reshape("map", "relu-map", 1, 1, 3),
        Node("relu", "activation", ("map",), {"function": "relu"}),
        conv_node(rng, "conv", ("relu",), 3, 4, kernel=(3, 3), padding=(2, 2, 2, 2)),
    ]
    assert "relu-map~1" in checked(nodes).by_name


@pytest.mark.parametrize(
    "channels, op", [((4, 8, 3), "concat"), ((8, 1), "concat"), ((4, 3, 8), "concat_copy"), ((1, 4), "concat_copy")]
)
def test_concatenations_are_views_where_slices_stay_whole(channels, op) -> None:
    rng = np.random.default_rng(0)
    parts = [conv_node(rng, f"part{index}", ("image",), 3, count) for index, count in enumerate(channels)]
    nodes = [input_node(5), *parts, Node("joined", "concat", tuple(node.name for node in parts))]
    assert checked(nodes).by_name["joined"].op == op


def test_layers_without_effect_are_dropped() -> None:
    once = {"pool": (1, 1), "strides": (1, 1), "padding": (0, 0, 0, 0)}
    rng = np.random.default_rng(0)
    nodes = [
        input_node(5),
        Node("a", "max_pool", ("image",), once),
        Node("b", "average_pool", ("a",), once),
        Node("c", "upsample_nearest", ("b",), {"size": (1, 1)}),
        Node("d", "upsample_bilinear", ("c",), {"size": (1, 1)}),
        Node("e", "depth_to_space", ("d",), {"block": 1}),
        Node("f", "concat", ("e",)),
        rescaling("g", "f", (1.0,)),
        conv_node(rng, "conv", ("g",), 3, 4),
        Node("stays", "max_pool", ("conv",), {**once, "strides": (2, 2)}),
    ]
    assert kinds(checked(nodes)) == ["input", "conv2d", "max_pool"]


RNG = np.random.default_rng(0)


def flatten(source: str, name: str = "flat") -> Node:
    return Node(name, "flatten", (source,), {"scale": None})


def checked_output(nodes: list[Node], output: str) -> Graph:
    """Return the optimised graph, after comparing its outputs with the original's."""
    graph = Graph("test", nodes, output)
    optimized = optimize_graph(graph)
    picture = np.random.default_rng(1).integers(0, 256, graph.input.attrs["shape"], np.uint8)
    expected = reference.run(graph, picture, mode="float")
    values = dict(reference.layers(optimized, picture, mode="float"))
    (end,) = optimized.outputs
    result = host_steps.apply(end.steps, [values[layer] for layer in end.layers])
    assert np.abs(result - expected).max() <= 1e-5 * max(1.0, np.abs(expected).max())
    return optimized


@pytest.mark.parametrize("channels", [1, 3, 8])
def test_a_flattened_map_before_a_dense_layer(channels: int) -> None:
    nodes = [
        input_node(5),
        conv_node(RNG, "conv", ("image",), 3, channels),
        flatten("conv"),
        dense_node(RNG, "dense", "flat", 25 * channels, 4),
    ]
    assert kinds(checked_output(nodes, "dense")) == ["input", "conv2d", "flatten_rows", "dense"]


def test_a_picture_is_flattened() -> None:
    nodes = [input_node(5, 1), flatten("image"), dense_node(RNG, "dense", "flat", 25, 4)]
    assert kinds(checked_output(nodes, "dense")) == ["input", "flatten_rows", "dense"]


def test_more_than_a_texture_holds() -> None:
    nodes = [
        input_node(12),
        conv_node(RNG, "conv", ("image",), 3, 64),
        flatten("conv"),
        dense_node(RNG, "dense", "flat", 9216, 8, activation="relu"),
        dense_node(RNG, "last", "dense", 8, 3),
    ]
    optimized = checked_output(nodes, "last")
    assert kinds(optimized) == ["input", "conv2d", *["flatten_rows"] * 3, *["dense"] * 3, "vector_sum", "dense"]
    assert optimized.by_name["dense"].attrs["activation"] == "relu"
    assert all(
        len(optimized.shapes[node.name]) == 3 or optimized.shapes[node.name][0] <= 4096 for node in optimized.nodes
    )


def test_a_flattened_map_concatenated_with_a_vector() -> None:
    nodes = [
        input_node(12),
        conv_node(RNG, "conv", ("image",), 3, 35),
        flatten("conv"),
        pool_node("pool", "conv"),
        Node("all", "concat", ("flat", "pool")),
        dense_node(RNG, "dense", "all", 144 * 35 + 35, 3),
    ]
    assert kinds(checked_output(nodes, "dense"))[2:] == [
        *["flatten_rows"] * 2,
        "global_average_pool",
        *["dense"] * 3,
        "vector_sum",
    ]


def test_an_activation_of_a_long_flattened_map() -> None:
    nodes = [
        input_node(12),
        conv_node(RNG, "conv", ("image",), 3, 35),
        flatten("conv"),
        Node("act", "activation", ("flat",), {"function": "sigmoid"}),
        dense_node(RNG, "dense", "act", 144 * 35, 3),
    ]
    assert kinds(checked_output(nodes, "dense"))[2:] == [
        *["flatten_rows"] * 2,
        *["vector_sum"] * 2,
        *["dense"] * 2,
        "vector_sum",
    ]


def test_slopes_of_their_own_for_many_outputs_are_refused() -> None:
    slopes = ",".join(["0.1", "0.2"] * 1500)
    nodes = [input_node(2), pool_node("pool", "image"), dense_node(RNG, "dense", "pool", 3, 3000)]
    nodes[-1] = nodes[-1].with_attrs(activation=f"prelu({slopes})")
    with pytest.raises(ModelError, match="'prelu'"):
        optimize_graph(Graph("test", nodes, "dense"))


def test_more_parts_than_a_draw_can_add() -> None:
    nodes = [
        input_node(48),
        conv_node(RNG, "conv", ("image",), 3, 16),
        flatten("conv"),
        dense_node(RNG, "dense", "flat", 48 * 48 * 16, 2),
    ]
    optimized = checked_output(nodes, "dense")
    assert kinds(optimized).count("dense") == 10
    assert [len(node.inputs) for node in optimized.nodes if node.op == "vector_sum"] == [8, 2, 2]


def test_many_outputs() -> None:
    nodes = [input_node(2), pool_node("pool", "image"), dense_node(RNG, "dense", "pool", 3, 3000, activation="relu")]
    assert kinds(checked_output(nodes, "dense"))[2:] == ["dense", "dense", "vector_concat"]
    nodes = [input_node(2), pool_node("pool", "image"), dense_node(RNG, "dense", "pool", 3, 5000)]
    nodes.append(Node("act", "activation", ("dense",), {"function": "relu"}))
    optimized = checked_output(nodes, "act")
    assert kinds(optimized)[2:] == ["dense"] * 3
    assert [step.step for step in optimized.outputs[0].steps] == ["concatenate"]
    nodes[-1] = Node("sum", "add", ("dense", "dense"), LINEAR)
    assert kinds(checked_output(nodes, "sum"))[2:] == ["dense"] * 3 + ["vector_sum"] * 3


@pytest.mark.parametrize("channels", [1, 6, 160])
def test_maps_of_dense_layers(channels: int) -> None:
    count = 36 * channels
    nodes = [
        input_node(2),
        pool_node("pool", "image"),
        dense_node(RNG, "dense", "pool", 3, count, activation="sigmoid"),
        Node("map", "reshape", ("dense",), {"shape": (6, 6, channels)}),
        conv_node(RNG, "conv", ("map",), channels, 3),
    ]
    optimized = checked_output(nodes, "conv")
    assert kinds(optimized)[2:] == [*["dense"] * -(-count // 2048), "vector_map", "conv2d"]
    assert optimized.by_name["map"].attrs["activation"] == "sigmoid"


def test_operations_on_vectors() -> None:
    norm = {key: RNG.uniform(0.5, 1.5, 8).astype(np.float32) for key in ("gamma", "beta", "mean", "variance")}
    nodes = [
        input_node(5),
        conv_node(RNG, "conv", ("image",), 3, 8),
        pool_node("pool", "conv"),
        dense_node(RNG, "gate", "pool", 8, 8, activation="sigmoid"),
        Node("product", "binary", ("pool", "gate"), {"operation": "multiply"}),
        Node("norm", "batch_norm", ("product",), {"epsilon": 1e-3}, norm),
        Node("act", "activation", ("norm",), {"function": "tanh"}),
    ]
    optimized = checked_output(nodes, "act")
    assert kinds(optimized)[3:] == ["dense", "vector_binary", "vector_affine"]
    assert optimized.nodes[-1].attrs["activation"] == "tanh"


def test_operators_that_need_an_entire_long_vector_are_refused() -> None:
    nodes = [
        input_node(2),
        pool_node("pool", "image"),
        dense_node(RNG, "dense", "pool", 3, 5000),
        Node("some", "vector_gather", ("dense",), {"channels": (0, 1)}),
    ]
    with pytest.raises(ModelError, match="a vector_gather of a vector of 5000 values; at most 4096"):
        optimize_graph(Graph("test", nodes, "some"))


def padded(rng: np.random.Generator, sizes: tuple[int, ...]) -> Graph:
    """Return convolutions with these strides, each of a map that the importer has padded by four channels of zeros."""
    nodes, name = [input_node(9), conv_node(rng, "a", ("image",), 3, 4)], "a"
    for index, stride in enumerate(sizes):
        attrs = {"strides": (1, 1), "padding": (0, 0, 0, 0), "groups": 4, "activation": "linear", "dilations": (1, 1)}
        weights = {"kernel": np.zeros((1, 1, 1, 4), np.float32), "bias": np.zeros(4, np.float32)}
        nodes += [
            Node(f"part{index}", "channel_gather", (name,), {"channels": (0, 1, 2, 3)}),
            Node(f"zeros{index}", "conv2d", (f"part{index}",), attrs, weights),
            Node(f"joined{index}", "concat", (name, f"zeros{index}")),
            conv_node(
                rng,
                f"b{index}",
                (f"joined{index}",),
                8,
                4,
                kernel=(3, 3),
                strides=(stride, stride),
                padding=(1, 1, 1, 1),
            ),
        ]
        name = f"b{index}"
    return classifier(rng, nodes, 4)


@pytest.mark.parametrize(("sizes", "left"), [((1, 1, 1), 1), ((1,), 1), ((1, 2, 1), 2)])
def test_one_layer_of_zeros_for_each_shape(sizes: tuple[int, ...], left: int) -> None:
    rng = np.random.default_rng(0)
    graph = padded(rng, sizes)
    shapes = {graph.shapes[node.name] for node in graph.nodes if node.name.startswith("zeros")}
    picture = rng.integers(0, 256, (9, 9, 3), np.uint8)
    prepared = prepare(optimize_graph(graph), Calibration([{"image": picture}])).graph
    assert sum(node.name.startswith("zeros") for node in prepared.nodes) == len(shapes) == left
    np.testing.assert_allclose(
        reference.run(prepared, {"image": picture})[prepared.outputs[0].layers[0]],
        reference.run(graph, {"image": picture})[graph.outputs[0].layers[0]],
        atol=0.01,
    )
    assert dedupe_zero_maps(prepared) is prepared


@pytest.mark.parametrize(
    ("changed", "left"), [({}, 1), ({"scales": (2.0,)}, 2), ({"bits": 16}, 2), ({"fused": ("x",)}, 1)]
)
def test_zeros_that_are_stored_differently_stay(changed: dict[str, object], left: int) -> None:
    attrs = {"activation": "linear", "scales": (1.0,), "zeros": (0.0,), "bits": 8}
    weights = {"kernel": np.zeros((1, 1, 3, 4), np.float32), "bias": np.zeros(4, np.float32)}
    first = Node("one", "conv2d", ("image",), attrs, weights)
    other = Node("other", "conv2d", ("image",), {**attrs, **changed}, weights)
    graph = Graph("g", (input_node(5), first, other, Node("all", "concat", ("one", "other"))), "all")
    assert len([node for node in dedupe_zero_maps(graph).nodes if node.op == "conv2d"]) == left


def test_inputs_of_dropped_layers_only_are_dropped() -> None:
    rng = np.random.default_rng(1)
    same = [input_node(5), conv_node(rng, "a", ("image",), 3, 4)]
    attrs = {"strides": (1, 1), "padding": (0, 0, 0, 0), "groups": 1, "activation": "linear", "dilations": (1, 1)}
    weights = {"kernel": np.zeros((1, 1, 3, 4), np.float32), "bias": np.zeros(4, np.float32)}
    for index in range(3):
        same.append(Node(f"zeros{index}", "conv2d", ("image",), attrs, weights))
    same.append(Node("all", "concat", ("zeros0", "a", "zeros1", "zeros2")))
    picture = rng.integers(0, 256, (5, 5, 3), np.uint8)
    graph = prepare(optimize_graph(classifier(rng, same, 16)), Calibration([{"image": picture}])).graph
    assert [node.name for node in graph.nodes if node.name.startswith("zeros")] == ["zeros0"]
    (concat,) = (node for node in graph.nodes if node.name == "all")
    assert concat.inputs == ("zeros0", "a", "zeros0", "zeros0")
