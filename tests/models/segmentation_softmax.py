"""Segmentation of a street into four classes, with a probability for each class and pixel."""

import keras
from keras import layers


def build() -> keras.Model:
    """Return the model, with Keras' initial weights."""
    inputs = keras.Input((24, 40, 3), name="street")
    x = layers.Conv2D(8, 3, strides=2, padding="same", activation="relu")(inputs)
    x = layers.Conv2D(12, 3, padding="same", activation="relu")(x)
    x = layers.UpSampling2D(2, interpolation="bilinear")(x)
    x = layers.Conv2D(4, 3, padding="same")(x)
    return keras.Model(inputs, layers.Softmax(axis=-1)(x))
