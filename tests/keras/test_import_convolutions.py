"""Depthwise convolutions, and dense layers on maps."""

from __future__ import annotations

import keras
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from imported import check

L = keras.layers


@given(
    size=st.integers(5, 10),
    channels=st.integers(1, 5),
    multiplier=st.integers(1, 3),
    kernel=st.tuples(st.integers(1, 4), st.integers(1, 4)),
    stride=st.integers(1, 3),
    padding=st.sampled_from(["same", "valid"]),
    bias=st.booleans(),
    activation=st.sampled_from([None, "relu", "relu6"]),
    seed=st.integers(0, 1000),
)
@settings(max_examples=20)
def test_depthwise(size, channels, multiplier, kernel, stride, padding, bias, activation, seed) -> None:
    x = keras.Input((size, size + 1, 3))
    y = L.Conv2D(channels, 1)(x)
    y = L.DepthwiseConv2D(
        kernel, stride, padding, depth_multiplier=multiplier, use_bias=bias, activation=activation, name="depthwise"
    )(y)
    graph = check(x, L.BatchNormalization()(y), seed)
    node = graph.by_name["depthwise"]
    assert node.attrs["groups"] == channels
    assert node.weights["kernel"].shape == (*kernel, 1, channels * multiplier)


@given(
    size=st.integers(4, 10),
    kernel=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    dilation=st.tuples(st.integers(1, 4), st.integers(1, 4)),
    kind=st.sampled_from(["conv", "groups", "depthwise", "separable"]),
    seed=st.integers(0, 1000),
)
@settings(max_examples=20, deadline=None)
def test_dilation(size, kernel, dilation, kind, seed) -> None:
    x = keras.Input((size, size + 1, 3))
    options = {"padding": "same", "dilation_rate": dilation, "name": "apart"}
    layer = {
        "conv": lambda: L.Conv2D(3, kernel, **options),
        "groups": lambda: L.Conv2D(4, kernel, groups=2, **options),
        "depthwise": lambda: L.DepthwiseConv2D(kernel, **options),
        "separable": lambda: L.SeparableConv2D(4, kernel, **options),
    }[kind]()
    check(x, layer(L.Conv2D(4, 1)(x)), seed)


def test_a_window_wider_than_the_map_is_its_middle() -> None:
    x = keras.Input((8, 10, 3))
    graph = check(x, L.Conv2D(4, 3, padding="same", dilation_rate=(12, 9), name="apart")(L.Conv2D(4, 1)(x)))
    node = graph.by_name["apart"]
    assert node.weights["kernel"].shape[:2] == (1, 3)
    assert (node.attrs["padding"], node.attrs["dilations"]) == ((0, 0, 9, 9), (12, 9))


def test_a_valid_window_with_dilation() -> None:
    x = keras.Input((11, 9, 3))
    check(x, L.Conv2D(4, (3, 2), dilation_rate=(4, 5))(x))


def test_dense_on_a_map_is_a_convolution() -> None:
    x = keras.Input((4, 5, 3))
    graph = check(x, L.Dense(6, activation="relu", name="pixels")(x))
    assert graph.by_name["pixels"].op == "conv2d"


@pytest.mark.parametrize("maximum", [6, 6.0, 1, 0.25, 2.5])
def test_limited_relu(maximum: float) -> None:
    x = keras.Input((4, 4, 3))
    graph = check(x, L.ReLU(maximum)(L.Conv2D(4, 1, name="conv")(x)))
    assert graph.by_name["conv"].attrs["activation"] == f"relu({maximum:g})"


@pytest.mark.parametrize("function", ["relu6", keras.activations.relu6, L.ReLU(6.0)])
def test_limited_relu_by_another_name(function) -> None:
    x = keras.Input((4, 4, 3))
    graph = check(x, L.Conv2D(4, 1, activation=function, name="conv")(x))
    assert graph.by_name["conv"].attrs["activation"] == "relu(6)"
