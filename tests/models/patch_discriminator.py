"""The discriminator of pix2pix: real or not, for each patch."""

import keras
from keras import layers


def build() -> keras.Model:
    """Return the model, with Keras' initial weights."""
    first = keras.Input((32, 32, 3), name="picture")
    second = keras.Input((32, 32, 3), name="target")
    x = layers.concatenate([first, second])
    for filters in (6, 10):
        x = layers.LeakyReLU()(layers.Conv2D(filters, 4, strides=2, padding="same", use_bias=False)(x))
    x = layers.ZeroPadding2D()(x)
    x = layers.Conv2D(12, 4, use_bias=False)(x)
    x = layers.LeakyReLU()(layers.BatchNormalization()(x))
    return keras.Model([first, second], layers.Conv2D(1, 4)(layers.ZeroPadding2D()(x)))
