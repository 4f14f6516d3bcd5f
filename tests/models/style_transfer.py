"""Johnson's network for styles of pictures: instance normalisation, a residual block, nearest upsampling."""

import keras
from keras import layers


def convolution(x, filters, size, stride=1, relu=True):
    x = layers.Conv2D(filters, size, strides=stride, padding="same")(x)
    x = layers.GroupNormalization(groups=-1)(x)  # a group for each channel: instance normalisation
    return layers.ReLU()(x) if relu else x


def build() -> keras.Model:
    """Return the model, with Keras' initial weights."""
    inputs = keras.Input((32, 32, 3), name="picture")
    x = convolution(inputs, 4, 9)
    x = convolution(x, 8, 3, stride=2)
    y = convolution(x, 8, 3)
    y = convolution(y, 8, 3, relu=False)
    x = layers.Add()([x, y])
    x = convolution(layers.UpSampling2D(2)(x), 4, 3)
    return keras.Model(inputs, layers.Conv2D(3, 9, padding="same", activation="sigmoid")(x))
