"""A block of Xception (Chollet, 2016): separable convolutions, max pooling, and a strided shortcut."""

import keras
from keras import layers


def build() -> keras.Model:
    """Return the model, with Keras' initial weights."""
    inputs = keras.Input((24, 24, 3), name="picture")
    x = layers.Conv2D(8, 3, use_bias=False)(inputs)
    x = layers.Activation("relu")(layers.BatchNormalization()(x))
    shortcut = layers.Conv2D(16, 1, strides=2, padding="same", use_bias=False)(x)
    shortcut = layers.BatchNormalization()(shortcut)
    x = layers.SeparableConv2D(16, 3, padding="same", use_bias=False)(x)
    x = layers.Activation("relu")(layers.BatchNormalization()(x))
    x = layers.SeparableConv2D(16, 3, padding="same", use_bias=False)(x)
    x = layers.BatchNormalization()(x)
    x = layers.MaxPooling2D(3, strides=2, padding="same")(x)
    x = layers.add([x, shortcut])
    x = layers.GlobalAveragePooling2D()(x)
    return keras.Model(inputs, layers.Dense(3, activation="softmax")(x))
