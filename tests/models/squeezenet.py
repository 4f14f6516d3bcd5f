"""Fire modules of SqueezeNet (Iandola, 2016): squeeze, then expand by 1x1 and 3x3; classes by a convolution."""

import keras
from keras import layers


def fire(x, squeeze, expand):
    x = layers.Conv2D(squeeze, 1, activation="relu")(x)
    left = layers.Conv2D(expand, 1, activation="relu")(x)
    right = layers.Conv2D(expand, 3, padding="same", activation="relu")(x)
    return layers.concatenate([left, right])


def build() -> keras.Model:
    """Return the model, with Keras' initial weights."""
    inputs = keras.Input((32, 32, 3), name="picture")
    x = layers.Conv2D(8, 3, strides=2, activation="relu")(inputs)
    x = layers.MaxPooling2D(3, strides=2)(x)
    x = fire(fire(x, 4, 8), 4, 8)
    x = layers.Conv2D(5, 1, activation="relu")(layers.Dropout(0.5)(x))
    x = layers.GlobalAveragePooling2D()(x)
    return keras.Model(inputs, layers.Activation("softmax")(x))
