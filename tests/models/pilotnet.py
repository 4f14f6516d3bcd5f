"""NVIDIA's network that steers a car: cropping, 5x5 convolutions, ELU, one angle."""

import keras
from keras import layers


def build() -> keras.Model:
    """Return the model, with Keras' initial weights."""
    model = keras.Sequential(name="pilotnet")
    model.add(keras.Input((40, 64, 3), name="road"))
    model.add(layers.Cropping2D(((12, 4), (0, 0))))
    model.add(layers.Rescaling(1 / 127.5, offset=-1.0))
    model.add(layers.Conv2D(6, 5, strides=2, activation="elu"))
    model.add(layers.Conv2D(8, 5, strides=2, activation="elu"))
    model.add(layers.Flatten())
    model.add(layers.Dense(20, activation="elu"))
    model.add(layers.Dense(10, activation="elu"))
    model.add(layers.Dense(1, name="angle"))
    return model
