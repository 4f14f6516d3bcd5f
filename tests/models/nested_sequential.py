"""Transfer learning: augmentation, a base model and a head, each a model inside the model."""

import keras
from keras import layers


def build() -> keras.Model:
    """Return the model, with Keras' initial weights."""
    augment = keras.Sequential([layers.RandomFlip("horizontal"), layers.RandomRotation(0.1), layers.RandomZoom(0.2)])
    base = keras.Sequential(name="base")
    base.add(keras.Input((32, 32, 3)))
    for filters in (8, 12):
        base.add(layers.Conv2D(filters, 3, strides=2, padding="same", activation="relu"))
    inputs = keras.Input((32, 32, 3), name="picture")
    x = augment(inputs)
    x = layers.Rescaling(1 / 127.5, offset=-1)(x)
    x = base(x, training=False)
    x = layers.Dropout(0.2)(layers.GlobalAveragePooling2D()(x))
    return keras.Model(inputs, layers.Dense(4, activation="softmax")(x))
