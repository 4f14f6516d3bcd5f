"""A residual dense block for larger pictures (Zhang, 2018)."""

import keras
from keras import layers


def build() -> keras.Model:
    """Return the model, with Keras' initial weights."""
    inputs = keras.Input((16, 16, 3), name="small")
    x = first = layers.Conv2D(8, 3, padding="same")(inputs)
    for _ in range(3):
        y = layers.Conv2D(8, 3, padding="same", activation="relu")(x)
        x = layers.Concatenate()([x, y])
    x = layers.Add()([layers.Conv2D(8, 1)(x), first])
    x = layers.Conv2DTranspose(8, 3, strides=2, padding="same")(x)
    return keras.Model(inputs, layers.Conv2D(3, 3, padding="same")(x))
