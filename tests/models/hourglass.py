"""A small hourglass (Newell, 2016): down, up, and features of each size added."""

import keras
from keras import layers


def residual(x, filters):
    y = layers.Conv2D(filters // 2, 1, activation="relu")(x)
    y = layers.Conv2D(filters // 2, 3, padding="same", activation="relu")(y)
    return layers.Add()([layers.Conv2D(filters, 1)(y), x])


def hourglass(x, depth):
    skip = residual(x, 8)
    low = residual(layers.MaxPooling2D()(x), 8)
    low = hourglass(low, depth - 1) if depth > 1 else low
    return layers.Add()([skip, layers.UpSampling2D()(residual(low, 8))])


def build() -> keras.Model:
    """Return the model, with Keras' initial weights."""
    inputs = keras.Input((32, 32, 3), name="picture")
    x = layers.Conv2D(8, 7, strides=2, padding="same", activation="relu")(inputs)
    x = hourglass(x, 2)
    return keras.Model(inputs, layers.Conv2D(4, 1, name="heatmaps")(x))
