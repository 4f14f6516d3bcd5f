"""Nested models, shared layers, and the resulting names."""

from __future__ import annotations

import keras
from imported import check, check_model, randomise

from glsl_infer.importers.keras import to_graph

L = keras.layers


def names(model: keras.Model) -> list[str]:
    return [node.name for node in to_graph(model).nodes]


def test_a_functional_and_a_sequential_model_inside() -> None:
    free = keras.Input((None, None, 3))  # its size depends on the caller
    inner = keras.Model(
        free, L.Conv2D(4, 3, strides=2, padding="same", activation="relu", name="conv")(free), name="base"
    )
    x = keras.Input((7, 8, 3), name="pixels")
    head = keras.Sequential([L.Conv2D(2, 1, name="conv"), L.GlobalAveragePooling2D(name="pool")], name="head")
    y = head(inner(L.Conv2D(3, 1, name="conv")(x)))
    check(x, y)
    expected = ["pixels", "conv", "base/conv", "base/conv-activation", "head/conv", "head/pool"]
    assert names(keras.Model(x, y)) == expected


def test_augmentation_in_front_of_a_sequential_model() -> None:
    augment = keras.Sequential([L.RandomFlip(), L.RandomRotation(0.1)], name="augment")
    layers = [keras.Input((6, 6, 3)), augment, L.Rescaling(1 / 255), L.Conv2D(4, 3), L.Flatten(), L.Dense(2)]
    graph = check_model(randomise(keras.Sequential(layers), 1), fed=(0.0, 255.0))
    assert [node.op for node in graph.nodes] == ["input", "conv2d", "flatten_rows", "dense"]


def test_a_model_that_is_called_twice_and_models_three_deep() -> None:
    a = keras.Input((6, 6, 3))
    deep = keras.Model(a, L.ReLU(name="relu")(a), name="deep")
    b = keras.Input((6, 6, 3))
    middle = keras.Model(b, deep(L.Conv2D(3, 3, padding="same", name="conv")(b)), name="middle")
    x = keras.Input((6, 6, 3), name="pixels")
    y = middle(middle(x))
    check(x, y)
    expected = ["pixels", "middle/conv", "middle/deep/relu", "middle~1/conv", "middle~1/deep/relu"]
    assert names(keras.Model(x, y)) == expected


def test_an_inner_model_can_have_several_inputs_and_outputs() -> None:
    image, other = keras.Input((4, 4, 2)), keras.Input((4, 4, 2))
    inner = keras.Model([image, other], [L.Concatenate()([other, image]), L.Add()([image, other]), image], name="inner")
    x = keras.Input((4, 4, 3))
    left, middle, right = inner([L.Conv2D(2, 1)(x), L.Conv2D(2, 1)(x)])
    check(x, L.Concatenate()([right, left, middle]))


def test_equal_names_get_numbers() -> None:
    x = keras.Input((4, 4, 3), name="pixels")
    y = L.Conv2D(3, 1, activation="relu", name="conv")(x)
    shared = L.Conv2D(3, 1, activation="relu", name="conv-activation")
    check(x, shared(shared(y)))
    result = names(keras.Model(x, shared(shared(y))))
    assert result[:3] == ["pixels", "conv", "conv-activation"]
    assert len(set(result)) == 7
