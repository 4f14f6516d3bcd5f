"""A ghost module (Han, 2019): half of the features are cheap copies by depthwise convolution."""

import keras
from keras import layers


def ghost(x, filters, relu=True):
    own = layers.Conv2D(filters // 2, 1, use_bias=False)(x)
    own = layers.BatchNormalization()(own)
    own = layers.ReLU()(own) if relu else own
    cheap = layers.DepthwiseConv2D(3, padding="same", use_bias=False)(own)
    cheap = layers.BatchNormalization()(cheap)
    cheap = layers.ReLU()(cheap) if relu else cheap
    return layers.Concatenate()([own, cheap])


def build() -> keras.Model:
    """Return the model, with Keras' initial weights."""
    inputs = keras.Input((24, 24, 3), name="picture")
    x = layers.Conv2D(8, 3, strides=2, padding="same", activation="relu")(inputs)
    x = layers.Add()([x, ghost(ghost(x, 16), 8, relu=False)])
    x = layers.GlobalAveragePooling2D()(x)
    return keras.Model(inputs, layers.Dense(4, activation="softmax")(x))
