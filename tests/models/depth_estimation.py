"""Depth from one picture: bilinear upsampling, LeakyReLU, joined features."""

import keras
from keras import layers


def build() -> keras.Model:
    """Return the model, with Keras' initial weights."""
    inputs = keras.Input((24, 32, 3), name="picture")
    skip = layers.Conv2D(8, 3, strides=2, padding="same", activation="relu")(inputs)
    x = layers.Conv2D(16, 3, strides=2, padding="same", activation="relu")(skip)
    x = layers.UpSampling2D(2, interpolation="bilinear")(x)
    x = layers.concatenate([x, skip])
    x = layers.LeakyReLU(negative_slope=0.2)(layers.Conv2D(8, 3, padding="same")(x))
    x = layers.LeakyReLU(negative_slope=0.2)(layers.Conv2D(8, 3, padding="same")(x))
    return keras.Model(inputs, layers.Conv2D(1, 3, padding="same", activation="sigmoid", name="depth")(x))
