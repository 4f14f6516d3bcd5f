"""Shape rules and references of spatial operators, compared with plain loops."""

from __future__ import annotations

import math

import numpy as np
import pytest
from graphs import input_node, pool_node
from hypothesis import given, settings
from hypothesis import strategies as st

from glsl_infer import ops
from glsl_infer.errors import ModelError
from glsl_infer.graph import Graph, Node
from glsl_infer.ops.channel_gather import whole_slices
from glsl_infer.ops.depth_to_space import ORDERS
from glsl_infer.ops.operator import CopyOperator

SIDES = st.tuples(st.integers(1, 7), st.integers(1, 7))
SMALL = st.tuples(st.integers(1, 4), st.integers(1, 4))


def run(op: str, *inputs: np.ndarray, **attrs: object) -> np.ndarray:
    """Return the reference's output, after checking its shape by the shape rule."""
    node = Node("node", op, tuple(f"in{index}" for index in range(len(inputs))), attrs)
    operator = ops.get(op)
    assert set(operator.attrs) - {"scales", "zeros", "bits"} <= set(attrs) <= set(operator.attrs)
    output = operator.reference(node, inputs)
    assert output.shape == operator.shape(node, [input.shape for input in inputs])
    assert output.dtype == inputs[0].dtype
    return output


def values(*shape: int, dtype: type = np.float64) -> np.ndarray:
    return np.random.default_rng(0).normal(size=shape).astype(dtype)


@given(SIDES, SMALL, SMALL, st.tuples(*[st.integers(0, 3)] * 4), st.sampled_from([np.float32, np.float64]))
@settings(max_examples=80)
def test_pooling(sides, pool, strides, padding, dtype) -> None:
    top, bottom, left, right = padding = tuple(min(p, pool[i // 2] - 1) for i, p in enumerate(padding))
    height = (sides[0] + top + bottom - pool[0]) // strides[0] + 1
    width = (sides[1] + left + right - pool[1]) // strides[1] + 1
    x = values(*sides, 2, dtype=dtype)
    attrs = {"pool": pool, "strides": strides, "padding": padding}
    if height < 1 or width < 1:
        with pytest.raises(ModelError, match="'node'"):
            ops.get("max_pool").shape(Node("node", "max_pool", ("in",), attrs), [x.shape])
        return
    largest, mean, root = (np.zeros((height, width, 2)) for _ in range(3))
    for row in range(height):
        for column in range(width):
            y, z = row * strides[0] - top, column * strides[1] - left
            seen = x[max(y, 0) : y + pool[0], max(z, 0) : z + pool[1]].reshape(-1, 2)
            assert len(seen)
            largest[row, column], mean[row, column] = seen.max(axis=0), seen.mean(axis=0)
            root[row, column] = np.sqrt((seen**2).mean(axis=0))
    np.testing.assert_array_equal(run("max_pool", x, **attrs), largest)
    np.testing.assert_allclose(run("average_pool", x, **attrs), mean, atol=1e-6)
    np.testing.assert_allclose(run("l2_pool", x, **attrs), root, atol=1e-6)


@pytest.mark.parametrize(
    "attrs, message",
    [
        ({"padding": (2, 0, 0, 0)}, "pad less than a window"),
        ({"padding": (0, 0, 0, 3)}, "pad less than a window"),
        ({"padding": (0, -1, 0, 0)}, "padding 0 or more"),
        ({"strides": (0, 1)}, "strides must be 1 or more"),
        ({"pool": (5, 1)}, "windows of 5x1 on 4x4 pixels"),
    ],
)
@pytest.mark.parametrize("op", ["max_pool", "average_pool"])
def test_windows_that_do_not_fit(op, attrs, message) -> None:
    node = Node("node", op, ("in",), {**ops.get(op).attrs, **attrs})
    with pytest.raises(ModelError, match=f"layer 'node': .*{message}"):
        ops.get(op).shape(node, [(4, 4, 3)])


@pytest.mark.parametrize("op", ["concat", "concat_copy"])
def test_concatenation(op: str) -> None:
    parts = values(2, 3, 4), values(2, 3, 1), values(2, 3, 5)
    result = run(op, *parts)
    for channel in range(10):
        part, index = (0, channel) if channel < 4 else (1, 0) if channel == 4 else (2, channel - 5)
        np.testing.assert_array_equal(result[:, :, channel], parts[part][:, :, index])
    for shapes in ([(2, 3, 4), (2, 4, 4)], [(4,), (2, 3, 4)], []):
        with pytest.raises(ModelError, match="layer 'node'"):
            ops.get(op).shape(Node("node", op, tuple("abc"[: len(shapes)])), shapes)


@given(SIDES, SMALL)
@settings(max_examples=30)
def test_upsampling(sides, size) -> None:
    x = values(*sides, 2)
    nearest, bilinear = run("upsample_nearest", x, size=size), run("upsample_bilinear", x, size=size)
    for row in range(sides[0] * size[0]):
        for column in range(sides[1] * size[1]):
            np.testing.assert_array_equal(nearest[row, column], x[row // size[0], column // size[1]])
            y = min(max((row + 0.5) / size[0] - 0.5, 0.0), sides[0] - 1.0)
            z = min(max((column + 0.5) / size[1] - 0.5, 0.0), sides[1] - 1.0)
            expected = np.zeros(2)
            for i in {math.floor(y), math.ceil(y)}:
                for j in {math.floor(z), math.ceil(z)}:
                    expected += x[i, j] * (1 - abs(y - i)) * (1 - abs(z - j))
            np.testing.assert_allclose(bilinear[row, column], expected, atol=1e-12)


@given(SIDES, st.integers(1, 3), st.integers(1, 3), st.integers(1, 3), st.sampled_from(ORDERS))
@settings(max_examples=40)
def test_depth_to_space(sides, down, across, channels, order) -> None:
    x = values(*sides, channels * down * across)
    stored = run("depth_to_space", x, block=down if down == across else (down, across), order=order)
    assert stored.shape == (sides[0] * down, sides[1] * across, channels)
    for row in range(sides[0] * down):
        for column in range(sides[1] * across):
            phase = (row % down) * across + column % across
            for k in range(channels):
                channel = phase * channels + k if order == ORDERS[0] else k * down * across + phase
                assert stored[row, column, k] == x[row // down, column // across, channel]


@given(SIDES, st.tuples(*[st.integers(-3, 3)] * 4), st.sampled_from([0.0, -1.5]))
@settings(max_examples=40)
def test_padding_with_a_number(sides, padding, value) -> None:
    x = values(*sides, 2)
    top, bottom, left, right = padding
    attrs = {"padding": padding, **({"value": value} if value else {})}
    op = "constant_padding" if value else "zero_padding"
    if sides[0] + min(top, 0) + min(bottom, 0) < 1 or sides[1] + min(left, 0) + min(right, 0) < 1:
        with pytest.raises(ModelError, match="leave a pixel at least"):
            ops.get(op).shape(Node("node", op, ("in",), attrs), [x.shape])
        return
    padded = run(op, x, **attrs)
    for row in range(padded.shape[0]):
        for column in range(padded.shape[1]):
            y, z = row - top, column - left
            inside = 0 <= y < sides[0] and 0 <= z < sides[1]
            np.testing.assert_array_equal(padded[row, column], x[y, z] if inside else value)


def test_channels_of_zeros() -> None:
    x = values(2, 3, 3)
    grown = run("channel_gather", x, channels=(-1, 2, 0, -1))
    np.testing.assert_array_equal(grown[..., 1:3], x[..., [2, 0]])
    assert not grown[..., [0, 3]].any()


@pytest.mark.parametrize(
    ("channels", "of", "whole"),
    [
        ((4, 5, 6, 7, 0, 1, 2, 3), 8, True),
        ((0, 1, 2, 3, 4, 5), 6, True),
        ((0, 1, 2, 3, 4, 5, -1, -1), 6, True),
        ((0, 1, 2, 3, 4, 5, -1, -1, -1), 6, False),
        ((0, 1, 2, 3, -1), 6, False),  # the next lane has a channel
        ((0, 1, 2, 3, 4, 5, 6, 7, -1), 8, False),
        ((0, 1, 2, 3, 4, -1, 5), 6, False),
        ((1, 0, 2, 3), 4, False),
        ((0, 1, 2), 4, False),
        ((-1, -1), 2, False),
    ],
)
def test_slices_that_a_view_can_represent(channels: tuple[int, ...], of: int, whole: bool) -> None:
    assert whole_slices(channels, of) == whole


def test_rescaling() -> None:
    x = values(2, 3, 3, dtype=np.float32)
    result = run("rescaling", x, scales=(2.0,), offsets=(1.0, 2.0, 3.0))
    np.testing.assert_allclose(result, x * 2 + np.array([1, 2, 3]), rtol=1e-6)


def test_reshape_keeps_the_order_in_memory() -> None:
    x = values(2, 3, 4)
    np.testing.assert_array_equal(run("reshape", x, shape=(24,)), x.reshape(24))


@pytest.mark.parametrize(
    "op, attrs, message",
    [
        ("upsample_nearest", {"size": (0, 1)}, "factors must be 1 or more"),
        ("upsample_bilinear", {"size": (2, 0)}, "factors must be 1 or more"),
        ("depth_to_space", {"block": 2}, "depth to space of 3 channels in blocks of 2x2"),
        ("depth_to_space", {"block": 0}, "multiple of the block's pixels"),
        ("depth_to_space", {"block": (2, 1)}, "in blocks of 2x1"),
        ("depth_to_space", {"block": 1, "order": "CRD"}, "one of depth_column_row, column_row_depth"),
        ("constant_padding", {"padding": (1, 1, 1, 1), "value": -math.inf}, "padding with -inf; give a number"),
        ("channel_gather", {"channels": (0, -2)}, "or -1 for zeros"),
        ("rescaling", {"scales": (1.0, 2.0), "offsets": (0.0,)}, "2 scales on an input"),
        *[
            ("spatial_slice", {"begin": begin, "size": size, "strides": strides}, "must be within the map")
            for begin, size, strides in (
                ((0, 0), (5, 4), (1, 1)),
                ((1, 0), (2, 4), (3, 1)),
                ((0, 0), (4, 0), (1, 1)),
                ((0, 0), (2, 2), (0, 1)),
                ((0, 1), (2, 3), (1, -1)),
                ((-1, 0), (2, 2), (1, 1)),
            )
        ],
        ("reshape", {"shape": (5, 5)}, "the same number of values"),
        ("reshape", {"shape": (-4, -12)}, "the same number of values"),
    ],
)
def test_attributes_that_do_not_fit(op, attrs, message) -> None:
    with pytest.raises(ModelError, match=f"layer 'node': .*{message}"):
        Graph("g", (input_node(4), Node("node", op, ("image",), attrs)), "node")


@pytest.mark.parametrize("op", ["max_pool", "average_pool", "upsample_nearest", "upsample_bilinear", "depth_to_space"])
def test_vectors_are_refused_as_maps(op: str) -> None:
    nodes = (input_node(4), pool_node("pool", "image"), Node("node", op, ("pool",), ops.get(op).attrs))
    with pytest.raises(ModelError, match=f"layer 'node': an? {op} of shape .*feature map"):
        Graph("g", nodes, "node")


def test_copies_do_not_round() -> None:
    copies = [name for name in ops.names() if isinstance(ops.get(name), CopyOperator)]
    assert "max_pool" in copies
    exact = values(2, 2, 4)
    for name in copies:
        np.testing.assert_array_equal(ops.get(name).store(Node("node", name), exact), exact)


def test_padding_that_operators_read() -> None:
    attrs = {"padding": (0, 1, 3, 2)}
    assert ops.get("zero_padding").padding(Node("n", "zero_padding", ("x",), attrs)) == 3
    for op in ("max_pool", "average_pool"):
        assert ops.get(op).padding(Node("n", op, ("x",), {"pool": (4, 4), "strides": (1, 1), **attrs})) == 0
