"""Cropping, resizing, flipping, indexing, padding by mirrors; transposed and separable convolutions."""

from __future__ import annotations

import keras
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from imported import check

from glsl_infer.errors import ModelError
from glsl_infer.importers.keras import to_graph

L = keras.layers


def features(x: keras.KerasTensor, channels: int = 6) -> keras.KerasTensor:
    return L.Conv2D(channels, 1)(x)


@pytest.mark.parametrize("cropping", [1, (2, 0), ((1, 2), (0, 3))])
def test_cropping(cropping) -> None:
    x = keras.Input((8, 7, 3))
    graph = check(x, L.Cropping2D(cropping)(features(x)))
    assert graph.by_name[graph.output].op == "spatial_slice"


def test_center_crop() -> None:
    x = keras.Input((8, 7, 3))
    check(x, L.CenterCrop(5, 4)(features(x)))


@pytest.mark.parametrize("interpolation", ["nearest", "bilinear"])
@pytest.mark.parametrize("size", [(4, 4), (9, 13), (16, 14), (1, 3)])
def test_resizing(interpolation: str, size: tuple[int, int]) -> None:
    x = keras.Input((8, 7, 3))
    check(x, L.Resizing(*size, interpolation=interpolation)(features(x)))
    check(x, keras.ops.image.resize(features(x), size, interpolation=interpolation))


@pytest.mark.parametrize(
    "index",
    [
        lambda x: x[:, 1:-1, ::2],
        lambda x: x[:, ::-1, 4:1:-1],
        lambda x: x[..., 4:],
        lambda x: x[:, :, :, 1:5],
        lambda x: x[..., :4],
        lambda x: x[:, 2:, :, ::-1],
    ],
)
def test_indices(index) -> None:
    x = keras.Input((8, 7, 3))
    check(x, index(features(x)))


def test_a_pixel_without_its_axis_is_refused() -> None:
    x = keras.Input((8, 7, 3))
    with pytest.raises(ModelError, match="give slices"):
        to_graph(keras.Model(x, L.Dense(2)(L.Flatten()(features(x)[:, 0]))))


@pytest.mark.parametrize("axis", [1, 2, (1, 2), -2])
def test_flip(axis) -> None:
    x = keras.Input((8, 7, 3))
    check(x, keras.ops.flip(features(x), axis))


@pytest.mark.parametrize("mode", ["constant", "reflect", "symmetric"])
def test_pad(mode: str) -> None:
    x = keras.Input((8, 7, 3))
    check(x, keras.ops.pad(features(x), ((0, 0), (1, 2), (3, 0), (0, 0)), mode))


def test_rows_and_columns_exchanged() -> None:
    x = keras.Input((8, 7, 3))
    check(x, L.Permute((2, 1, 3))(features(x)))
    check(x, keras.ops.transpose(features(x), (0, 2, 1, 3)))
    check(x, L.Permute((3, 1, 2))(features(x)))


@pytest.mark.parametrize("keepdims", [False, True])
def test_global_max(keepdims: bool) -> None:
    x = keras.Input((8, 7, 3))
    check(x, L.GlobalMaxPooling2D(keepdims=keepdims)(features(x)))


@given(
    kernel=st.tuples(st.integers(1, 5), st.integers(1, 5)),
    stride=st.integers(1, 4),
    padding=st.sampled_from(["same", "valid"]),
    filters=st.integers(1, 5),
    activation=st.sampled_from([None, "relu"]),
    seed=st.integers(0, 1000),
)
@settings(max_examples=15, deadline=None)
def test_transposed_convolution(kernel, stride, padding, filters, activation, seed) -> None:
    x = keras.Input((4, 5, 3))
    layer = L.Conv2DTranspose(filters, kernel, stride, padding, activation=activation)
    if min(kernel) < stride and padding == "valid":
        return  # refused, below
    check(x, layer(x), seed)


def test_output_padding() -> None:
    x = keras.Input((4, 5, 3))
    check(x, L.Conv2DTranspose(3, 4, 2, "same", output_padding=1)(x))


@given(
    kernel=st.tuples(st.integers(1, 4), st.integers(1, 4)),
    stride=st.integers(1, 2),
    padding=st.sampled_from(["same", "valid"]),
    multiplier=st.integers(1, 3),
    activation=st.sampled_from([None, "relu"]),
)
@settings(max_examples=8, deadline=None)
def test_separable_convolution(kernel, stride, padding, multiplier, activation) -> None:
    x = keras.Input((6, 7, 3))
    layer = L.SeparableConv2D(5, kernel, stride, padding, depth_multiplier=multiplier, activation=activation)
    check(x, layer(x))
