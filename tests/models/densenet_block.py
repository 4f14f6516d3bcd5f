"""A dense block and a transition of DenseNet (Huang, 2016)."""

import keras
from keras import layers


def build() -> keras.Model:
    """Return the model, with Keras' initial weights."""
    inputs = keras.Input((24, 24, 3), name="picture")
    x = layers.Conv2D(8, 3, padding="same", activation="relu")(inputs)
    for _ in range(3):
        y = layers.Activation("relu")(layers.BatchNormalization()(x))
        y = layers.Conv2D(8, 1, use_bias=False)(y)
        y = layers.Activation("relu")(layers.BatchNormalization()(y))
        y = layers.Conv2D(4, 3, padding="same", use_bias=False)(y)
        x = layers.Concatenate()([x, y])
    x = layers.Activation("relu")(layers.BatchNormalization()(x))
    x = layers.AveragePooling2D(2)(layers.Conv2D(10, 1, use_bias=False)(x))
    x = layers.GlobalAveragePooling2D()(x)
    return keras.Model(inputs, layers.Dense(6)(x))
