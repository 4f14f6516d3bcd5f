"""Efficient channel attention (Wang, 2019): a convolution along the channels, as a Conv1D."""

import keras
from keras import layers


def build() -> keras.Model:
    """Return the model, with Keras' initial weights."""
    inputs = keras.Input((24, 24, 3), name="picture")
    x = layers.Conv2D(16, 3, strides=2, padding="same", activation="relu")(inputs)
    gate = layers.GlobalAveragePooling2D()(x)
    gate = layers.Reshape((16, 1))(gate)
    gate = layers.Conv1D(1, 3, padding="same", use_bias=False)(gate)
    gate = layers.Activation("sigmoid")(layers.Reshape((1, 1, 16))(gate))
    x = layers.Multiply()([x, gate])
    return keras.Model(inputs, layers.Dense(4)(layers.GlobalAveragePooling2D()(x)))
