"""The head of DeepLab v3: dilated convolutions of several rates side by side, and the mean of the picture."""

import keras
from keras import layers


def build() -> keras.Model:
    """Return the model, with Keras' initial weights."""
    inputs = keras.Input((32, 32, 3), name="picture")
    x = layers.Conv2D(8, 3, strides=2, padding="same", activation="relu")(inputs)
    branches = [layers.Conv2D(8, 1, activation="relu")(x)]
    for rate in (2, 4):
        branches.append(layers.Conv2D(8, 3, padding="same", dilation_rate=rate, activation="relu")(x))
    mean = layers.GlobalAveragePooling2D(keepdims=True)(x)
    mean = layers.Conv2D(8, 1, activation="relu")(mean)
    branches.append(layers.UpSampling2D((16, 16), interpolation="bilinear")(mean))
    x = layers.Concatenate()(branches)
    x = layers.Conv2D(8, 1, activation="relu")(x)
    x = layers.Conv2D(4, 1)(x)
    return keras.Model(inputs, layers.UpSampling2D(2, interpolation="bilinear")(x))
