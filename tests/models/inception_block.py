"""A block of GoogLeNet (Szegedy, 2014): four branches side by side."""

import keras
from keras import layers


def build() -> keras.Model:
    """Return the model, with Keras' initial weights."""
    inputs = keras.Input((24, 24, 3), name="picture")
    x = layers.Conv2D(8, 3, strides=2, padding="same", activation="relu")(inputs)
    one = layers.Conv2D(8, 1, activation="relu")(x)
    three = layers.Conv2D(4, 1, activation="relu")(x)
    three = layers.Conv2D(8, 3, padding="same", activation="relu")(three)
    five = layers.Conv2D(4, 1, activation="relu")(x)
    five = layers.Conv2D(4, 5, padding="same", activation="relu")(five)
    pool = layers.MaxPooling2D(3, strides=1, padding="same")(x)
    pool = layers.Conv2D(4, 1, activation="relu")(pool)
    x = layers.Concatenate()([one, three, five, pool])
    x = layers.AveragePooling2D(12)(x)
    return keras.Model(inputs, layers.Dense(6, activation="softmax")(layers.Flatten()(x)))
