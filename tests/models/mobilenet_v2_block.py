"""Inverted residuals of MobileNet v2: expand, depthwise, project, and add."""

import keras
from keras import layers


def inverted(x, filters, stride, expand=4):
    channels = x.shape[-1]
    y = layers.Conv2D(expand * channels, 1, use_bias=False)(x)
    y = layers.ReLU(6.0)(layers.BatchNormalization()(y))
    y = layers.DepthwiseConv2D(3, strides=stride, padding="same", use_bias=False)(y)
    y = layers.ReLU(6.0)(layers.BatchNormalization()(y))
    y = layers.Conv2D(filters, 1, use_bias=False)(y)
    y = layers.BatchNormalization()(y)
    return layers.Add()([x, y]) if stride == 1 and channels == filters else y


def build() -> keras.Model:
    """Return the model, with Keras' initial weights."""
    inputs = keras.Input((32, 32, 3), name="picture")
    x = layers.Rescaling(1 / 127.5, offset=-1)(inputs)
    x = layers.Conv2D(8, 3, strides=2, padding="same", activation="relu6")(x)
    x = inverted(x, 8, 1)
    x = inverted(x, 12, 2)
    x = inverted(x, 12, 1)
    x = layers.GlobalAveragePooling2D()(x)
    return keras.Model(inputs, layers.Dense(4, activation="softmax")(x))
