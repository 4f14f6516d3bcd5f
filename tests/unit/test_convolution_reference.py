"""The reference convolution compared with its definition in plain loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pairwise import pairs_of

from glsl_infer.lowering.conv_columns import columns_of
from glsl_infer.lowering.taps import Product
from glsl_infer.ops.convolution_window import convolve


def by_definition(
    x: np.ndarray, kernel: np.ndarray, strides: tuple[int, int], groups: int, dilations: tuple[int, int] = (1, 1)
) -> np.ndarray:
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
    whole = np.random.default_rng(6).normal(size=(9, 12, 5))
    kernel = np.random.default_rng(7).normal(size=(3, 3, 1, 2))
    for x in (whole[:, :, 1:2], whole[:, :, :1][:, :, ::-1], whole[::2, ::-1, 4:]):
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
