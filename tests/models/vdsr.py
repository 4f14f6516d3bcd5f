"""VDSR (Kim, 2016): a deep chain of convolutions learns what to add to the picture."""

import keras
from keras import layers


def build() -> keras.Model:
    """Return the model, with Keras' initial weights."""
    inputs = keras.Input((24, 24, 3), name="picture")
    x = inputs
    for _ in range(5):
        x = layers.Conv2D(12, 3, padding="same", activation="relu")(x)
    x = layers.Conv2D(3, 3, padding="same")(x)
    return keras.Model(inputs, layers.Add()([inputs, x]))
