"""Normalisations, reductions, products and factors along any axis, with broadcasting and gates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
from imported import check, check_model, cpu_operators

from glsl_infer.errors import ModelError
from glsl_infer.importers.keras import to_graph

L, K = keras.layers, keras.ops
X = keras.Input((8, 6, 3), name="shared")  # a name unlike any later layer's
RNG = np.random.default_rng(0)


def stem(channels: int = 4) -> keras.KerasTensor:
    return L.Conv2D(channels, 3, padding="same", activation="sigmoid")(X)


@pytest.mark.parametrize("axis", [1, 2, -2])
def test_batch_norm_along_rows_or_columns_is_drawn(axis: int) -> None:
    y = L.Conv2D(3, 3)(L.ReLU()(L.BatchNormalization(axis=axis)(stem())))
    check(X, y)
    assert not cpu_operators(keras.Model(X, y))


def test_batch_norm_and_normalization_along_other_axes() -> None:
    channels_first = L.BatchNormalization(axis=1)(L.Permute((3, 1, 2))(stem()))
    check(X, L.Conv2D(2, 3)(L.Permute((2, 3, 1))(channels_first)))
    check(X, L.BatchNormalization(axis=1)(L.Reshape((6, 8, 2, 2))(stem())))
    check(X, L.BatchNormalization(axis=1, scale=False)(L.Reshape((1, 48, 4))(stem())))
    own = L.Normalization(axis=1, mean=RNG.random(8), variance=RNG.random(8) + 0.5)
    check(X, L.Conv2D(2, 3)(own(stem())))


def test_takes_along_an_axis_broadcast() -> None:
    rows = K.reshape(stem(), (-1, 48, 4))
    indices = K.argsort(rows[..., 0], axis=-1)[:, :5, None]
    check(X, K.take_along_axis(rows, indices, axis=1))
    check(X, K.take_along_axis(rows, np.array([[[3], [40], [7]]]), axis=1))
    check(X, K.take_along_axis(rows[..., :1], K.argsort(rows, axis=1), axis=1))


@pytest.mark.parametrize(("other", "result"), [("nkij", "nkj"), ("ni", "n"), ("ni", "ni"), ("in", ""), ("jk", "knij")])
def test_einsum_keeps_axes_shared_with_a_constant(other: str, result: str) -> None:
    sizes = {"n": 48, "i": 4, "j": 3, "k": 2}
    constant = RNG.random([sizes[axis] for axis in other]).astype(np.float32)
    check(X, K.einsum(f"bni,{other}->b{result}", K.reshape(stem(), (-1, 48, 4)), constant))


def test_normalised_dot() -> None:
    left, right = L.GlobalAveragePooling2D()(stem()), L.GlobalMaxPooling2D()(stem())
    check(X, L.Dot(axes=1, normalize=True)([left, right]))
    check(X, L.Dot(axes=(2, 1), normalize=True)([L.Reshape((12, 4))(stem(1)), L.Reshape((4, 12))(stem(1))]))


@pytest.mark.parametrize("layer", ["conv", "strides", "pool", "model"])
def test_layers_on_each_window(layer: str) -> None:
    y = K.transpose(K.reshape(stem(), (-1, 2, 4, 2, 3, 4)), (0, 1, 3, 2, 4, 5))
    y = K.reshape(y, (-1, 4, 3, 4))
    if layer == "conv":
        y = L.ReLU()(L.BatchNormalization()(L.Conv2D(4, 3, padding="same")(y)))
    elif layer == "strides":
        y = L.UpSampling2D((2, 3))(L.Conv2D(4, (4, 3), (2, 3), padding="same", activation="relu")(y))
        y = L.Conv2D(4, 3, dilation_rate=(1, 2), padding="same", groups=2)(y)
    elif layer == "pool":
        y = L.DepthwiseConv2D(3, padding="same")(L.AveragePooling2D((3, 1), 1, padding="same")(y))
    else:
        y = keras.Sequential([keras.Input((4, 3, 4)), L.Conv2D(4, 3, padding="same"), L.ReLU()])(y)
    y = K.transpose(K.reshape(y, (-1, 2, 2, 4, 3, 4)), (0, 1, 3, 2, 4, 5))
    graph = check(X, L.Conv2D(2, 1)(K.reshape(y, (-1, 8, 6, 4))))
    convolutions = {"conv": 3, "strides": 4, "pool": 3, "model": 3}[layer]  # one for all four windows
    assert sum(node.op == "conv2d" and node.weights["kernel"].size > 16 for node in graph.nodes) <= convolutions


def features(x: keras.KerasTensor) -> keras.KerasTensor:
    return L.Conv2D(6, 3, activation="elu")(x)


LAYERS: dict[str, Callable[[], keras.layers.Layer]] = {
    "layer": L.LayerNormalization,
    "layer, no weights": lambda: L.LayerNormalization(center=False, scale=False, epsilon=0.1),
    "layer, whole map": lambda: L.LayerNormalization(axis=(1, 2, 3), center=False, scale=False),
    "rms": L.RMSNormalization,
    "group": lambda: L.GroupNormalization(3),
    "group, one": lambda: L.GroupNormalization(1, scale=False),
    "instance": lambda: L.GroupNormalization(-1),
    "unit": L.UnitNormalization,
}


@pytest.mark.parametrize("name", sorted(LAYERS))
def test_each_layer_becomes_a_fused_norm(name: str) -> None:
    x = keras.Input((7, 6, 3))
    graph = check(x, L.ReLU()(LAYERS[name]()(features(x))))
    assert graph.by_name[graph.output].op in ("channel_norm", "map_norm")  # the activation is fused


@pytest.mark.parametrize("layer", [L.LayerNormalization, L.RMSNormalization, L.UnitNormalization])
def test_layers_of_vectors(layer: Callable) -> None:
    x = keras.Input((7, 6, 3))
    graph = check(x, L.Dense(3)(layer()(L.GlobalAveragePooling2D()(features(x)))))
    assert "vector_norm" in [node.op for node in graph.nodes]


@pytest.mark.parametrize(
    "operation",
    [
        K.layer_normalization,
        K.rms_normalization,
        lambda y: K.layer_normalization(y, np.full(6, 2.0, "float32"), np.full(6, 0.5, "float32")),
        lambda y: K.normalize(y, axis=-1),
    ],
)
def test_each_operation_equals_keras(operation: Callable) -> None:
    x = keras.Input((7, 6, 3))
    check(x, L.Conv2D(4, 1)(operation(features(x))))


@pytest.mark.parametrize("soften", [L.Softmax(), L.Activation("softmax"), K.softmax])
def test_softmax_inside_a_network(soften: Callable) -> None:
    x = keras.Input((7, 6, 3))
    graph = check(x, L.Conv2D(4, 1)(L.MaxPooling2D(2)(soften(features(x)))))
    assert [node.op for node in graph.nodes] == ["input", "conv2d", "channel_softmax", "max_pool", "conv2d"]


def test_unsupported_normalisations_are_refused() -> None:
    x = keras.Input((7, 6, 3))
    y = L.Conv2D(4, 1)(K.normalize(features(x), axis=-1, order=1))
    with pytest.raises(ModelError, match="a normalisation of order 1; use order=2"):
        to_graph(keras.Model(x, y))


@pytest.mark.parametrize(
    "layer",
    [
        lambda: L.LayerNormalization(axis=1),
        lambda: L.UnitNormalization(axis=1),
        lambda: L.LayerNormalization(axis=(1, 2, 3), gamma_initializer="random_normal"),
    ],
)
def test_normalisations_over_other_axes_run_on_the_cpu(layer: Callable) -> None:
    x = keras.Input((7, 6, 3))
    assert cpu_operators(keras.Model(x, L.Conv2D(4, 1)(layer()(features(x)))))


@pytest.mark.parametrize("axis", [1, 2, 3, (1, 2), (1, 3), (2, 3), (1, 2, 3), (-3, -2)])
@pytest.mark.parametrize("operation", [K.mean, K.sum, K.max, K.min])
def test_reductions_that_keep_their_axes(operation: Callable, axis: int | tuple[int, ...]) -> None:
    x = keras.Input((7, 6, 3))
    y = features(x)
    check(x, y - operation(y, axis=axis, keepdims=True))


@pytest.mark.parametrize("operation", [K.mean, K.sum, K.max, K.min, K.var, K.std, K.amax, K.amin])
def test_whole_maps_become_vectors(operation: Callable) -> None:
    x = keras.Input((7, 6, 3))
    graph = check(x, L.Dense(3)(operation(features(x), axis=(1, 2))))
    assert len(graph.shapes[graph.output]) == 1


@pytest.mark.parametrize("operation", [K.var, K.std])
def test_spreads_that_keep_their_axes(operation: Callable) -> None:
    x = keras.Input((7, 6, 3))
    y = features(x)
    check(x, y * operation(y, axis=(1, 2), keepdims=True))


@pytest.mark.parametrize("operation", [K.argmax, K.argmin])
def test_the_number_of_a_channel_inside_a_network(operation: Callable) -> None:
    x = keras.Input((7, 6, 3))
    y = features(x)
    graph = check(x, L.Conv2D(2, 1)(K.cast(operation(y, axis=-1, keepdims=True), "float32")))
    assert "channel_argmax" in [node.op for node in graph.nodes]


def test_unsupported_reductions_are_refused() -> None:
    x = keras.Input((7, 6, 3))
    y = K.sum(features(x), axis=(0, 1), keepdims=True)
    with pytest.raises(ModelError, match="axis=0; give one axis, not that of the batch"):
        to_graph(keras.Model(x, L.Activation("relu")(y)))


@pytest.mark.parametrize("reduce", [lambda y: K.mean(y, axis=-1), lambda y: K.max(y, axis=1)])
def test_the_cpu_computes_tensors_of_two_axes(reduce: Callable) -> None:
    x = keras.Input((7, 6, 3))
    assert cpu_operators(keras.Model(x, L.Activation("relu")(reduce(features(x)))))


def branches(x: keras.KerasTensor, count: int = 2) -> list[keras.KerasTensor]:
    return [L.Conv2D(6, 3, activation="relu", name=f"branch{index}")(x) for index in range(count)]


@pytest.mark.parametrize("layer", [L.Multiply, L.Subtract, L.Maximum, L.Minimum, L.Average, L.Add])
def test_layers_of_two_tensors(layer: type) -> None:
    x = keras.Input((7, 6, 3))
    check(x, layer()(branches(x)))


@pytest.mark.parametrize("layer", [L.Multiply, L.Maximum, L.Minimum, L.Average, L.Add])
def test_layers_of_three_tensors(layer: type) -> None:
    x = keras.Input((7, 6, 3))
    check(x, layer()(branches(x, 3)))


@pytest.mark.parametrize(
    "operation",
    [
        lambda a, b: a * b,
        lambda a, b: a - b,
        lambda a, b: a / (b + 1.0),
        lambda a, b: a + b,
        keras.ops.maximum,
        keras.ops.minimum,
        lambda a, b: a * b[:, :, :, :1],
        lambda a, b: a + b[:, :1],
        lambda a, b: b[:, :, 2:3] * a,
        lambda a, b: a * b[:, 3:4, 3:4],
    ],
)
def test_operators_of_two_tensors_equal_keras(operation) -> None:
    x = keras.Input((7, 6, 3))
    check(x, operation(*branches(x)))


@pytest.mark.parametrize("by", ["conv", "dense"])
def test_squeeze_and_excite_is_computed_on_vectors(by: str) -> None:
    x = keras.Input((7, 6, 3))
    features = L.Conv2D(6, 3, activation="relu")(x)
    if by == "conv":
        gate = L.GlobalAveragePooling2D(keepdims=True)(features)
        gate = L.Conv2D(6, 1, activation="sigmoid")(L.Conv2D(2, 1, activation="relu")(gate))
    else:
        gate = L.Dense(2, activation="relu")(L.GlobalAveragePooling2D()(features))
        gate = L.Reshape((1, 1, 6))(L.Dense(6, activation="sigmoid")(gate))
    graph = check(x, L.Multiply()([features, gate]))
    product = graph.by_name[graph.output]
    assert product.op == "binary"
    assert [len(graph.shapes[name]) for name in product.inputs] == [3, 1]
    assert [node.op for node in graph.nodes].count("dense") == 2


def test_normalization_goes_into_the_range_of_the_picture() -> None:
    x = keras.Input((5, 5, 3))
    layer = L.Normalization(mean=[0.1, 0.4, 0.7], variance=[0.04, 0.09, 0.25])
    graph = check(x, L.Conv2D(4, 1)(layer(x)), fed=(0.0, 1.0))
    assert [node.op for node in graph.nodes] == ["input", "conv2d"]


@pytest.mark.parametrize("invert", [False, True])
def test_adapted_normalization_inside(invert: bool) -> None:
    x = keras.Input((5, 5, 3))
    layer = L.Normalization(axis=None, mean=0.5, variance=4.0, invert=invert)
    check(x, layer(L.MaxPooling2D(2)(L.Conv2D(4, 1, activation="relu")(x))))


def test_a_whole_block_of_mobilenet_v3() -> None:
    x = keras.Input((12, 12, 3))
    y = L.Conv2D(8, 3, strides=2, padding="same", activation="relu")(x)
    z = L.DepthwiseConv2D(3, padding="same", activation="relu")(L.Conv2D(16, 1, activation="relu")(y))
    gate = L.GlobalAveragePooling2D(keepdims=True)(z)
    gate = L.Conv2D(16, 1, activation="hard_sigmoid")(L.Conv2D(4, 1, activation="relu")(gate))
    y = L.Add()([y, L.Conv2D(8, 1)(L.Multiply()([z, gate]))])
    model = keras.Model(x, L.Dense(5)(L.GlobalAveragePooling2D()(y)))
    check_model(model, int(np.random.default_rng(0).integers(100)))


def test_a_mean_of_a_tensor_and_a_constant() -> None:
    x = keras.Input((7, 6, 3))
    check(x, L.Average()([x, constants(7, 6, 3)]))
    check(x, L.Average()([x, x, keras.ops.relu(x)]))


def test_a_dot_product_with_a_constant_is_refused() -> None:
    x = keras.Input((7, 6, 3))
    rows = L.Reshape((42, 3))(x)
    with pytest.raises(ModelError, match="a dot product with a constant; give it two tensors"):
        check(x, L.Dot(-1)([rows, constants(42, 3)]))
    check(x, L.Flatten()(L.Dot(-1)([rows, rows])))


def constants(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).normal(size=(1, *shape)).astype(np.float32)


@pytest.mark.parametrize(
    "concatenation",
    [
        lambda x: keras.ops.concatenate([x, keras.ops.relu(x), constants(7, 6, 2)], -1),
        lambda x: keras.ops.concatenate([constants(7, 6, 1), x, constants(7, 6, 4), keras.ops.relu(x)], 3),
        lambda x: L.Concatenate(axis=1)([x, constants(2, 6, 3)]),
        lambda x: L.Concatenate()([L.GlobalMaxPooling2D()(x), constants(2), L.GlobalAveragePooling2D()(x)]),
        lambda x: L.Flatten()(keras.ops.concatenate([constants(1, 3), L.Reshape((42, 3))(x)], 1)),
        lambda x: L.Flatten()(
            keras.ops.concatenate([L.Reshape((42, 3))(x), L.Reshape((42, 3))(x), constants(42, 2)], -1)
        ),
    ],
)
def test_a_concatenation_with_constants(concatenation: Callable[[Any], Any]) -> None:
    """Coordinates of pixels and class tokens, before, between and after the tensors."""
    x = keras.Input((7, 6, 3))
    check(x, concatenation(x))
