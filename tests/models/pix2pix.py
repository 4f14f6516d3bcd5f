"""The generator of pix2pix (Isola, 2016), three levels deep: LeakyReLU down, transposed convolutions up."""

import keras
from keras import layers


def down(x, filters, norm=True):
    x = layers.Conv2D(filters, 4, strides=2, padding="same", use_bias=False)(x)
    x = layers.BatchNormalization()(x) if norm else x
    return layers.LeakyReLU()(x)


def up(x, filters):
    x = layers.Conv2DTranspose(filters, 4, strides=2, padding="same", use_bias=False)(x)
    return layers.ReLU()(layers.Dropout(0.5)(layers.BatchNormalization()(x)))


def build() -> keras.Model:
    """Return the model, with Keras' initial weights."""
    inputs = keras.Input((32, 32, 3), name="picture")
    first = down(inputs, 4, norm=False)
    second = down(first, 8)
    x = up(down(second, 12), 8)
    x = up(layers.Concatenate()([x, second]), 4)
    x = layers.Concatenate()([x, first])
    return keras.Model(inputs, layers.Conv2DTranspose(3, 4, strides=2, padding="same", activation="tanh")(x))
