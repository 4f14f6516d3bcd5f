"""A head like YOLO's: for each cell of a grid and each anchor a box, a confidence and classes."""

import keras
from keras import layers


def build() -> keras.Model:
    """Return the model, with Keras' initial weights."""
    inputs = keras.Input((32, 32, 3), name="picture")
    x = inputs
    for filters in (8, 12, 16):
        x = layers.Conv2D(filters, 3, strides=2, padding="same", use_bias=False)(x)
        x = layers.BatchNormalization()(x)
        x = layers.LeakyReLU(negative_slope=0.1)(x)
    anchors, classes = 3, 2
    x = layers.Conv2D(anchors * (5 + classes), 1, name="grid")(x)
    outputs = layers.Reshape((-1, 5 + classes), name="rows")(x)
    return keras.Model(inputs, layers.Activation("sigmoid")(outputs))
