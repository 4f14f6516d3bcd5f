"""8-bit weights in a texture: a scale for each output channel, 24-bit biases, preserved sums of filters."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from glsl_infer.lowering import weight_bytes
from glsl_infer.lowering.weight_texture import Constants


def constants(seed: int, slices: int, columns: int, *, factor: bool) -> Constants:
    """Return channels whose weights differ in size by up to a hundred, and biases of any size."""
    rng = np.random.default_rng(seed)
    size = 10.0 ** rng.uniform(-1, 1, (slices, 1, 4))
    weights = size * rng.normal(0, 1, (slices, columns, 4))
    bias = 10.0 ** rng.uniform(-2, 1) * rng.normal(0, 1, (slices, 4))
    return Constants(weights, bias, rng.uniform(0.01, 2.0, (slices, 4)) if factor else None)


@given(st.integers(0, 1 << 30), st.integers(1, 9), st.integers(1, 80), st.booleans())
def test_unpacked_weights_are_near_the_packed_weights(seed: int, slices: int, columns: int, factor: bool) -> None:
    actual = constants(seed, slices, columns, factor=factor)
    packed = weight_bytes.pack(actual)
    assert packed.texels.shape == (slices, columns + (7 if factor else 4), 4)
    read = weight_bytes.read(packed.texels.tobytes(), packed.units.tobytes(), slices, columns)
    assert read is not None
    stored = read.unpack()
    reach = np.maximum(np.abs(actual.weights).max(axis=1), np.abs(actual.bias) / 256.0)
    scale = (reach / 127 + float(packed.units[0]))[:, None]
    # A weight can be rounded up if down is nearer, but always to a neighbouring step.
    assert (np.abs(stored.weights - actual.weights) <= 1.0001 * scale).all()
    assert (np.abs((stored.weights - actual.weights).sum(axis=1)) <= 0.5001 * scale[:, 0]).all()
    assert (np.abs(stored.bias - actual.bias) <= 0.01 * scale[:, 0]).all()
    assert (stored.factor is None) == (not factor)
    if actual.factor is not None and stored.factor is not None:
        assert np.abs(stored.factor - actual.factor).max() <= actual.factor.max() / (1 << 23)


def test_the_noise_equals_the_rounding_error_of_full_texels() -> None:
    """The noise formula excludes the preserved sums, so here each texel has a random sign."""
    actual = constants(3, 64, 300, factor=False)
    stored = weight_bytes.pack(actual).unpack()
    signs = np.random.default_rng(4).choice([-1.0, 1.0], (1, 300, 1))
    seen = 255.0 * ((stored.weights - actual.weights) * signs).sum(axis=1).ravel()
    assert np.sqrt((seen**2).mean()) == pytest.approx(weight_bytes.noise(actual.weights, actual.bias), rel=0.25)


def test_zeros_stay_zero() -> None:
    stored = weight_bytes.pack(Constants(np.zeros((2, 3, 4)), np.zeros((2, 4)), np.zeros((2, 4)))).unpack()
    assert not stored.weights.any()
    assert not stored.bias.any()


def test_a_large_bias_with_small_weights_is_kept() -> None:
    stored = weight_bytes.pack(Constants(np.full((1, 5, 4), 1e-6), np.array([[1.0, -1.0, 0.5, 0.0]]))).unpack()
    assert stored.bias == pytest.approx(np.array([[1.0, -1.0, 0.5, 0.0]]), abs=1e-4)
    assert np.abs(stored.weights).max() <= 1e-4


def test_a_texture_of_another_size_is_not_read() -> None:
    packed = weight_bytes.pack(constants(0, 2, 7, factor=False))
    assert weight_bytes.read(packed.texels.tobytes(), packed.units.tobytes(), 2, 8) is None
