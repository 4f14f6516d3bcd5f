"""Shape rules and references of convolutions, spatial operators, reductions and normalisations, against plain loops."""

from __future__ import annotations

import math

import numpy as np
import pytest
from graphs import input_node, pool_node
from hypothesis import given, settings
from hypothesis import strategies as st
from pairwise import pairs_of

from glsl_infer import ops
from glsl_infer.compiler.optimize import optimize
from glsl_infer.errors import ModelError
from glsl_infer.graph import Graph, Node, reference
from glsl_infer.lowering.conv_columns import columns_of
from glsl_infer.lowering.taps import Product
from glsl_infer.ops.channel_gather import whole_slices
from glsl_infer.ops.convolution_window import convolve
from glsl_infer.ops.depth_to_space import ORDERS
from glsl_infer.ops.operator import CopyOperator


def by_definition(
    x: np.ndarray, kernel: np.ndarray, strides: tuple[int, int], groups: int, dilations: tuple[int, int] = (1, 1)
) -> np.ndarray:
    """Return a convolution by its definition, one product at a time."""
    kernel_height, kernel_width, group_channels, filters = kernel.shape
    row_step, column_step = dilations
    window_height, window_width = (kernel_height - 1) * row_step + 1, (kernel_width - 1) * column_step + 1
    height = (x.shape[0] - window_height) // strides[0] + 1
    width = (x.shape[1] - window_width) // strides[1] + 1
    out = np.zeros((height, width, filters))
    for row in range(height):
        for column in range(width):
            for filter_index in range(filters):
                first = filter_index // (filters // groups) * group_channels
                window = x[
                    row * strides[0] : row * strides[0] + window_height : row_step,
                    column * strides[1] : column * strides[1] + window_width : column_step,
                    first : first + group_channels,
                ]
                out[row, column, filter_index] = (window * kernel[..., filter_index]).sum()
    return out


shapes = st.tuples(
    st.integers(1, 4), st.integers(1, 6), st.integers(1, 5), st.integers(1, 3), st.integers(1, 3), st.integers(0, 999)
)


@given(shapes, st.tuples(st.integers(1, 3), st.integers(1, 3)), st.tuples(st.integers(1, 3), st.integers(1, 2)))
@settings(max_examples=40)
def test_convolve(shape: tuple[int, ...], strides: tuple[int, int], dilations: tuple[int, int]) -> None:
    groups, group_channels, group_filters, kernel_height, kernel_width, seed = shape
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(7, 6, groups * group_channels))
    kernel = rng.normal(size=(kernel_height, kernel_width, group_channels, groups * group_filters))
    np.testing.assert_allclose(
        convolve(x, kernel, strides, groups, dilations), by_definition(x, kernel, strides, groups, dilations)
    )


@pytest.mark.parametrize("strides", [(1, 1), (2, 2), (2, 1)])
def test_a_map_of_many_bands(strides: tuple[int, int]) -> None:
    """Large maps are convolved in bands: 29 rows of 41 pixels take two bands and a lower third."""
    rng = np.random.default_rng(3)
    x, kernel = rng.normal(size=(31, 43, 4)), rng.normal(size=(3, 3, 2, 6))
    np.testing.assert_allclose(convolve(x, kernel, strides, 2), by_definition(x, kernel, strides, 2))


def test_a_row_longer_than_a_band() -> None:
    rng = np.random.default_rng(4)
    x, kernel = rng.normal(size=(3, 601, 2)), rng.normal(size=(2, 2, 2, 2))
    np.testing.assert_allclose(convolve(x, kernel, (1, 1), 1), by_definition(x, kernel, (1, 1), 1))


@pairs_of(("width", [1, 7, 8, 19, 24]), ("filters", [1, 3, 4, 5]), ("strides", [(1, 1), (2, 1), (1, 2)]))
def test_few_filters_of_a_wide_kernel(width: int, filters: int, strides: tuple[int, int]) -> None:
    """Eight neighbouring pixels share a patch, and some of the last ones are outside the map."""
    rng = np.random.default_rng(5)
    x, kernel = rng.normal(size=(9, width + 4, 3)), rng.normal(size=(3, 5, 3, filters))
    np.testing.assert_allclose(convolve(x, kernel, strides, 1), by_definition(x, kernel, strides, 1))


def test_a_map_that_is_part_of_another() -> None:
    """The strides of a view are arbitrary, also for an axis of length 1."""
    outer = np.random.default_rng(6).normal(size=(9, 12, 5))
    kernel = np.random.default_rng(7).normal(size=(3, 3, 1, 2))
    for x in (outer[:, :, 1:2], outer[:, :, :1][:, :, ::-1], outer[::2, ::-1, 4:]):
        np.testing.assert_allclose(convolve(x, kernel, (1, 1), 1), by_definition(x, kernel, (1, 1), 1))


@given(shapes)
@settings(max_examples=60)
def test_packed_columns_unpack_to_the_kernel(shape: tuple[int, ...]) -> None:
    groups, group_channels, group_filters, kernel_height, kernel_width, seed = shape
    rng = np.random.default_rng(seed)
    kernel = rng.normal(size=(kernel_height, kernel_width, group_channels, groups * group_filters)).astype(np.float32)
    columns = columns_of(kernel.shape, groups)
    packed = columns.pack(kernel)
    assert packed.shape == (columns.slices, columns.count, 4)
    np.testing.assert_array_equal(columns.unpack(packed), kernel)
    # Every weight occurs once, and nothing else does.
    assert np.count_nonzero(packed) == np.count_nonzero(kernel)


def test_reads_follow_the_groups() -> None:
    columns = columns_of((1, 1, 32, 64), 2)
    assert columns.slots == 8
    assert columns.read_by(0) == columns.read_by(7) == tuple(range(8))
    assert columns.read_by(8) == tuple(range(8, 16))
    small_groups = columns_of((3, 3, 4, 16), 4)
    assert [small_groups.read_by(index) for index in range(4)] == [(0,), (1,), (2,), (3,)]
    assert small_groups.count == 9 * 4
    picture = columns_of((5, 5, 3, 32), 1)
    assert picture.lanes == ((0, 1, 2),)
    assert picture.count == 75


def test_a_depthwise_tap_is_one_product() -> None:
    depthwise = columns_of((3, 3, 1, 14), 14)
    assert [depthwise.read_by(index) for index in range(4)] == [(0,), (1,), (2,), (3,)]
    assert depthwise.count == 9
    taps = list(depthwise.taps([0]))
    assert taps[1] == (0, 0, 1, [Product(1, "")])
    assert len(taps) == 9
    assert columns_of((3, 3, 1, 28), 14).count == 9 * 4, "a multiplier of 2 mixes lanes; some slice reads each of them"


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
            window = x[max(y, 0) : y + pool[0], max(z, 0) : z + pool[1]].reshape(-1, 2)
            assert len(window)
            largest[row, column], mean[row, column] = window.max(axis=0), window.mean(axis=0)
            root[row, column] = np.sqrt((window**2).mean(axis=0))
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
        source, index = (0, channel) if channel < 4 else (1, 0) if channel == 4 else (2, channel - 5)
        np.testing.assert_array_equal(result[:, :, channel], parts[source][:, :, index])
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
    ("channels", "of", "represented"),
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
def test_slices_that_a_view_can_represent(channels: tuple[int, ...], of: int, represented: bool) -> None:
    assert whole_slices(channels, of) == represented


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


PIXEL = np.array([[[3.0, -4.0, 0.0, 1.0]]])


def run_with_defaults(op: str, *inputs: np.ndarray, **attrs: object) -> np.ndarray:
    """Return the reference's output, after checking its shape by the shape rule."""
    operator = ops.get(op)
    node = Node("node", op, tuple(f"in{index}" for index in range(len(inputs))), {**operator.attrs, **attrs})
    output = operator.reference(node, inputs)
    assert output.shape == tuple(operator.shape(node, [input.shape for input in inputs]))
    assert output.dtype == inputs[0].dtype
    return output


def test_channels_of_a_pixel_by_hand() -> None:
    assert run_with_defaults("channel_extreme", PIXEL, operation="max")[0, 0].tolist() == [3.0]
    assert run_with_defaults("channel_extreme", PIXEL, operation="min")[0, 0].tolist() == [-4.0]
    assert run_with_defaults("channel_argmax", PIXEL)[0, 0].tolist() == [0.0]
    assert run_with_defaults("channel_argmax", PIXEL, smallest=True)[0, 0].tolist() == [1.0]
    assert run_with_defaults("channel_argmax", np.ones((1, 1, 5)))[0, 0].tolist() == [0.0]
    e = np.exp(PIXEL[0, 0])
    np.testing.assert_allclose(run_with_defaults("channel_softmax", PIXEL)[0, 0], e / e.sum(), rtol=1e-12)
    np.testing.assert_allclose(
        run_with_defaults("channel_norm", PIXEL, kind="unit", epsilon=0.0)[0, 0], PIXEL[0, 0] / np.sqrt(26.0)
    )
    np.testing.assert_allclose(
        run_with_defaults("channel_norm", PIXEL, kind="rms", epsilon=0.0)[0, 0], PIXEL[0, 0] / np.sqrt(6.5)
    )
    layer = run_with_defaults("channel_norm", PIXEL, epsilon=0.5, gamma=(2.0,), beta=(0.25,))
    np.testing.assert_allclose(layer[0, 0], 2.0 * PIXEL[0, 0] / np.sqrt(7.0) + 0.25)


@given(st.integers(1, 6), st.integers(1, 6), st.sampled_from([(4, 1), (4, 2), (6, 3), (6, 6)]))
def test_groups_have_the_statistics_of_their_numbers(height: int, width: int, sizes: tuple[int, int]) -> None:
    channels, groups = sizes
    x = np.random.default_rng(channels).normal(1.0, 2.0, (height, width, channels))
    means, deviations = run_with_defaults("global_average_pool", x), run_with_defaults("global_deviation", x)
    members = x.reshape(-1, groups, channels // groups)
    for statistic, expected in (("mean", members.mean(axis=(0, 2))), ("deviation", members.std(axis=(0, 2)))):
        result = run_with_defaults("group_statistics", means, deviations, groups=groups, statistic=statistic)
        np.testing.assert_allclose(result, expected.repeat(channels // groups), atol=1e-12)


def test_means_of_maps_of_several_sizes() -> None:
    rng = np.random.default_rng(0)
    first, second = rng.normal(0.0, 1.0, (3, 5, 4)), rng.normal(0.0, 1.0, (2, 2, 3))
    expected = [*first.mean(axis=(0, 1)), *second.mean(axis=(0, 1))]
    np.testing.assert_allclose(run_with_defaults("global_average_pool", first, second), expected)
    with pytest.raises(ModelError, match="an even number"):
        run_with_defaults("global_average_pool", second, first)


def test_a_map_by_its_statistics() -> None:
    x = np.array([[[1.0, 5.0]], [[3.0, 5.0]]])
    result = run_with_defaults(
        "map_norm", x, np.array([2.0, 5.0]), np.array([1.0, 0.0]), epsilon=0.0, gamma=(2.0, 1.0), beta=(0.0, 4.0)
    )
    assert result[:, 0].tolist() == [[-2.0, 4.0], [2.0, 4.0]]


def test_minimum_pooling() -> None:
    x = np.arange(6.0).reshape(2, 3, 1)
    attrs = {"pool": (2, 2), "strides": (1, 1), "padding": (0, 1, 0, 0)}
    assert run_with_defaults("min_pool", x, **attrs)[:, :, 0].tolist() == [[0.0, 1.0], [3.0, 4.0]]


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
        ("channel_norm", [(2, 2, 4)], {"gamma": (1.0, 2.0)}, "a gamma of 2 elements; give 1 or 4"),
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
