"""Features of published models: factors and sums along any axis, indexing, and layers on each window."""

from __future__ import annotations

import keras
import numpy as np
import pytest
from imported import check, cpu_operators

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
    result = K.argsort(rows[..., 0], axis=-1)[:, :5, None]
    check(X, K.take_along_axis(rows, result, axis=1))
    check(X, K.take_along_axis(rows, np.array([[[3], [40], [7]]]), axis=1))
    check(X, K.take_along_axis(rows[..., :1], K.argsort(rows, axis=1), axis=1))


@pytest.mark.parametrize(("other", "result"), [("nkij", "nkj"), ("ni", "n"), ("ni", "ni"), ("in", ""), ("jk", "knij")])
def test_einsum_keeps_axes_that_a_constant_has_too(other: str, result: str) -> None:
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
