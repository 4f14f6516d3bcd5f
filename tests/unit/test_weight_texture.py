"""Weights as stored in a texture: 16 bits a weight, a scale for each output channel, 24-bit biases."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from glsl_infer.lowering import weight_texture
from glsl_infer.lowering.bindings import Read
from glsl_infer.lowering.conv_columns import columns_of
from glsl_infer.lowering.texture_choice import ConvolutionWeights
from glsl_infer.lowering.weight_texture import Constants
from glsl_infer.program.layout import View


def constants(seed: int, slices: int, columns: int, *, factor: bool) -> Constants:
    """Return channels whose weights differ in size by up to a million, and biases of any size."""
    rng = np.random.default_rng(seed)
    size = 10.0 ** rng.uniform(-3, 3, (slices, 1, 4))
    weights = size * rng.normal(0, 1, (slices, columns, 4))
    bias = 10.0 ** rng.uniform(-2, 2) * rng.normal(0, 1, (slices, 4))
    return Constants(weights, bias, rng.uniform(0.01, 2.0, (slices, 4)) if factor else None)


@given(st.integers(0, 1 << 30), st.integers(1, 9), st.integers(1, 80), st.booleans())
def test_unpacked_weights_are_near_the_packed_weights(seed: int, slices: int, columns: int, factor: bool) -> None:
    actual = constants(seed, slices, columns, factor=factor)
    packed = weight_texture.pack(actual)
    assert packed.texels.shape == (2 * slices, columns + (5 if factor else 3), 4)
    stored = weight_texture.read(packed.texels.tobytes(), packed.units.tobytes(), slices, columns).unpack()
    largest = np.abs(actual.weights).max(axis=1, keepdims=True)
    # Half a 16-bit step of the channel's scale, which is a multiple of the layer's unit.
    unit = float(packed.units[0])
    assert (np.abs(stored.weights - actual.weights) <= 0.5001 * (largest / 32767 + unit)).all()
    assert np.abs(stored.bias - actual.bias).max() <= np.abs(actual.bias).max() / (1 << 23)
    assert (stored.factor is None) == (not factor)
    if actual.factor is not None and stored.factor is not None:
        assert np.abs(stored.factor - actual.factor).max() <= actual.factor.max() / (1 << 23)


def test_a_small_channel_keeps_its_digits_next_to_a_large_one() -> None:
    weights = np.array([[[1000.0, 0.5, 0.0, 1.0], [-500.0, 0.123456, 0.0, -1.0]]])
    stored = weight_texture.pack(Constants(weights, np.zeros((1, 4)))).unpack()
    assert np.abs(stored.weights[0, 1, 1] / 0.123456 - 1.0) < 2e-3
    assert not stored.weights[0, :, 2].any()
    assert stored.weights[0, 0, 0] == pytest.approx(1000.0, rel=1e-4)


def test_zeros_stay_zero() -> None:
    stored = weight_texture.pack(Constants(np.zeros((2, 3, 4)), np.zeros((2, 4)), np.zeros((2, 4)))).unpack()
    assert not stored.weights.any()
    assert not stored.bias.any()


def test_unpacked_weights_pack_to_equal_weights() -> None:
    once = weight_texture.pack(constants(1, 5, 33, factor=True)).unpack()
    repacked = weight_texture.pack(once).unpack()
    assert np.allclose(once.weights, repacked.weights, rtol=0, atol=np.abs(once.weights).max() / 32767)


def test_a_texture_of_another_width_is_refused() -> None:
    packed = weight_texture.pack(constants(0, 2, 7, factor=False))
    with pytest.raises(ValueError, match="10 texels wide"):
        weight_texture.read(packed.texels.tobytes(), packed.units.tobytes(), 2, 8)


def weights_of(slices: int, channels: int, textures: int = 1) -> ConvolutionWeights:
    """Return small weights of a 1x1 convolution of 8-bit maps in some textures."""
    columns = columns_of((1, 1, channels, 4 * slices), 1)
    reads = [{"source": [Read(View(f"map{index % textures}", 0, 0)) for index in range(columns.slots)]}] * slices
    weights = Constants(np.full((slices, channels, 4), 1e-4, np.float32), np.zeros((slices, 4), np.float32))
    return ConvolutionWeights(
        reads,
        columns,
        weights,
        alpha=False,
        steepness=None,
        reads_16_bits=False,
        stores_16_bits=False,
        tolerates_rounding=False,
        in_pairs=False,
        has_images=False,
        takes_root=False,
    )


@pytest.mark.parametrize(
    ("weight_bits", "slices", "channels", "reason"),
    [
        ("16", 1024, 520, ""),
        ("16", 1025, 4, "1025 slices of 4 columns, and at most 1024 of 520 columns can have one"),
        ("16", 1, 524, "1 slices of 524 columns, and at most 1024 of 520 columns can have one"),
        ("auto", 2048, 4, ""),
        ("auto", 2049, 4, "2049 slices of 4 columns, and at most 2048 of 1280 columns can have one"),
        ("auto", 1, 1284, "1 slices of 1284 columns, and at most 2048 of 1280 columns can have one"),
    ],
)
def test_weights_too_large_for_a_texture_have_a_reason(
    weight_bits: str, slices: int, channels: int, reason: str
) -> None:
    assert weights_of(slices, channels).in_texture(weight_bits).untextured == reason


def test_a_draw_has_a_texture_to_spare_for_weights() -> None:
    assert weights_of(1, 40, textures=7).in_texture("auto").untextured == ""
    assert weights_of(1, 40, textures=8).in_texture("auto").untextured == "a draw reads 8 textures already"
