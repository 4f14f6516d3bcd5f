"""ESPCN (Shi, 2016): twice the size by sub-pixel convolution."""

import keras
from keras import layers

from glsl_infer.importers.keras.layers import DepthToSpace


def build() -> keras.Model:
    """Return the model, with Keras' initial weights."""
    inputs = keras.Input((16, 16, 3), name="small")
    x = layers.Conv2D(12, 5, padding="same", activation="tanh")(inputs)
    x = layers.Conv2D(8, 3, padding="same", activation="tanh")(x)
    x = layers.Conv2D(3 * 4, 3, padding="same")(x)
    return keras.Model(inputs, DepthToSpace(2)(x))
