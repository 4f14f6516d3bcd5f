"""A block of ConvNeXt (Liu, 2022): 7x7 depthwise, layer normalisation, GELU."""

import keras
from keras import layers


def build() -> keras.Model:
    """Return the model, with Keras' initial weights."""
    inputs = keras.Input((24, 24, 3), name="picture")
    x = layers.Conv2D(8, 4, strides=4)(inputs)
    x = layers.LayerNormalization(epsilon=1e-6)(x)
    y = layers.DepthwiseConv2D(7, padding="same")(x)
    y = layers.LayerNormalization(epsilon=1e-6)(y)
    y = layers.Dense(32, activation="gelu")(y)
    y = layers.Dense(8)(y)
    x = layers.Add()([x, y])
    x = layers.GlobalAveragePooling2D()(x)
    x = layers.LayerNormalization(epsilon=1e-6)(x)
    return keras.Model(inputs, layers.Dense(5)(x))
