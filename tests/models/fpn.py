"""A feature pyramid (Lin, 2016): deep features are enlarged and added to those before."""

import keras
from keras import layers


def build() -> keras.Model:
    """Return the model, with Keras' initial weights."""
    inputs = keras.Input((32, 32, 3), name="picture")
    first = layers.Conv2D(8, 3, strides=2, padding="same", activation="relu")(inputs)
    second = layers.Conv2D(12, 3, strides=2, padding="same", activation="relu")(first)
    third = layers.Conv2D(16, 3, strides=2, padding="same", activation="relu")(second)
    third = layers.Conv2D(8, 1)(third)
    second = layers.Add()([layers.UpSampling2D(2)(third), layers.Conv2D(8, 1)(second)])
    first = layers.Add()([layers.UpSampling2D(2)(second), layers.Conv2D(8, 1)(first)])
    smooth = [layers.Conv2D(8, 3, padding="same", name=f"level{i}")(x) for i, x in enumerate((first, second, third))]
    return keras.Model(inputs, smooth)
