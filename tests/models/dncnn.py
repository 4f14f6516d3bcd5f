"""DnCNN (Zhang, 2016): the noise is estimated, then taken away from the picture."""

import keras
from keras import layers


def build() -> keras.Model:
    """Return the model, with Keras' initial weights."""
    inputs = keras.Input((24, 24, 1), name="noisy")
    x = layers.Conv2D(12, 3, padding="same", activation="relu")(inputs)
    for _ in range(3):
        x = layers.Conv2D(12, 3, padding="same", use_bias=False)(x)
        x = layers.Activation("relu")(layers.BatchNormalization(epsilon=1e-3)(x))
    noise = layers.Conv2D(1, 3, padding="same", use_bias=False)(x)
    return keras.Model(inputs, layers.Subtract()([inputs, noise]))
