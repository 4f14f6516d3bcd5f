"""Two bottleneck units of ResNet v2: normalisation and ReLU before the convolutions."""

import keras
from keras import layers


def unit(x, filters):
    y = layers.Activation("relu")(layers.BatchNormalization()(x))
    y = layers.Conv2D(filters // 2, 1, use_bias=False)(y)
    y = layers.Activation("relu")(layers.BatchNormalization()(y))
    y = layers.Conv2D(filters // 2, 3, padding="same", use_bias=False)(y)
    y = layers.Activation("relu")(layers.BatchNormalization()(y))
    return layers.Add()([layers.Conv2D(filters, 1)(y), x])


def build() -> keras.Model:
    """Return the model, with Keras' initial weights."""
    inputs = keras.Input((24, 24, 3), name="picture")
    x = layers.ZeroPadding2D(1)(inputs)
    x = layers.Conv2D(16, 3, strides=2)(x)
    x = unit(unit(x, 16), 16)
    x = layers.Activation("relu")(layers.BatchNormalization()(x))
    x = layers.GlobalAveragePooling2D()(x)
    return keras.Model(inputs, layers.Dense(5, activation="softmax")(x))
