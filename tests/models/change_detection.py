"""What has changed between two pictures of a place: the absolute difference of their features."""

import keras
from keras import layers


def build() -> keras.Model:
    """Return the model, with Keras' initial weights."""
    before = keras.Input((24, 24, 3), name="before")
    after = keras.Input((24, 24, 3), name="after")
    features = layers.Conv2D(8, 3, padding="same", activation="relu")
    x = keras.ops.absolute(features(before) - features(after))
    x = layers.Conv2D(8, 3, padding="same", activation="relu")(x)
    return keras.Model([before, after], layers.Conv2D(1, 1, activation="sigmoid")(x))
