"""Heads that Keras computes on 1x1 maps, and several dense layers."""

from __future__ import annotations

import keras
import numpy as np
import pytest
from imported import check
from pairwise import pairs_of

from glsl_infer.compiler.build import build
from glsl_infer.importers.keras import to_graph

L = keras.layers


def body() -> tuple[keras.KerasTensor, keras.KerasTensor]:
    x = keras.Input((6, 6, 3))
    return x, L.Conv2D(8, 3, activation="relu")(x)


def tail_of(graph) -> list[str]:
    return [node.op for node in graph.nodes[2:]]


@pytest.mark.parametrize("kernel, padding", [(1, "same"), (1, "valid"), (3, "same"), ((2, 5), "same")])
@pytest.mark.parametrize("groups", [1, 4])
def test_the_head_of_mobilenet(kernel, padding, groups) -> None:
    x, y = body()
    y = L.Dropout(0.5)(L.GlobalAveragePooling2D(keepdims=True)(y))
    y = L.Conv2D(4, kernel, padding=padding, groups=groups, name="predictions")(y)
    graph = check(x, L.Softmax()(L.Reshape((4,))(y)))
    assert tail_of(graph) == ["global_average_pool", "dense"]
    assert graph.output == "predictions"


def test_elementwise_layers_move_to_the_vector() -> None:
    x, y = body()
    y = L.Rescaling(2.0, 1.0)(L.Conv2D(6, 1)(L.Reshape((1, 1, 8))(L.GlobalAveragePooling2D()(y))))
    y = L.ReLU()(L.BatchNormalization()(y))
    y = L.Dense(5, activation="relu")(y)
    y = L.DepthwiseConv2D(1)(L.GaussianNoise(1.0)(y))
    assert tail_of(check(x, L.Activation("softmax")(L.Flatten()(y)))) == ["global_average_pool"] + ["dense"] * 3


def test_softmax_before_the_last_reshape() -> None:
    x, y = body()
    y = L.Conv2D(4, 1, activation="softmax")(L.GlobalAveragePooling2D(keepdims=True)(y))
    assert tail_of(check(x, L.Reshape((-1,))(y))) == ["global_average_pool", "dense"]


@pytest.mark.parametrize(
    "flat", [L.Flatten(), L.Reshape((8,)), L.Reshape((-1,)), lambda y: keras.ops.reshape(y, (-1, 8))]
)
def test_a_map_of_one_pixel_is_flattened(flat) -> None:
    x = keras.Input((4, 4, 3))
    y = flat(L.Conv2D(8, 4)(x))
    assert tail_of(check(x, L.Dense(3)(L.Dense(5, activation="relu")(y)))) == ["flatten", "dense", "dense"]


def test_a_map_that_is_flattened_and_unflattened_stays_a_map() -> None:
    x = keras.Input((4, 4, 3))
    y = L.Reshape((1, 1, 8))(L.Flatten()(L.Conv2D(8, 4)(x)))
    assert tail_of(check(x, L.Conv2D(4, 1)(y))) == ["conv2d"]


def test_a_second_global_pooling_is_dropped() -> None:
    x, y = body()
    y = L.GlobalAveragePooling2D()(L.GlobalAveragePooling2D(keepdims=True)(y))
    assert tail_of(check(x, y)) == ["global_average_pool"]


def test_other_reshapes_go_by_way_of_vectors() -> None:
    x, y = body()
    assert tail_of(check(x, L.Reshape((2, 8, 8), name="other")(y))) == ["flatten", "vector_map"]
    odd = L.Reshape((2, 8, 3))(L.Conv2D(3, 1)(y))
    assert tail_of(check(x, odd)) == ["conv2d", "flatten_rows", "vector_gather", "vector_map"]
    y = L.Reshape((2, 2, 2))(L.GlobalAveragePooling2D()(y))
    assert tail_of(check(x, L.Conv2D(4, 2)(y))) == ["global_average_pool", "vector_map", "conv2d"]


def test_a_generator_and_an_autoencoder() -> None:
    x, y = body()
    y = L.Dense(6, activation="tanh")(L.Flatten()(y))
    y = L.LeakyReLU(0.2)(L.BatchNormalization()(L.Dense(3 * 3 * 10, use_bias=False)(y)))
    y = L.UpSampling2D()(L.Reshape((3, 3, 10))(y))
    assert tail_of(check(x, L.Conv2D(3, 3, activation="sigmoid")(y))) == [
        "flatten_rows",
        "dense",
        "dense",
        "vector_map",
        "upsample_nearest",
        "conv2d",
    ]


def test_softmax_between_dense_layers() -> None:
    x, y = body()
    y = L.Dense(4, activation="softmax")(L.GlobalAveragePooling2D()(y))
    assert tail_of(check(x, L.Dense(2)(y))) == ["global_average_pool", "dense", "vector_softmax", "dense"]


@pytest.mark.parametrize(
    "layer",
    [
        L.LayerNormalization(),
        L.LayerNormalization(center=False, scale=False),
        L.RMSNormalization(),
        L.UnitNormalization(),
    ],
)
def test_normalised_vectors(layer: keras.Layer) -> None:
    x, y = body()
    y = L.Activation("tanh")(layer(L.GlobalAveragePooling2D()(y)))
    assert tail_of(check(x, L.Dense(3)(y))) == ["global_average_pool", "vector_norm", "dense"]


def test_operations_and_constants_on_vectors() -> None:
    x, y = body()
    y = L.GlobalAveragePooling2D()(y)
    a, b = L.Dense(8, activation="silu")(y), L.Dense(8)(y)
    y = L.ReLU()(L.BatchNormalization()(L.Multiply()([a, b]))) - L.Dense(1)(y)
    y = L.Maximum()([y / 3.0, L.Minimum()([a, b])])
    assert tail_of(check(x, L.Dense(2)(y))) == [
        *["global_average_pool", "dense", "dense", "vector_binary", "vector_affine", "dense"],
        *["vector_binary", "vector_affine", "vector_binary", "vector_binary", "dense"],
    ]


@pairs_of(
    ("softmax", ["none", "in the convolution", "before the end", "behind the end"]),
    ("pool", [L.GlobalAveragePooling2D, L.GlobalMaxPooling2D]),
    ("end", [L.Flatten, lambda: L.Reshape((5,))]),
)
def test_a_convolution_of_a_pooled_pixel_ends_in_classes(pool, softmax, end) -> None:
    x, y = body()
    y = L.Activation("hard_silu")(L.Conv2D(12, 1)(pool(keepdims=True)(y)))
    y = L.Conv2D(5, 1, activation="softmax" if softmax == "in the convolution" else None)(L.Dropout(0.2)(y))
    if softmax == "before the end":
        y = L.Activation("softmax")(y)
    y = end()(y)
    if softmax == "behind the end":
        y = L.Activation("softmax")(y)
    pictures = [np.random.default_rng(seed).integers(0, 256, (6, 6, 3), np.uint8) for seed in range(2)]
    bundle, _, _ = build(to_graph(keras.Model(x, y)), list("abcde"), calibration=pictures)
    assert [output.purpose for output in bundle.manifest.outputs] == ["classes"]
