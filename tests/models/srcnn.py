"""SRCNN (Dong, 2014): three convolutions sharpen an enlarged picture."""

import keras
from keras import layers


def build() -> keras.Model:
    """Return the model, with Keras' initial weights."""
    return keras.Sequential(
        [
            keras.Input((24, 24, 1), name="luma"),
            layers.Conv2D(16, 9, padding="same", activation="relu"),
            layers.Conv2D(8, 1, padding="same", activation="relu"),
            layers.Conv2D(1, 5, padding="same"),
        ],
        name="srcnn",
    )
