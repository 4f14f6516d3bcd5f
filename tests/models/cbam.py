"""Attention by channels and by places (Woo, 2018)."""

import keras
from keras import layers


def build() -> keras.Model:
    """Return the model, with Keras' initial weights."""
    inputs = keras.Input((24, 24, 3), name="picture")
    x = layers.Conv2D(16, 3, strides=2, padding="same", activation="relu")(inputs)
    squeeze, excite = layers.Dense(4, activation="relu"), layers.Dense(16)
    mean = excite(squeeze(layers.GlobalAveragePooling2D()(x)))
    peak = excite(squeeze(layers.GlobalMaxPooling2D()(x)))
    gate = layers.Activation("sigmoid")(layers.Add()([mean, peak]))
    x = layers.Multiply()([x, layers.Reshape((1, 1, 16))(gate)])
    mean = keras.ops.mean(x, axis=-1, keepdims=True)
    peak = keras.ops.max(x, axis=-1, keepdims=True)
    where = layers.Concatenate()([mean, peak])
    where = layers.Conv2D(1, 7, padding="same", activation="sigmoid")(where)
    x = layers.GlobalAveragePooling2D()(layers.Multiply()([x, where]))
    return keras.Model(inputs, layers.Dense(4)(x))
