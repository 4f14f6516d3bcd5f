"""Ranges folded into a convolution's constants, and the inverse."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from glsl_infer.graph import Node
from glsl_infer.graph.activations import activation
from glsl_infer.lowering import fold
from glsl_infer.ops.convolution_window import convolve
from glsl_infer.program.layout import FeatureMap

CASES = st.tuples(
    st.sampled_from([(1, 3, 5), (2, 2, 3), (4, 1, 1), (3, 4, 2)]),  # groups, channels and filters per group
    st.sampled_from(["linear", "relu", "relu(6)", "sigmoid", "piecewise_linear(0.25,0.5,2,-0.25,0.75)"]),
    st.booleans(),
    st.booleans(),
    st.integers(0, 10_000),
)


def feature_map(rng: np.random.Generator, channels: int, *, low: float = 0.2, zeros: bool = True) -> FeatureMap:
    return FeatureMap(
        5,
        5,
        channels,
        0,
        (),
        tuple(rng.uniform(low, 3.0, channels).tolist()),
        tuple(rng.integers(0, 256, channels).astype(float).tolist()) if zeros else (0.0,),
    )


def random_case(
    case: tuple,
) -> tuple[np.random.Generator, fold.Kernel, np.ndarray, np.ndarray, FeatureMap, FeatureMap | None, FeatureMap, str]:
    (groups, channels, filters), function, with_residual, alpha, seed = case
    rng = np.random.default_rng(seed)
    alpha = alpha and groups == 1
    source = feature_map(rng, groups * channels)
    total = groups * filters
    residual = feature_map(rng, total) if with_residual else None
    out = FeatureMap(5, 5, total, 0, ())
    if activation(function).clips:
        out = feature_map(rng, total, zeros=function == "linear")
    attrs = {"groups": groups, "alpha": alpha, "activation": function, "scales": out.scales, "zeros": out.zeros}
    kernel = rng.normal(size=(2, 3, channels, total)).astype(np.float32)
    bias = rng.normal(size=total).astype(np.float32)
    folder = fold.Kernel(Node("n", "conv2d", (), attrs), source, residual, kernel.shape)
    return rng, folder, kernel, bias, source, residual, out, function


@given(CASES)
def test_unfold_undoes_fold(case) -> None:
    _, folder, kernel, bias, *_ = random_case(case)
    folded, total = folder.fold(kernel, bias)
    assert folded.dtype == total.dtype == np.float32
    assert folded.shape[2] == kernel.shape[2] + folder.alpha
    back, offset = folder.unfold(folded, total)
    np.testing.assert_allclose(back, kernel, rtol=1e-6)
    size = np.abs(total).max() + np.abs(folded).sum(axis=(0, 1, 2)).max()
    assert np.abs((offset - bias) * folder.output.factor).max() <= 1e-6 * size


@given(CASES)
def test_texels_in_and_texels_out(case) -> None:
    """The folded sum of the shader, activated and stored, equals the real sum, activated and stored."""
    rng, folder, kernel, bias, source, residual, out, function = random_case(case)
    groups = source.channels // kernel.shape[2]
    texels = rng.integers(0, 256, (4, 6, source.channels)) / 255.0
    values = source.scale_of * (texels - source.zero_of / 255.0)
    exact = convolve(values, kernel.astype(np.float64), (1, 1), groups) + bias
    folded, total = folder.fold(kernel, bias)
    if folder.alpha:
        texels = np.concatenate([texels, np.ones((4, 6, 1))], axis=2)
    shader = convolve(texels, folded.astype(np.float64), (1, 1), groups) + total
    if residual is not None:
        more = rng.integers(0, 256, exact.shape) / 255.0
        exact = exact + residual.scale_of * (more - residual.zero_of / 255.0)
        shader = shader + folder.residual_factor * more
    clipped = np.clip(folder.output.activation(shader), 0, 1)
    expected = np.clip(activation(function)(exact) / out.scale_of + out.zero_of / 255.0, 0, 1)
    np.testing.assert_allclose(clipped, expected, atol=2e-4)


def test_alpha_makes_padding_zero() -> None:
    """In the input's gutter all four components are 0, and so is their contribution."""
    rng = np.random.default_rng(0)
    picture = FeatureMap(4, 4, 3, 1, (), (2.0,), (127.5,))
    attrs = {"groups": 1, "alpha": True, "activation": "linear", "scales": (1.0,), "zeros": (0.0,)}
    kernel, bias = rng.normal(size=(3, 3, 3, 2)).astype(np.float32), np.zeros(2, np.float32)
    folder = fold.Kernel(Node("n", "conv2d", (), attrs), picture, None, kernel.shape)
    folded, total = folder.fold(kernel, bias)
    assert not total.any()
    bytes_ = rng.integers(0, 256, (4, 4, 3))
    texels = np.pad(np.concatenate([bytes_ / 255.0, np.ones((4, 4, 1))], axis=2), ((1, 1), (1, 1), (0, 0)))
    values = np.pad(2.0 * (bytes_ - 127.5) / 255.0, ((1, 1), (1, 1), (0, 0)))
    np.testing.assert_allclose(
        convolve(texels, folded.astype(np.float64), (1, 1), 1), convolve(values, kernel, (1, 1), 1), atol=1e-5
    )


@pytest.mark.parametrize(
    "function, scales, zeros, message",
    [
        ("hard_sigmoid", (1.0,), (1.0,), "'hard_sigmoid' is stored over"),
        ("piecewise_linear(1,0)", (0.5,), (0.0,), r"'piecewise_linear\(1,0\)' is stored over"),
        ("relu", (1.0,), (1.0,), "wider than that of 'relu'"),
        ("relu(6)", (7.0,), (0.0,), r"a range of 0 to 7 is wider than that of 'relu\(6\)'"),
    ],
)
def test_ranges_wider_than_the_function_are_refused(function, scales, zeros, message) -> None:
    with pytest.raises(ValueError, match=message):
        fold.output(activation(function), {"scales": scales, "zeros": zeros}, 4)


def test_slices_are_padded() -> None:
    assert fold.slices(np.arange(6.0), -1.0).tolist() == [[0, 1, 2, 3], [4, 5, -1, -1]]


@pytest.mark.parametrize(
    "function, left",
    [("piecewise_linear(0.25,0.5)", "linear"), ("piecewise_linear(2,0,1,0,1)", "piecewise_linear(1,0,1,0,1)")],
)
def test_a_line_goes_into_the_sum(function: str, left: str) -> None:
    out = fold.output(activation(function), {"scales": (1.0,), "zeros": (0.0,)}, 3)
    assert out.activation.text == left
    line = activation(function).pieces
    assert line is not None
    assert out.factor.tolist() == [line.factor] * 3
    assert out.offset.tolist() == [line.offset] * 3
    assert np.clip(activation(left)(np.array(out.pad)), 0.0, 1.0) == 0.0


def test_lanes_beyond_the_last_channel_have_its_constants() -> None:
    slopes = activation("prelu(0.1,0.2,0.3,0.4,0.5)")
    for name, rows in fold.function_constants(slopes, 5).items():
        values = np.broadcast_to(slopes.constants[name], 5)
        assert rows == pytest.approx(np.array([values[:4], [values[4]] * 4]))
