"""An MBConv block of EfficientNet: SiLU, squeeze and excite with Reshape and Multiply."""

import keras
from keras import layers


def build() -> keras.Model:
    """Return the model, with Keras' initial weights."""
    inputs = keras.Input((24, 24, 3), name="picture")
    x = layers.Conv2D(8, 3, strides=2, padding="same", activation="silu")(inputs)
    y = layers.Conv2D(16, 1, use_bias=False)(x)
    y = layers.Activation("swish")(layers.BatchNormalization()(y))
    y = layers.DepthwiseConv2D(3, padding="same", use_bias=False)(y)
    y = layers.Activation("swish")(layers.BatchNormalization()(y))
    gate = layers.GlobalAveragePooling2D()(y)
    gate = layers.Reshape((1, 1, 16))(gate)
    gate = layers.Conv2D(4, 1, activation="swish")(gate)
    gate = layers.Conv2D(16, 1, activation="sigmoid")(gate)
    y = layers.multiply([y, gate])
    y = layers.BatchNormalization()(layers.Conv2D(8, 1, use_bias=False)(y))
    x = layers.add([layers.Dropout(0.2, noise_shape=(None, 1, 1, 1))(y), x])
    x = layers.GlobalAveragePooling2D()(x)
    return keras.Model(inputs, layers.Dense(7)(x))
