"""Regression of five points of a face: ten numbers, no activation at the end."""

import keras
from keras import layers


def build() -> keras.Model:
    """Return the model, with Keras' initial weights."""
    model = keras.Sequential(name="landmarks")
    model.add(keras.Input((32, 32, 3), name="face"))
    model.add(layers.Rescaling(1.0 / 255))
    for filters in (6, 8, 12):
        model.add(layers.Conv2D(filters, 3, padding="same", activation="relu"))
        model.add(layers.MaxPooling2D(2))
    model.add(layers.Flatten())
    model.add(layers.Dense(24, activation="relu"))
    model.add(layers.Dense(10))
    return model
