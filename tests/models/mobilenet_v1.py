"""Four blocks of MobileNet v1: depthwise and pointwise convolutions, each with batch normalisation and ReLU6."""

import keras
from keras import layers


def block(x, filters, stride):
    if stride == 2:
        x = layers.ZeroPadding2D(((0, 1), (0, 1)))(x)
    x = layers.DepthwiseConv2D(3, strides=stride, padding="valid" if stride == 2 else "same", use_bias=False)(x)
    x = layers.ReLU(6.0)(layers.BatchNormalization()(x))
    x = layers.Conv2D(filters, 1, use_bias=False)(x)
    return layers.ReLU(6.0)(layers.BatchNormalization()(x))


def build() -> keras.Model:
    """Return the model, with Keras' initial weights."""
    inputs = keras.Input((32, 32, 3), name="picture")
    x = layers.Conv2D(8, 3, strides=2, padding="same", use_bias=False)(inputs)
    x = layers.ReLU(6.0)(layers.BatchNormalization()(x))
    for filters, stride in ((8, 1), (16, 2), (16, 1), (24, 2)):
        x = block(x, filters, stride)
    x = layers.GlobalAveragePooling2D(keepdims=True)(x)
    x = layers.Conv2D(5, 1)(layers.Dropout(0.1)(x))
    return keras.Model(inputs, layers.Softmax()(layers.Reshape((5,))(x)))
