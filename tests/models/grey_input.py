"""Signs of a hand from a grey picture."""

import keras
from keras import layers


def build() -> keras.Model:
    """Return the model, with Keras' initial weights."""
    return keras.Sequential(
        [
            keras.Input((28, 28, 1), name="hand"),
            layers.Conv2D(8, 3, padding="same", activation="relu"),
            layers.BatchNormalization(),
            layers.MaxPooling2D(2, strides=2, padding="same"),
            layers.Conv2D(8, 3, padding="same", activation="relu"),
            layers.Dropout(0.2),
            layers.BatchNormalization(),
            layers.MaxPooling2D(2, strides=2, padding="same"),
            layers.Flatten(),
            layers.Dense(32, activation="relu"),
            layers.Dense(24, activation="softmax"),
        ]
    )
