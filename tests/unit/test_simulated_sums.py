"""Sums simulated together equal those simulated alone, and texels of a region equal those of the full map."""

from __future__ import annotations

import numpy as np
import pytest

from glsl_infer.lowering import simulated_sums, truncation
from glsl_infer.lowering.calibration_maps import PICTURES, Texels
from glsl_infer.lowering.conv_columns import columns_of
from glsl_infer.lowering.truncation import Sums, byte_start, starts
from glsl_infer.program.layout import FeatureMap, View
from glsl_infer.support import blas


def feature_map(height: int, width: int, channels: int) -> FeatureMap:
    views = tuple(View("map", 0, index * height) for index in range(-(-channels // 4)))
    scales, zeros = tuple(2.0 + index for index in range(channels)), tuple(float(index) for index in range(channels))
    return FeatureMap(height, width, channels, 0, views, scales, zeros)


def test_last_bits_are_numpys_spacing() -> None:
    rng = np.random.default_rng(0)
    values = (rng.normal(size=4000) * 10.0 ** rng.uniform(-25, 25, 4000)).astype(np.float32)
    assert (simulated_sums.last_bits(values) == np.spacing(values)).all()
    assert simulated_sums.last_bits(np.zeros(1, np.float32))[0] < 1e-37


@pytest.mark.parametrize("shape, groups", [((3, 3, 10, 12), 1), ((2, 2, 3, 24), 4), ((3, 3, 1, 12), 12)])
def test_factors_and_texels_of_each_column(shape: tuple[int, ...], groups: int) -> None:
    columns = columns_of(shape, groups)
    channels = shape[2] * groups
    texels = np.random.default_rng(1).random((5, shape[0] * shape[1], -(-channels // 4) * 4)).astype(np.float32)
    windows = simulated_sums.Windows(columns, texels)
    for index in range(columns.slices):
        reads = columns.read_by(index)
        factors = windows.factors(reads)
        for slot, row, col, products in columns.taps(range(columns.slots)):
            texel = texels[:, row * shape[1] + col, 4 * reads[slot] : 4 * reads[slot] + 4]
            for product in products:
                lanes = texel if columns.depthwise else texel[:, ["xyzw".index(product.lane)]]
                assert (factors[product.column] == lanes).all()


@pytest.mark.parametrize("positions", [9, 33])
@pytest.mark.parametrize("residual", [False, True])
def test_sums_together_are_those_of_one_slice(residual: bool, positions: int) -> None:
    rng = np.random.default_rng(2)
    factors = rng.integers(0, 256, (30, positions, 1)).astype(np.float32) / np.float32(255.0)
    constants = rng.normal(size=(5, 30 + residual, 4)).astype(np.float32)
    constants[:, 4] = 0.0
    biases = rng.normal(size=(5, 4)).astype(np.float32)
    added = rng.random((positions, 5, 4)).astype(np.float32) if residual else None
    sums = simulated_sums.simulate(factors, constants, biases, fourth=True, residual=added)
    assert sums.fourth is not None and sums.changed is not None
    for index in range(5):
        values = np.broadcast_to(factors, (30, positions, 4)).transpose(1, 0, 2)
        values = values if added is None else np.concatenate([values, added[:, [index]]], axis=1)
        products = values * constants[index]
        partial_sums = biases[index] + np.cumsum(products, axis=1, dtype=np.float32)
        inexact = (values != 0.0) & (values != 1.0)
        product_bits = np.where(inexact, np.spacing(products) + np.spacing(values) * constants[index], 0.0).sum(axis=1)
        sum_bits = np.where(products != 0.0, np.spacing(partial_sums), 0.0).sum(axis=1)
        np.testing.assert_array_equal(sums.sums[:, index], partial_sums[:, -1])
        np.testing.assert_array_equal(sums.product_bits[:, index], product_bits)
        np.testing.assert_array_equal(sums.sum_bits[:, index], sum_bits)
        np.testing.assert_array_equal(sums.fourth[index], partial_sums[:, :, 3])
        np.testing.assert_array_equal(sums.changed[index], products[:, :, 3] != 0.0)


@pytest.mark.parametrize("alpha", [False, True])
@pytest.mark.parametrize("count", [1, 3, 8])
def test_texels_with_their_gutter(alpha: bool, count: int) -> None:
    value = feature_map(5, 6, 6)
    maps = np.random.default_rng(3).uniform(-2, 9, (count, 5, 6, 6)).astype(np.float32)
    top, left = 1, 3
    texels = Texels(maps, value, (top, 2, left, 0), alpha=alpha)
    assert texels.size == (8, 9)
    padded = np.zeros((count, 8, 9, 8), np.float32)
    padded[..., :6] = 0.0 if alpha else value.zero_of / 255.0
    stored = np.floor(maps * (255.0 / value.scale_of) + value.zero_of + 0.5)
    inside = padded[:, top : top + 5, left : left + 6]
    inside[..., :6] = np.clip(stored, 0.0, 255.0) / 255.0
    inside[..., 6:] = float(alpha)
    pictures, rows, cols = (axis.reshape(-1) for axis in np.indices((PICTURES, 8, 9)))
    expected = padded[[index * count // PICTURES for index in range(PICTURES)]]
    np.testing.assert_array_equal(texels.at(pictures, rows, cols), expected.reshape(-1, 8))


def test_sums_that_are_cut_start_farther_from_zero() -> None:
    """All weights and texels are positive, so every truncated addition loses half of the last bit on average."""
    rng = np.random.default_rng(4)
    columns = columns_of((3, 3, 8, 8), 1)
    texels = Texels(
        rng.uniform(0.2, 1.0, (2, 9, 9, 8)).astype(np.float32), feature_map(9, 9, 8), (0, 0, 0, 0), alpha=False
    )
    constants = columns.pack(rng.uniform(0.001, 0.01, (3, 3, 8, 8)).astype(np.float32))
    biases = np.full((2, 4), 0.01, np.float32)
    result = starts(Sums(columns, constants, biases), texels, (1, 1))
    assert (result.truncated > biases).all() and (result.truncated < biases + 1e-4).all()
    bytes_ = np.full((2, columns.count + 3, 4), 0.9, np.float32)
    assert byte_start(columns, bytes_, 1.0, texels, (1, 1)) < 0.0


@pytest.mark.parametrize(("total", "offset"), [(0.9, 2.0), (0.4, 1.0)])
def test_a_late_sum_starts_where_it_stays_between_two_powers_of_two(total: float, offset: float) -> None:
    """A sum rises from -1 by up to ``total``, by its texels. If it came near 0, it starts at -2 instead."""
    columns = columns_of((1, 1, 256, 4), 1)
    maps = np.random.default_rng(4).uniform(0.0, 1.0, (2, 9, 9, 1)).astype(np.float32).repeat(256, axis=3)
    views = tuple(View("map", 0, 9 * index) for index in range(64))
    texels = Texels(maps, FeatureMap(9, 9, 256, 0, views), (0, 0, 0, 0), alpha=False)
    constants = np.full((1, 256, 4), total / 256.0, np.float32)
    result = starts(Sums(columns, constants, np.zeros((1, 4), np.float32)), texels, (1, 1), np.ones(1, np.float32))
    assert result.fetch_offsets == pytest.approx(offset)


def test_matrix_products_take_one_thread_and_then_as_many_as_before() -> None:
    np.ones((2, 2)) @ np.ones((2, 2))
    functions = blas._functions()
    before = [count() for count, _ in functions]
    with blas.one_thread():
        assert all(count() == 1 for count, _ in functions)
    assert [count() for count, _ in functions] == before


def test_positions_count_as_much_in_a_mean_loss_as_they_should() -> None:
    """A sum of 1 loses half of 2**-23 with each addition, and a sum of 4 half of 2**-21; positions weight the mean."""
    sums, changed = np.array([[1.0], [4.0]], np.float32), np.ones((2, 1), bool)
    fourth = truncation._Fourth(sums, changed, np.zeros(2, np.float32), np.array([0.25, 0.75], np.float32))
    mean, spread = fourth.losses(0.0)
    losses, bits = np.array([-(2.0**-24), -(2.0**-22)]), np.array([2.0**-23, 2.0**-21])
    expected = losses @ [0.25, 0.75]
    assert mean == pytest.approx(expected)
    assert spread == pytest.approx(((losses - expected) ** 2 + bits**2 / 12.0) @ [0.25, 0.75])
