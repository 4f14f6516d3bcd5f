"""Weights in a texture with a row for every two output channels: other textures' values in another order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from glsl_infer.lowering import weight_bytes, weight_pairs
from glsl_infer.lowering.conv_columns import Columns, columns_of
from glsl_infer.lowering.weight_pairs import WeightPairs
from glsl_infer.lowering.weight_texture import Constants

SHAPES = [((3, 3, 7, 10), 1), ((1, 1, 16, 24), 1), ((3, 3, 2, 8), 4), ((2, 2, 3, 6), 2), ((1, 5, 1, 3), 1)]


def constants(seed: int, columns: Columns, kernel: tuple[int, ...], *, factor: bool, numbers: int) -> Constants:
    """Return constants of any size for a kernel's columns."""
    rng = np.random.default_rng(seed)
    each = (columns.slices, 4)
    return Constants(
        columns.pack(rng.normal(0, 10.0 ** rng.uniform(-3, 3), kernel).astype(np.float32)),
        rng.normal(0, 1, each),
        rng.uniform(0.01, 2.0, each) if factor else None,
        tuple(rng.normal(0, 1, each) for _ in range(numbers)),
    )


def read(weights: WeightPairs, columns: Columns) -> WeightPairs:
    """Return the weights read back from a bundle's two members."""
    result = weight_pairs.read(weights.texels.tobytes(), weights.units.tobytes(), columns)
    assert result is not None
    return result


def parts(actual: Constants) -> list[np.ndarray]:
    """Return all arrays of some constants."""
    return [actual.weights, actual.bias, *([] if actual.factor is None else [actual.factor]), *actual.numbers]


@given(st.integers(0, 1 << 30), st.sampled_from(SHAPES), st.booleans(), st.integers(0, 4))
def test_weights_of_8_bits_are_those_of_a_row_for_each_slice(
    seed: int, shape: tuple[tuple[int, ...], int], factor: bool, numbers: int
) -> None:
    columns = columns_of(*shape)
    whole = weight_bytes.pack(constants(seed, columns, shape[0], factor=factor, numbers=numbers))
    pairs = weight_pairs.of_bytes(whole, columns)
    assert len(pairs.texels) == 2 * columns.slices
    assert np.array_equal(pairs.high_bytes, whole.high_bytes)
    for actual, result in zip(parts(whole.unpack()), parts(read(pairs, columns).unpack()), strict=True):
        assert np.array_equal(actual, result)


@given(st.integers(0, 1 << 30), st.sampled_from(SHAPES), st.booleans(), st.integers(0, 4))
def test_weights_of_16_bits_are_near_their_values(
    seed: int, shape: tuple[tuple[int, ...], int], factor: bool, numbers: int
) -> None:
    columns = columns_of(*shape)
    expected = constants(seed, columns, shape[0], factor=factor, numbers=numbers)
    pairs = weight_pairs.of_constants(expected, columns)
    stored = read(pairs, columns)
    assert stored.bits == 16
    for actual, result in zip(parts(pairs.unpack()), parts(stored.unpack()), strict=True):
        assert np.array_equal(actual, result)
    reach = np.maximum(np.abs(expected.weights).max(axis=1), np.abs(expected.bias) / 256.0)
    step = (reach / 127 + float(pairs.units[0])) / 256.0
    assert (np.abs(stored.unpack().weights - expected.weights) <= 0.51 * step[:, None]).all()
    assert (np.abs(stored.unpack().bias - expected.bias) <= 256.0 * 0.01 * step).all()


def test_textures_of_another_kind_are_not_read_and_wrong_sizes_are_refused() -> None:
    columns = columns_of((1, 1, 3, 4), 1)
    whole = weight_bytes.pack(constants(0, columns, (1, 1, 3, 4), factor=False, numbers=0))
    assert weight_pairs.read(whole.texels.tobytes(), whole.units.tobytes(), columns) is None
    pairs = weight_pairs.of_bytes(whole, columns)
    with pytest.raises(ValueError, match="in pairs has"):
        weight_pairs.read(pairs.texels.tobytes()[4:], pairs.units.tobytes(), columns)


@pytest.mark.parametrize(("kernel", "texels"), [((1, 1, 8, 4), 4), ((1, 1, 7, 4), 4), ((3, 3, 5, 4), 27)])
def test_two_columns_of_one_texel_share_one_of_weights(kernel: tuple[int, ...], texels: int) -> None:
    assert weight_pairs.texels_of(columns_of(kernel, 1)) == texels
