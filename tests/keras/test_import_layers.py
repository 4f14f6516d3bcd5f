"""Every supported Keras layer, with random options, becomes an equivalent graph."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from imported import as_saved, check, close, randomise
from keras import ops
from pairwise import each_of

from glsl_infer.compiler.optimize import optimize
from glsl_infer.graph import Graph, reference
from glsl_infer.graph.picture import is_picture
from glsl_infer.importers.keras import load, to_graph
from glsl_infer.importers.keras.layers import ChannelShuffle, DepthToSpace, PiecewiseLinearSigmoid

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


def test_sequential_models_are_functional() -> None:
    model = keras.Sequential([keras.Input((5, 5, 3)), L.Conv2D(4, 3), L.GlobalAveragePooling2D(), L.Dense(2)])
    assert [node.op for node in to_graph(model).nodes] == ["input", "conv2d", "global_average_pool", "dense"]


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


@given(
    layer=st.sampled_from([L.MaxPooling2D, L.AveragePooling2D]),
    size=st.tuples(st.integers(4, 9), st.integers(4, 9)),
    pool=st.tuples(st.integers(1, 4), st.integers(1, 4)),
    strides=st.sampled_from([None, 1, 2, (3, 1)]),
    padding=st.sampled_from(["same", "valid"]),
    seed=st.integers(0, 1000),
)
@settings(max_examples=30)
def test_pooling(layer, size, pool, strides, padding, seed) -> None:
    x = keras.Input((*size, 3))
    check(x, layer(pool, strides, padding)(L.Conv2D(2, 1)(x)), seed)


@pytest.mark.parametrize("operation", [keras.ops.max_pool, keras.ops.average_pool])
def test_pooling_as_an_operation(operation) -> None:
    x = keras.Input((7, 6, 3))
    check(x, operation(x, 3, strides=2, padding="same"))
    check(x, operation(x, (2, 3)))


@pytest.mark.parametrize("channels, op", [((4, 8, 3), "concat"), ((4, 3), "concat"), ((3, 4), "concat_copy")])
@pytest.mark.parametrize("join", [L.Concatenate(), L.Concatenate(axis=3), keras.ops.concatenate])
def test_concatenation(channels, op, join) -> None:
    x = keras.Input((5, 5, 3))
    parts = [L.Conv2D(count, 3)(x) for count in channels]
    concatenated = join(parts, axis=-1) if join is keras.ops.concatenate else join(parts)
    graph = check(x, concatenated)
    assert graph.by_name[graph.output].op == op


@each_of(("interpolation", ["nearest", "bilinear"]), ("size", [2, (3, 1), (1, 4), (5, 3)]))
def test_upsampling(interpolation, size) -> None:
    x = keras.Input((4, 3, 3))
    graph = check(x, L.UpSampling2D(size, interpolation=interpolation)(L.Conv2D(5, 1)(x)))
    assert graph.by_name[graph.output].op == f"upsample_{interpolation}"


@pytest.mark.parametrize("block", [1, 2, 3])
def test_depth_to_space(block: int, tmp_path: Path) -> None:
    x = keras.Input((3, 4, 3))
    y = L.Conv2D(2 * block**2, 1)(x)
    check(x, DepthToSpace(block)(y))
    keras.Model(x, DepthToSpace(block, name="shuffle")(y)).save(tmp_path / "model.keras")
    assert load(tmp_path / "model.keras").by_name["shuffle"].attrs["block"] == block


def test_our_depth_to_space_is_that_of_keras_and_of_tensorflow() -> None:
    import tensorflow as tf

    values = np.random.default_rng(0).normal(size=(2, 3, 4, 18)).astype(np.float32)
    result = np.asarray(DepthToSpace(3)(values))
    np.testing.assert_array_equal(result, tf.nn.depth_to_space(values, 3).numpy())
    assert DepthToSpace(3).compute_output_shape((None, None, 4, 18)) == (None, None, 12, 2)
    free = keras.Input((None, None, 18))
    np.testing.assert_array_equal(keras.Model(free, DepthToSpace(3)(free)).predict(values, verbose=0), result)
    with pytest.raises(ValueError, match="multiple of 4"):
        DepthToSpace(2)(values)
    with pytest.raises(ValueError, match="block_size=0"):
        DepthToSpace(0)


@pytest.mark.skipif(not hasattr(keras.ops, "depth_to_space"), reason="this Keras has no such operation")
def test_depth_to_space_as_an_operation() -> None:
    x = keras.Input((3, 4, 3))
    check(x, keras.ops.depth_to_space(L.Conv2D(8, 1)(x), 2))


def test_padding_that_no_convolution_takes_over_stays() -> None:
    x = keras.Input((6, 6, 3))
    y = L.MaxPooling2D(3, 2)(L.ZeroPadding2D(1, name="pad")(L.Conv2D(4, 1)(x)))
    assert check(x, y).by_name["pad"].attrs["padding"] == (1, 1, 1, 1)


def test_layers_that_only_train_are_dropped() -> None:
    x = keras.Input((6, 6, 3))
    y = L.RandomFlip()(L.RandomRotation(0.1)(L.RandomZoom(0.1)(L.RandomTranslation(0.1, 0.1)(x))))
    y = L.RandomContrast(0.1)(L.RandomBrightness(0.1)(y))
    y = L.SpatialDropout2D(0.5)(L.GaussianNoise(1.0)(L.GaussianDropout(0.5)(L.Identity()(L.Conv2D(4, 3)(y)))))
    y = L.AlphaDropout(0.5)(L.ActivityRegularization(0.1)(y))
    assert [node.op for node in check(x, y).nodes] == ["input", "conv2d"]


def test_layers_without_effect_by_their_options_are_dropped() -> None:
    x = keras.Input((4, 4, 3))
    y = L.Rescaling(1.0)(L.UpSampling2D(1)(L.MaxPooling2D(1)(L.AveragePooling2D(1)(DepthToSpace(1)(x)))))
    y = L.UpSampling2D(1, interpolation="bilinear")(L.Activation("linear")(y))
    graph = to_graph(keras.Model(x, L.Conv2D(2, 1)(y)))
    assert len(graph.nodes) == 9
    assert len(check(x, L.Conv2D(2, 1)(y)).nodes) == 2


HEAD = [L.Conv2D(4, 3, activation="relu"), L.Flatten(), L.Dense(3)]

GREY: dict[str, Callable[[Any], Any]] = {
    "flatten": lambda x: L.Dense(3)(L.Flatten()(x)),
    "rescaled": lambda x: L.Dense(3)(L.Flatten()(L.Dropout(0.5)(L.Rescaling(1 / 255)(x)))),
    "reshape": lambda x: keras.Sequential(HEAD)(L.Reshape((10, 8, 1))(x / 255.0)),
    "a channel": lambda x: keras.Sequential(HEAD)(ops.expand_dims(1.0 - x, -1)),
    "a model inside": keras.Sequential([keras.Input((10, 8)), L.Rescaling(2.0), L.Flatten(), L.Dense(3)]),
}

SEQUENCES: dict[str, Callable[[Any], Any]] = {
    "convolution": lambda x: L.GlobalMaxPooling1D()(L.Conv1D(4, 3, activation="relu")(x)),
    "recurrent": lambda x: L.Dense(3)(L.LSTM(4)(x)),
    "both": lambda x: L.Concatenate()([L.Flatten()(x), L.GlobalAveragePooling1D()(L.Conv1D(4, 3)(x))]),
    "each column": lambda x: L.Flatten()(x * np.arange(8, dtype=np.float32)),
}


def imported(make: Callable[[Any], Any]) -> tuple[keras.Model, Graph]:
    x = keras.Input((10, 8))
    model = as_saved(randomise(keras.Model(x, make(x)), 1))
    return model, to_graph(model)


@pytest.mark.parametrize("kind", GREY)
def test_a_grey_picture_without_channels(kind: str) -> None:
    model, graph = imported(GREY[kind])
    (graph_input,) = graph.inputs
    assert is_picture(graph_input)
    assert graph_input.attrs["shape"] == (10, 8, 1)
    picture = np.random.default_rng(2).integers(0, 256, (10, 8, 1), np.uint8)
    high = 255.0 if kind in ("rescaled", "reshape") else 1.0
    expected = np.asarray(model(picture[None, ..., 0] / np.float32(255.0 / high)))[0]
    close(reference.run(graph, picture, mode="float"), expected, 1e-5)
    close(reference.run(optimize(graph), picture, mode="float"), expected, 1e-5)
    assert not any(node.op.startswith("tensor_") for node in optimize(graph).nodes)


@pytest.mark.parametrize("kind", SEQUENCES)
def test_a_sequence(kind: str) -> None:
    model, graph = imported(SEQUENCES[kind])
    (graph_input,) = graph.inputs
    assert not is_picture(graph_input)
    sequence = np.random.default_rng(2).normal(size=(1, 10, 8)).astype(np.float32)
    close(reference.run(graph, sequence, mode="float"), np.asarray(model(sequence))[0], 1e-5)
