"""Segmentation whose output is the class of each pixel."""

import keras
from keras import layers


def build() -> keras.Model:
    """Return the model, with Keras' initial weights."""
    inputs = keras.Input((24, 24, 3), name="picture")
    x = layers.Conv2D(8, 3, padding="same", activation="relu")(inputs)
    x = layers.Conv2D(5, 1)(x)
    return keras.Model(inputs, keras.ops.argmax(x, axis=-1))
