"""U-Net (Ronneberger, 2015) with upsampling; a mask of one class by a sigmoid."""

import keras
from keras import layers


def double(x, filters):
    x = layers.Conv2D(filters, 3, padding="same", activation="relu")(x)
    return layers.Conv2D(filters, 3, padding="same", activation="relu")(x)


def build() -> keras.Model:
    """Return the model, with Keras' initial weights."""
    inputs = keras.Input((32, 32, 3), name="picture")
    first = double(inputs, 4)
    second = double(layers.MaxPooling2D()(first), 8)
    third = double(layers.MaxPooling2D()(second), 16)
    up = layers.UpSampling2D(2)(third)
    up = double(layers.Concatenate()([up, second]), 8)
    up = layers.UpSampling2D(2)(up)
    up = double(layers.Concatenate()([up, first]), 4)
    return keras.Model(inputs, layers.Conv2D(1, 1, activation="sigmoid", name="mask")(up))
