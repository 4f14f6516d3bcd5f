"""Shape rules, references and refusals of reductions and normalisations, compared with plain formulas."""

from __future__ import annotations

import numpy as np
import pytest
from graphs import input_node
from hypothesis import given
from hypothesis import strategies as st

from glsl_infer import ops
from glsl_infer.compiler.optimize import optimize
from glsl_infer.errors import ModelError
from glsl_infer.graph import Graph, Node, reference

PIXEL = np.array([[[3.0, -4.0, 0.0, 1.0]]])


def run(op: str, *inputs: np.ndarray, **attrs: object) -> np.ndarray:
    """Return the reference's output, after checking its shape by the shape rule."""
    operator = ops.get(op)
    node = Node("node", op, tuple(f"in{index}" for index in range(len(inputs))), {**operator.attrs, **attrs})
    output = operator.reference(node, inputs)
    assert output.shape == tuple(operator.shape(node, [input.shape for input in inputs]))
    assert output.dtype == inputs[0].dtype
    return output


def test_channels_of_a_pixel_by_hand() -> None:
    assert run("channel_extreme", PIXEL, operation="max")[0, 0].tolist() == [3.0]
    assert run("channel_extreme", PIXEL, operation="min")[0, 0].tolist() == [-4.0]
    assert run("channel_argmax", PIXEL)[0, 0].tolist() == [0.0]
    assert run("channel_argmax", PIXEL, smallest=True)[0, 0].tolist() == [1.0]
    assert run("channel_argmax", np.ones((1, 1, 5)))[0, 0].tolist() == [0.0]
    e = np.exp(PIXEL[0, 0])
    np.testing.assert_allclose(run("channel_softmax", PIXEL)[0, 0], e / e.sum(), rtol=1e-12)
    np.testing.assert_allclose(run("channel_norm", PIXEL, kind="unit", epsilon=0.0)[0, 0], PIXEL[0, 0] / np.sqrt(26.0))
    np.testing.assert_allclose(run("channel_norm", PIXEL, kind="rms", epsilon=0.0)[0, 0], PIXEL[0, 0] / np.sqrt(6.5))
    layer = run("channel_norm", PIXEL, epsilon=0.5, gamma=(2.0,), beta=(0.25,))
    np.testing.assert_allclose(layer[0, 0], 2.0 * PIXEL[0, 0] / np.sqrt(7.0) + 0.25)


@given(st.integers(1, 6), st.integers(1, 6), st.sampled_from([(4, 1), (4, 2), (6, 3), (6, 6)]))
def test_groups_have_the_statistics_of_their_numbers(height: int, width: int, sizes: tuple[int, int]) -> None:
    channels, groups = sizes
    x = np.random.default_rng(channels).normal(1.0, 2.0, (height, width, channels))
    means, deviations = run("global_average_pool", x), run("global_deviation", x)
    members = x.reshape(-1, groups, channels // groups)
    for statistic, expected in (("mean", members.mean(axis=(0, 2))), ("deviation", members.std(axis=(0, 2)))):
        result = run("group_statistics", means, deviations, groups=groups, statistic=statistic)
        np.testing.assert_allclose(result, expected.repeat(channels // groups), atol=1e-12)


def test_means_of_maps_of_several_sizes() -> None:
    rng = np.random.default_rng(0)
    first, second = rng.normal(0.0, 1.0, (3, 5, 4)), rng.normal(0.0, 1.0, (2, 2, 3))
    expected = [*first.mean(axis=(0, 1)), *second.mean(axis=(0, 1))]
    np.testing.assert_allclose(run("global_average_pool", first, second), expected)
    with pytest.raises(ModelError, match="an even number"):
        run("global_average_pool", second, first)


def test_a_map_by_its_statistics() -> None:
    x = np.array([[[1.0, 5.0]], [[3.0, 5.0]]])
    result = run(
        "map_norm", x, np.array([2.0, 5.0]), np.array([1.0, 0.0]), epsilon=0.0, gamma=(2.0, 1.0), beta=(0.0, 4.0)
    )
    assert result[:, 0].tolist() == [[-2.0, 4.0], [2.0, 4.0]]


def test_minimum_pooling() -> None:
    x = np.arange(6.0).reshape(2, 3, 1)
    attrs = {"pool": (2, 2), "strides": (1, 1), "padding": (0, 1, 0, 0)}
    assert run("min_pool", x, **attrs)[:, :, 0].tolist() == [[0.0, 1.0], [3.0, 4.0]]


@pytest.mark.parametrize("region", ["across", "within"])
@pytest.mark.parametrize("beta", [0.5, 0.75, 1.0])
def test_local_responses_are_squares_a_sum_and_a_product(region: str, beta: float) -> None:
    rng = np.random.default_rng(0)
    attrs = {"size": 3, "alpha": 0.5, "beta": beta, "bias": 2.0, "region": region}
    pool = Node("pool", "max_pool", ("image",), {"pool": (1, 2), "strides": (1, 1)})
    graph = Graph("g", (input_node(5), pool, Node("n", "local_response_norm", ("pool",), attrs)), "n")
    picture = rng.integers(0, 256, (5, 5, 3), np.uint8)
    x = reference.run(Graph("g", graph.nodes[:2], "pool"), picture).astype(np.float64)
    expected = np.zeros_like(x)
    for y, z, c in np.ndindex(x.shape):
        neighbours = (
            x[y, z, max(c - 1, 0) : c + 2] if region == "across" else x[max(y - 1, 0) : y + 2, max(z - 1, 0) : z + 2, c]
        )
        expected[y, z, c] = x[y, z, c] / (2.0 + 0.5 * np.square(neighbours).sum()) ** beta
    np.testing.assert_allclose(reference.run(graph, picture), expected, rtol=1e-5)
    small = optimize(graph)
    assert [node.op for node in small.nodes[2:]] == ["activation", "conv2d", "binary"]
    np.testing.assert_allclose(reference.run(small, picture), expected, rtol=1e-5)


@pytest.mark.parametrize(
    "op, shapes, attrs, message",
    [
        ("channel_extreme", [(2, 2, 4)], {"operation": "median"}, "an operation 'median'; there are: max, min"),
        ("channel_argmax", [(2, 2, 300)], {}, "the number of one of 300 channels; a byte holds one of at most 256"),
        ("channel_norm", [(2, 2, 4)], {"kind": "batch"}, "a normalisation 'batch'"),
        ("channel_norm", [(2, 2, 4)], {"gamma": (1.0, 2.0)}, "a gamma for 2 channels on 4; give one, or one a channel"),
        ("map_norm", [(2, 2, 4), (4,), (3,)], {}, "give a map, and a mean and a deviation a channel"),
        ("group_statistics", [(6,), (6,)], {"groups": 4}, "4 groups of 6 channels; give a divisor"),
        ("group_statistics", [(6,), (5,)], {}, "give means and deviations of the same channels"),
        *[
            ("local_response_norm", [(2, 2, 4)], attrs, "give an odd size")
            for attrs in (
                {"size": 4},
                {"size": -1},
                {"alpha": -1.0},
                {"bias": 0.0},
                {"beta": 0.0},
                {"beta": 2.5},
                {"region": "all"},
            )
        ],
        ("map_norm", [(2, 2, 4), (4,)], {}, "give a map, and a mean and a deviation a channel"),
        ("channel_norm", [(2, 2, 4)], {"epsilon": -1.0}, "a normalisation"),
        ("channel_softmax", [(4,)], {}, "it needs a feature map"),
    ],
)
def test_invalid_shapes_and_attributes_are_refused(
    op: str, shapes: list[tuple[int, ...]], attrs: dict[str, object], message: str
) -> None:
    operator = ops.get(op)
    with pytest.raises(ModelError, match=message):
        operator.shape(Node("node", op, (), {**operator.attrs, **attrs}), shapes)


def test_a_local_response_of_each_value_alone_has_size_1() -> None:
    attrs = {**ops.get("local_response_norm").attrs, "size": 1}
    node = Node("node", "local_response_norm", ("x",), attrs)
    assert ops.get("local_response_norm").shape(node, [(2, 3, 4)]) == (2, 3, 4)


def test_bounds_of_statistics_of_groups() -> None:
    operator = ops.get("group_statistics")
    means, deviations = (np.array([-3.0, 1.0]), np.array([2.0, 5.0])), (np.zeros(2), np.array([1.0, 3.0]))
    for statistic, low, high in (("mean", -3.0, 5.0), ("deviation", 0.0, 5.0)):
        node = Node("node", "group_statistics", ("m", "d"), {"groups": 1, "statistic": statistic, "scale": None})
        result = operator.interval(node, (2,), [means, deviations])
        assert [end.tolist() for end in result] == [[low] * 2, [high] * 2]
