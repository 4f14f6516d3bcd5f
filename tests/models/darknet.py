"""Three stages of Darknet-53: a strided convolution, then a residual of 1x1 and 3x3, all with LeakyReLU."""

import keras
from keras import layers


def convolution(x, filters, size, stride=1):
    if stride > 1:
        x = layers.ZeroPadding2D(((1, 0), (1, 0)))(x)
    x = layers.Conv2D(filters, size, strides=stride, padding="valid" if stride > 1 else "same", use_bias=False)(x)
    return layers.LeakyReLU(negative_slope=0.1)(layers.BatchNormalization(epsilon=0.001)(x))


def build() -> keras.Model:
    """Return the model, with Keras' initial weights."""
    inputs = keras.Input((32, 32, 3), name="picture")
    x = convolution(inputs, 4, 3)
    for filters in (8, 12, 16):
        x = convolution(x, filters, 3, stride=2)
        x = layers.add([x, convolution(convolution(x, filters // 2, 1), filters, 3)])
    return keras.Model(inputs, layers.Dense(6, activation="softmax")(layers.GlobalAveragePooling2D()(x)))
