"""A U-Net as most tutorials have it: transposed convolutions of 2x2 with stride 2, three classes by softmax."""

import keras
from keras import layers


def double(x, filters):
    for _ in range(2):
        x = layers.Conv2D(filters, 3, padding="same")(x)
        x = layers.ReLU()(layers.BatchNormalization()(x))
    return x


def build() -> keras.Model:
    """Return the model, with Keras' initial weights."""
    inputs = keras.Input((32, 32, 3), name="picture")
    first = double(inputs, 4)
    second = double(layers.MaxPooling2D()(first), 8)
    x = double(layers.MaxPooling2D()(second), 12)
    x = layers.Conv2DTranspose(8, 2, strides=2, padding="same")(x)
    x = double(layers.concatenate([x, second]), 8)
    x = layers.Conv2DTranspose(4, 2, strides=2, padding="same")(x)
    x = double(layers.concatenate([x, first]), 4)
    return keras.Model(inputs, layers.Conv2D(3, 1, activation="softmax")(x))
