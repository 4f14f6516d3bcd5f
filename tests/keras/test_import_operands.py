"""Products, differences, minima and maxima of tensors, with broadcasting; gates; normalisation of the input."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
from imported import check, check_model

from glsl_infer.errors import ModelError

L = keras.layers


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
def test_operators_of_two_tensors_compute_what_keras_does(operation) -> None:
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
