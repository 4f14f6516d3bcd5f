"""Colours for a grey picture: two channels of Lab in [-1, 1]."""

import keras
from keras import layers


def build() -> keras.Model:
    """Return the model, with Keras' initial weights."""
    inputs = keras.Input((32, 32, 1), name="grey")
    x = layers.Conv2D(8, 3, strides=2, padding="same", activation="relu")(inputs)
    x = layers.Conv2D(12, 3, padding="same", activation="relu")(x)
    x = layers.Conv2D(12, 3, strides=2, padding="same", activation="relu")(x)
    x = layers.UpSampling2D((2, 2))(x)
    x = layers.Conv2D(8, 3, padding="same", activation="relu")(x)
    x = layers.UpSampling2D((2, 2))(x)
    return keras.Model(inputs, layers.Conv2D(2, 3, padding="same", activation="tanh", name="ab")(x))
