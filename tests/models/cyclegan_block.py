"""A residual block of CycleGAN: reflection padding, instance normalisation."""

import keras
from keras import layers


def padded(x, filters):
    x = keras.ops.pad(x, [[0, 0], [1, 1], [1, 1], [0, 0]], mode="reflect")
    return layers.GroupNormalization(groups=-1)(layers.Conv2D(filters, 3)(x))


def build() -> keras.Model:
    """Return the model, with Keras' initial weights."""
    inputs = keras.Input((24, 24, 3), name="picture")
    x = layers.Conv2D(8, 7, padding="same", activation="relu")(inputs)
    y = layers.ReLU()(padded(x, 8))
    x = layers.add([padded(y, 8), x])
    return keras.Model(inputs, layers.Conv2D(3, 7, padding="same", activation="tanh")(x))
