"""The head of SSD (Liu, 2016): boxes and classes of two maps, as rows."""

import keras
from keras import layers


def build() -> keras.Model:
    """Return the model, with Keras' initial weights."""
    inputs = keras.Input((32, 32, 3), name="picture")
    x = layers.Conv2D(8, 3, strides=2, padding="same", activation="relu")(inputs)
    near = layers.Conv2D(12, 3, strides=2, padding="same", activation="relu")(x)
    far = layers.Conv2D(16, 3, strides=2, padding="same", activation="relu")(near)
    boxes, classes = [], []
    for feature in (near, far):
        box = layers.Conv2D(2 * 4, 3, padding="same")(feature)
        boxes.append(layers.Reshape((-1, 4))(box))
        label = layers.Conv2D(2 * 3, 3, padding="same")(feature)
        classes.append(layers.Reshape((-1, 3))(label))
    boxes = layers.Concatenate(axis=1, name="boxes")(boxes)
    classes = layers.Softmax(name="classes")(layers.Concatenate(axis=1)(classes))
    return keras.Model(inputs, [boxes, classes])
