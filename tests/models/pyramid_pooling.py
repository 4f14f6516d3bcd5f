"""The pyramid of PSPNet (Zhao, 2016): means over regions of several sizes, enlarged and joined."""

import keras
from keras import layers


def build() -> keras.Model:
    """Return the model, with Keras' initial weights."""
    inputs = keras.Input((24, 24, 3), name="picture")
    x = layers.Conv2D(8, 3, strides=2, padding="same", activation="relu")(inputs)
    parts = [x]
    for size in (12, 6, 4):
        y = layers.AveragePooling2D(size)(x)
        y = layers.Conv2D(4, 1, activation="relu")(y)
        parts.append(layers.UpSampling2D(size, interpolation="bilinear")(y))
    x = layers.Concatenate()(parts)
    x = layers.Conv2D(3, 3, padding="same", activation="softmax")(x)
    return keras.Model(inputs, x)
