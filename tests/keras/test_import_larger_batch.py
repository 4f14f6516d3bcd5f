"""Windows of a map that a reshape moves into the batch, as in Swin, and back."""

from __future__ import annotations

from collections.abc import Callable

import keras
import numpy as np
import pytest
from imported import check

from glsl_infer.errors import ModelError
from glsl_infer.importers.keras import to_graph

L, K = keras.layers, keras.ops


def windows(x: keras.KerasTensor, flat: bool) -> keras.KerasTensor:
    """Return the 4 windows of 4x4 pixels of a map of 8x8 pixels and 8 channels."""
    y = K.transpose(K.reshape(x, (-1, 2, 4, 2, 4, 8)), (0, 1, 3, 2, 4, 5))
    return K.reshape(y, (-1, 16, 8)) if flat else K.reshape(K.reshape(y, (-1, 4, 4, 8)), (-1, 16, 8))


def windows_to_map(x: keras.KerasTensor) -> keras.KerasTensor:
    y = K.reshape(K.reshape(x, (-1, 4, 4, 8)), (-1, 2, 2, 4, 4, 8))
    return K.reshape(K.transpose(y, (0, 1, 3, 2, 4, 5)), (-1, 8, 8, 8))


@pytest.mark.parametrize("flat", [True, False])
def test_attention_in_windows(flat: bool) -> None:
    x = keras.Input((8, 8, 3))
    stem = L.Conv2D(8, 3, padding="same", activation="sigmoid")(x)
    y = windows(K.roll(L.LayerNormalization()(stem), (-2, -2), (1, 2)), flat)
    y = L.MultiHeadAttention(2, 4)(y, y)
    check(x, stem + K.roll(windows_to_map(y), (2, 2), (1, 2)))


def test_attention_by_hand_with_a_mask_for_each_window() -> None:
    x = keras.Input((8, 8, 3))
    y = windows(L.Conv2D(8, 3, padding="same", activation="sigmoid")(x), True)
    qkv = K.transpose(K.reshape(L.Dense(24)(y), (-1, 16, 3, 2, 4)), (0, 2, 3, 1, 4))
    q, k, v = qkv[:, 0], qkv[:, 1], qkv[:, 2]
    scores = K.matmul(q * 0.5, K.swapaxes(k, -1, -2))
    bias = np.random.default_rng(0).random((1, 2, 16, 16), np.float32)
    mask = np.random.default_rng(1).random((1, 4, 1, 16, 16), np.float32)
    scores = K.reshape(K.reshape(scores + bias, (-1, 4, 2, 16, 16)) + mask, (-1, 2, 16, 16))
    y = K.matmul(K.softmax(scores, axis=-1), v)
    y = K.reshape(K.transpose(y, (0, 2, 1, 3)), (-1, 16, 8))
    check(x, windows_to_map(L.Dense(8)(L.LayerNormalization()(y))))


def test_einsum() -> None:
    x = keras.Input((8, 8, 3))
    y = windows(L.Conv2D(8, 3, padding="same", activation="sigmoid")(x), True)
    check(x, windows_to_map(K.einsum("bij,bkj->bik", y, y) @ np.eye(16, 8, dtype=np.float32)))


def test_windows_as_output_and_long_sequences_are_refused() -> None:
    x = keras.Input((8, 8, 3))
    y = windows(L.Conv2D(8, 3, padding="same", activation="sigmoid")(x), True)
    with pytest.raises(ModelError, match="an output with 4 parts of each image in its batch"):
        to_graph(keras.Model(x, y))
    pixels = L.Conv1D(4, 3, padding="same")(K.reshape(L.Conv2D(8, 1)(x), (-1, 1, 4)))
    with pytest.raises(ModelError, match=r"^layer 'conv1d.*': a Conv1D over 128 steps; give it at most 64$"):
        to_graph(keras.Model(x, K.reshape(pixels, (-1, 8, 8, 8))))


@pytest.mark.parametrize(
    "unpack",
    [
        lambda qkv: (qkv[0], qkv[1], qkv[2]),
        K.unstack,
        lambda qkv: tuple(K.squeeze(part, 0) for part in K.split(qkv * 0.5, 3, axis=0)),
    ],
)
def test_query_key_and_value_in_front_of_the_windows(unpack: Callable) -> None:
    x = keras.Input((8, 8, 3))
    y = L.Dense(24)(windows(L.Conv2D(8, 3, padding="same")(x), flat=True))
    q, k, v = unpack(K.transpose(K.reshape(y, (-1, 16, 3, 2, 4)), (2, 0, 3, 1, 4)))
    y = K.matmul(K.softmax(K.matmul(q, K.transpose(k, (0, 1, 3, 2))), axis=-1), v)
    check(x, windows_to_map(K.reshape(K.transpose(y, (0, 2, 1, 3)), (-1, 16, 8))))
