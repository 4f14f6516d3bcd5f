"""The decoder of a convolutional variational autoencoder: a vector of two numbers becomes a digit."""

import keras
from keras import layers


def build() -> keras.Model:
    """Return the model, with Keras' initial weights."""
    latent = keras.Input((2,), name="latent")
    x = layers.Dense(7 * 7 * 8, activation="relu")(latent)
    x = layers.Reshape((7, 7, 8))(x)
    x = layers.Conv2DTranspose(8, 3, activation="relu", strides=2, padding="same")(x)
    x = layers.Conv2DTranspose(4, 3, activation="relu", strides=2, padding="same")(x)
    return keras.Model(latent, layers.Conv2DTranspose(1, 3, activation="sigmoid", padding="same")(x), name="decoder")
