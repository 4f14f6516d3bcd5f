"""A face network like MTCNN's first stage: PReLU with a slope for each channel, a map of boxes."""

import keras
from keras import layers


def build() -> keras.Model:
    """Return the model, with Keras' initial weights."""
    inputs = keras.Input((24, 24, 3), name="picture")
    x = layers.PReLU(shared_axes=[1, 2])(layers.Conv2D(10, 3)(inputs))
    x = layers.MaxPooling2D(2, padding="same")(x)
    x = layers.PReLU(shared_axes=[1, 2])(layers.Conv2D(16, 3)(x))
    x = layers.PReLU(shared_axes=[1, 2])(layers.Conv2D(16, 3)(x))
    face = layers.Conv2D(2, 1, activation="softmax", name="face")(x)
    return keras.Model(inputs, [face, layers.Conv2D(4, 1, name="box")(x)])
