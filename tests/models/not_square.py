"""A number plate: a picture four times as wide as it is high, a class for each of six places."""

import keras
from keras import layers


def build() -> keras.Model:
    """Return the model, with Keras' initial weights."""
    inputs = keras.Input((16, 64, 3), name="plate")
    x = layers.Conv2D(8, 3, padding="same", activation="relu")(inputs)
    x = layers.MaxPooling2D((2, 2))(x)
    x = layers.Conv2D(8, (3, 5), padding="same", activation="relu")(x)
    x = layers.AveragePooling2D((8, 8))(x)
    return keras.Model(inputs, layers.Conv2D(10, (1, 1), activation="softmax")(x))
