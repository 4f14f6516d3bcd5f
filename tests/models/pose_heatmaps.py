"""SimpleBaseline for poses: three transposed convolutions give a heat map for each joint."""

import keras
from keras import layers


def build() -> keras.Model:
    """Return the model, with Keras' initial weights."""
    inputs = keras.Input((32, 24, 3), name="person")
    x = inputs
    for filters in (6, 8, 12):
        x = layers.Conv2D(filters, 3, strides=2, padding="same", use_bias=False)(x)
        x = layers.ReLU()(layers.BatchNormalization()(x))
    for _ in range(2):
        x = layers.Conv2DTranspose(8, 4, strides=2, padding="same", use_bias=False)(x)
        x = layers.ReLU()(layers.BatchNormalization()(x))
    return keras.Model(inputs, layers.Conv2D(5, 1, name="heatmaps")(x))
