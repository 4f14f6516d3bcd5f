"""Squeeze and excite (Hu, 2017) with dense layers, as its first page has it."""

import keras
from keras import layers


def build() -> keras.Model:
    """Return the model, with Keras' initial weights."""
    inputs = keras.Input((24, 24, 3), name="picture")
    x = layers.Conv2D(16, 3, strides=2, padding="same", activation="relu")(inputs)
    gate = layers.GlobalAveragePooling2D()(x)
    gate = layers.Dense(4, activation="relu")(gate)
    gate = layers.Dense(16, activation="sigmoid")(gate)
    x = x * layers.Reshape((1, 1, 16))(gate)
    x = layers.Conv2D(8, 3, activation="relu")(x)
    return keras.Model(inputs, layers.Dense(4)(layers.GlobalAveragePooling2D()(x)))
