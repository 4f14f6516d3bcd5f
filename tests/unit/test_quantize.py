"""The stored formats: 8 bits over [0, 1] and 16-bit fixed point."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from glsl_infer.program import quantize
from glsl_infer.program.layout import FeatureMap, FixedMap, FixedPoint, View
from glsl_infer.program.texels import decode_fixed, decode_tiles, in_steps, pack_fixed, pack_tiles


@given(st.floats(-2, 3))
def test_store8_rounds_to_the_nearest_step_and_saturates(value: float) -> None:
    stored = float(quantize.store8(np.array([value]))[0])
    clipped = min(max(value, 0.0), 1.0)
    assert abs(stored - clipped) <= 0.5 / 255 + 1e-12
    assert quantize.to_bytes(np.array([value]))[0] == round(stored * 255)


@given(st.floats(-1000, 1000), st.integers(-8, 4))
def test_fixed16_rounds_within_half_a_step_and_never_wraps(value: float, exponent: int) -> None:
    scale = 2.0**exponent
    stored = float(quantize.store16(np.array([value]), scale)[0])
    low, high = -128.0 * scale, 32767 / 256 * scale
    assert abs(stored - min(max(value, low), high)) <= 0.5 * scale / 256 + 1e-9


@given(st.lists(st.integers(-32768, 32767), min_size=1))
def test_bytes_of_fixed16_go_both_ways(integers: list[int]) -> None:
    array = np.array(integers, np.int64)
    np.testing.assert_array_equal(quantize.join_fixed16(quantize.split_fixed16(array)), array)


def test_bytes_follow_the_formula_of_the_format() -> None:
    v = -1.5
    n = np.floor(v * 256 + 0.5)
    high = np.floor(n / 256)
    np.testing.assert_array_equal(
        quantize.split_fixed16(quantize.fixed16(np.array([v]), 1.0))[0], [high + 128, n - 256 * high]
    )


@given(st.floats(1e-3, 1e6))
def test_scale_is_the_smallest_power_of_two_that_fits(bound: float) -> None:
    scale = quantize.power_of_two_scale(bound)
    assert np.log2(scale) == int(np.log2(scale))
    assert bound / scale <= quantize.FIXED_LIMIT < 2 * bound / scale


@pytest.mark.parametrize("columns, length", [(0, 1), (0, 7), (3, 5), (1, 8)])
def test_fixed_point_textures_go_both_ways(columns: int, length: int) -> None:
    value = FixedPoint("t", columns, length, 0.25)
    shape = (columns, length) if columns else (length,)
    numbers = quantize.store16(np.random.default_rng(0).normal(0, 10, shape), 0.25)
    texture = pack_fixed(numbers, value)
    assert texture.shape == (value.size[1], value.size[0], 4)
    np.testing.assert_array_equal(decode_fixed(texture, value).astype(np.float32), numbers)


@pytest.mark.parametrize("channels", [1, 3, 4, 6])
@pytest.mark.parametrize("affine", [False, True])
def test_feature_maps_go_both_ways(channels: int, affine: bool) -> None:
    rng = np.random.default_rng(0)
    views = tuple(View("t", 0, 0) for _ in range(-(-channels // 4)))
    scales, zeros = (tuple(rng.uniform(0.1, 9.0, channels)), (100.0,)) if affine else ((1.0,), (0.0,))
    value = FeatureMap(2, 3, channels, 0, views, scales, zeros)
    stored = rng.integers(0, 256, (2, 3, channels))
    output = value.scale_of * (stored - value.zero_of) / 255
    tiles = pack_tiles(output, value)
    assert tiles.shape == (len(views), 2, 3, 4)
    lanes = tiles.transpose(1, 2, 0, 3).reshape(2, 3, -1)
    np.testing.assert_array_equal(lanes[..., :channels], stored)
    assert not lanes[..., channels:].any()
    np.testing.assert_array_equal(decode_tiles(tiles, value), output)
    np.testing.assert_allclose(in_steps(output, value), stored, atol=1e-9)


def test_16_bit_maps_go_both_ways() -> None:
    value = FixedMap(2, 3, 8, 0.5, tuple(View("t", 3 * tile, 0) for tile in range(4)))
    output = np.random.default_rng(0).integers(-32768, 32768, (2, 3, 8)) * (0.5 / 256)
    tiles = pack_tiles(output, value)
    assert tiles.shape == (4, 2, 3, 4)
    np.testing.assert_array_equal(decode_tiles(tiles, value).astype(np.float32), output)
    high = tiles[1, :, :, 2].astype(int) - 128
    np.testing.assert_array_equal(high, np.floor(output[..., 3] / 0.5), "channel 3 is the second of view 1")
