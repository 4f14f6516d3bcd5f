"""FCN-16s (Long, 2014): scores of two depths are added, then enlarged by transposed convolutions."""

import keras
from keras import layers


def build() -> keras.Model:
    """Return the model, with Keras' initial weights."""
    inputs = keras.Input((32, 32, 3), name="picture")
    x = layers.Conv2D(8, 3, padding="same", activation="relu")(inputs)
    x = layers.MaxPooling2D()(x)
    middle = layers.Conv2D(8, 3, padding="same", activation="relu")(x)
    deep = layers.Conv2D(12, 3, padding="same", activation="relu")(layers.MaxPooling2D()(middle))
    score = layers.Conv2D(3, 1)(deep)
    score = layers.Conv2DTranspose(3, 4, strides=2, padding="same", use_bias=False)(score)
    score = layers.Add()([score, layers.Conv2D(3, 1)(middle)])
    score = layers.Conv2DTranspose(3, 4, strides=2, padding="same", use_bias=False)(score)
    return keras.Model(inputs, layers.Softmax()(score))
