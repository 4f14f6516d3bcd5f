"""A unit of ShuffleNet (Zhang, 2017): grouped 1x1 convolutions, with this package's shuffle of channels between."""

import keras
from keras import layers

from glsl_infer.importers.keras.layers import ChannelShuffle


def build() -> keras.Model:
    """Return the model, with Keras' initial weights."""
    inputs = keras.Input((24, 24, 3), name="picture")
    x = layers.Conv2D(16, 3, strides=2, padding="same", activation="relu")(inputs)
    y = layers.Conv2D(16, 1, groups=2, use_bias=False)(x)
    y = layers.ReLU()(layers.BatchNormalization()(y))
    y = ChannelShuffle(2)(y)
    y = layers.DepthwiseConv2D(3, padding="same", use_bias=False)(y)
    y = layers.BatchNormalization()(y)
    y = layers.Conv2D(16, 1, groups=2, use_bias=False)(y)
    y = layers.BatchNormalization()(y)
    x = layers.ReLU()(layers.Add()([x, y]))
    x = layers.GlobalAveragePooling2D()(x)
    return keras.Model(inputs, layers.Dense(4, activation="softmax")(x))
