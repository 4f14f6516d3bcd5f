"""Spatial transformers: a map sampled at points of a constant or of the network."""

from __future__ import annotations

import keras
import numpy as np
import pytest
from imported import check
from pairwise import each_of

from glsl_infer.errors import ModelError
from glsl_infer.importers.keras import to_graph

L, K = keras.layers, keras.ops
X = keras.Input((8, 6, 3), name="shared")  # a name unlike any later layer's
TURN = np.array([[0.83, 0.31, 0.72, -0.21, 1.13, -0.64, 0.011, -0.017]], np.float32)


@each_of(("mode", ["bilinear", "nearest"]), ("fill", ["constant", "nearest", "reflect"]))
def test_constant_transforms(mode: str, fill: str) -> None:
    y = L.Conv2D(4, 3, padding="same", activation="sigmoid")(X)
    check(X, L.Conv2D(2, 3)(K.image.affine_transform(y, TURN, mode, fill)))


def test_a_transform_that_the_network_computes() -> None:
    y = L.Conv2D(4, 3, padding="same", activation="sigmoid")(X)
    turn = L.Dense(8, activation="tanh")(L.GlobalAveragePooling2D()(y)) * 0.05 + TURN
    check(X, L.Conv2D(2, 3)(K.image.affine_transform(y, turn)))


def test_unsupported_fill_modes_are_refused() -> None:
    with pytest.raises(ModelError, match="'wrap'"):
        to_graph(keras.Model(X, K.image.affine_transform(X, TURN, fill_mode="wrap")))
