"""A block of MobileNet v3: 5x5 depthwise, squeeze and excite with a hard sigmoid, hard swish."""

import keras
from keras import layers


def build() -> keras.Model:
    """Return the model, with Keras' initial weights."""
    inputs = keras.Input((32, 32, 3), name="picture")
    x = layers.Conv2D(8, 3, strides=2, padding="same", use_bias=False)(inputs)
    x = layers.Activation("hard_silu")(layers.BatchNormalization()(x))
    y = layers.Conv2D(24, 1, use_bias=False)(x)
    y = layers.Activation("hard_silu")(layers.BatchNormalization()(y))
    y = layers.DepthwiseConv2D(5, padding="same", use_bias=False)(y)
    y = layers.BatchNormalization()(y)
    gate = layers.GlobalAveragePooling2D(keepdims=True)(y)
    gate = layers.Conv2D(8, 1, activation="relu")(gate)
    gate = layers.Conv2D(24, 1, activation="hard_sigmoid")(gate)
    y = layers.Activation("hard_silu")(layers.Multiply()([y, gate]))
    y = layers.BatchNormalization()(layers.Conv2D(8, 1, use_bias=False)(y))
    x = layers.Add()([x, y])
    x = layers.GlobalAveragePooling2D()(x)
    return keras.Model(inputs, layers.Dense(5, activation="softmax")(x))
