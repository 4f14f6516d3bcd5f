"""Every supported Keras layer, with random options, becomes an equivalent graph."""

from __future__ import annotations

import keras
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from imported import check

from glsl_infer.compiler.optimize import optimize
from glsl_infer.importers.keras import to_graph
from glsl_infer.importers.keras.layers import ChannelShuffle, PiecewiseLinearSigmoid

L = keras.layers


@given(
    size=st.integers(5, 12),
    groups=st.sampled_from([1, 2, 3]),
    kernel=st.tuples(st.integers(1, 5), st.integers(1, 5)),
    stride=st.integers(1, 3),
    padding=st.sampled_from(["same", "valid"]),
    bias=st.booleans(),
    activation=st.sampled_from([None, "relu", "sigmoid", "hard_sigmoid"]),
    seed=st.integers(0, 1000),
)
@settings(max_examples=25)
def test_conv2d(size, groups, kernel, stride, padding, bias, activation, seed) -> None:
    x = keras.Input((size, size + 1, 3))
    y = L.Conv2D(6, 1)(x)
    y = L.Conv2D(6, kernel, strides=stride, padding=padding, groups=groups, use_bias=bias, activation=activation)(y)
    check(x, y, seed)


@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize("center", [True, False])
def test_batch_norm_after_convolution_before_it_and_alone(scale: bool, center: bool) -> None:
    x = keras.Input((6, 6, 3))
    y = L.BatchNormalization(scale=scale, center=center, epsilon=0.01)(x)
    y = L.Conv2D(5, 3)(y)
    y = L.BatchNormalization(scale=scale, center=center)(y)
    y = L.BatchNormalization()(y)
    check(x, y)


@pytest.mark.parametrize("name", ["linear", "relu", "sigmoid", "hard_sigmoid"])
def test_activations(name: str) -> None:
    x = keras.Input((4, 4, 3))
    check(x, L.Activation(name)(L.Conv2D(4, 1)(x)))


def test_relu_and_piecewise_linear_sigmoid() -> None:
    x = keras.Input((4, 4, 3))
    check(x, PiecewiseLinearSigmoid()(L.ReLU()(L.Conv2D(4, 1)(x))))


def test_an_activation_can_be_a_layer_of_this_package() -> None:
    x = keras.Input((4, 4, 3))
    check(x, L.Conv2D(4, 1, activation=PiecewiseLinearSigmoid())(x))


@pytest.mark.parametrize("channels, step", [(32, 8), (64, 8), (128, 8), (24, 2)])
def test_channel_shuffle(channels: int, step: int) -> None:
    x = keras.Input((3, 3, 3))
    check(x, ChannelShuffle(step)(L.Conv2D(channels, 1)(x)))


def test_residual_with_a_shared_layer_and_three_terms() -> None:
    x = keras.Input((6, 6, 3))
    shared = L.Conv2D(3, 3, padding="same")
    y = shared(shared(x))
    check(x, L.Activation("sigmoid")(L.Add()([x, y, x])))


def test_zero_padding_in_all_forms() -> None:
    x = keras.Input((6, 6, 3))
    y = L.Conv2D(4, 3, strides=2)(L.ZeroPadding2D(((0, 1), (2, 0)))(x))
    check(x, L.ZeroPadding2D(2)(L.ZeroPadding2D((1, 0))(y)))


@pytest.mark.parametrize("bias", [True, False])
def test_pool_dropout_dense(bias: bool) -> None:
    x = keras.Input((5, 5, 3))
    y = L.GlobalAveragePooling2D()(L.Dropout(0.5)(L.Conv2D(7, 3)(x)))
    y = L.Dense(6, activation="relu", use_bias=bias)(L.Dropout(0.5)(y))
    check(x, L.BatchNormalization()(L.Dense(4)(L.Flatten()(y))))


def test_flatten_of_a_map_keeps_keras_order() -> None:
    x = keras.Input((3, 4, 3))
    check(x, L.Dense(5)(L.Flatten()(L.Conv2D(5, 2)(x))))


@pytest.mark.parametrize("form", ["layer", "activation", "dense"])
def test_final_softmax_is_a_probability_and_is_dropped(form: str) -> None:
    x = keras.Input((5, 5, 3))
    y = L.GlobalAveragePooling2D()(L.Conv2D(4, 3)(x))
    if form == "dense":
        y = L.Dense(3, activation="softmax")(y)
    else:
        y = L.Dense(3)(y)
        y = L.Softmax()(y) if form == "layer" else L.Activation("softmax")(y)
    check(x, y)
    model = keras.Model(x, y)
    graph = optimize(to_graph(model))
    assert graph.by_name[graph.output].op == "dense"


def test_sequential_models_are_functional_too() -> None:
    model = keras.Sequential([keras.Input((5, 5, 3)), L.Conv2D(4, 3), L.GlobalAveragePooling2D(), L.Dense(2)])
    assert [node.op for node in to_graph(model).nodes] == ["input", "conv2d", "global_average_pool", "dense"]
