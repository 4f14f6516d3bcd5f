"""A head of four dense layers behind a flattened map, with different activations."""

import keras
from keras import layers


def build() -> keras.Model:
    """Return the model, with Keras' initial weights."""
    model = keras.Sequential([keras.Input((24, 24, 3), name="picture")])
    model.add(layers.Conv2D(8, 5, strides=2, activation="relu"))
    model.add(layers.Conv2D(8, 3, strides=2, activation="relu"))
    model.add(layers.Flatten())
    model.add(layers.Dense(40, activation="elu"))
    model.add(layers.Dropout(0.4))
    model.add(layers.Dense(24, activation="tanh"))
    model.add(layers.Dense(12, activation="relu"))
    model.add(layers.Dense(3, activation="sigmoid"))
    return model
