"""One body, three heads: a class, an age and a box."""

import keras
from keras import layers


def build() -> keras.Model:
    """Return the model, with Keras' initial weights."""
    inputs = keras.Input((32, 32, 3), name="face")
    x = layers.Conv2D(8, 3, strides=2, activation="relu")(inputs)
    x = layers.Conv2D(16, 3, strides=2, activation="relu")(x)
    shared = layers.GlobalAveragePooling2D()(x)
    outputs = {
        "kind": layers.Dense(3, activation="softmax")(shared),
        "age": layers.Dense(1)(layers.Dense(8, activation="relu")(shared)),
        "box": layers.Dense(4, activation="sigmoid")(shared),
    }
    return keras.Model(inputs, outputs)
