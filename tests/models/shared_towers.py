"""Two pictures go through the same tower; the output says how much they differ."""

import keras
from keras import layers


def build() -> keras.Model:
    """Return the model, with Keras' initial weights."""
    left = keras.Input((24, 24, 3), name="left")
    right = keras.Input((24, 24, 3), name="right")
    tower = keras.Sequential(
        [
            keras.Input((24, 24, 3)),
            layers.Conv2D(8, 3, strides=2, activation="relu"),
            layers.Conv2D(8, 3, activation="relu"),
            layers.GlobalAveragePooling2D(),
        ],
        name="tower",
    )
    both = layers.Concatenate()([tower(left), tower(right)])
    return keras.Model([left, right], layers.Dense(1, activation="sigmoid")(layers.Dense(8, activation="relu")(both)))
