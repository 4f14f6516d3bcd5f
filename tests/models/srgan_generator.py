"""The generator of SRGAN (Ledig, 2016): residual blocks with PReLU, upsampling, tanh."""

import keras
from keras import layers


def build() -> keras.Model:
    """Return the model, with Keras' initial weights."""
    inputs = keras.Input((16, 16, 3), name="small")
    x = layers.Conv2D(8, 9, padding="same")(inputs)
    first = x = layers.PReLU(shared_axes=[1, 2])(x)
    for _ in range(2):
        y = layers.BatchNormalization()(layers.Conv2D(8, 3, padding="same")(x))
        y = layers.PReLU(shared_axes=[1, 2])(y)
        y = layers.BatchNormalization()(layers.Conv2D(8, 3, padding="same")(y))
        x = layers.Add()([x, y])
    x = layers.BatchNormalization()(layers.Conv2D(8, 3, padding="same")(x))
    x = layers.Add()([x, first])
    x = layers.UpSampling2D(2)(layers.Conv2D(16, 3, padding="same")(x))
    x = layers.PReLU(shared_axes=[1, 2])(x)
    return keras.Model(inputs, layers.Conv2D(3, 9, padding="same", activation="tanh")(x))
