"""Regression, embeddings, and several inputs or outputs."""

import keras
from keras import layers


def multi_task() -> keras.Model:
    """One body, three heads: a class, an age and a box."""
    inputs = keras.Input((32, 32, 3), name="face")
    x = layers.Conv2D(8, 3, strides=2, activation="relu")(inputs)
    x = layers.Conv2D(16, 3, strides=2, activation="relu")(x)
    shared = layers.GlobalAveragePooling2D()(x)
    outputs = {
        "kind": layers.Dense(3, activation="softmax")(shared),
        "age": layers.Dense(1)(layers.Dense(8, activation="relu")(shared)),
        "box": layers.Dense(4, activation="sigmoid")(shared),
    }
    return keras.Model(inputs, outputs)


def ops_arithmetic() -> keras.Model:
    """Arithmetic of Keras tensors: constants, maps, maxima, slices."""
    inputs = keras.Input((24, 24, 3), name="picture")
    x = (inputs - 0.5) * 2.0
    x = layers.Conv2D(8, 3, padding="same", activation="relu")(x)
    y = layers.Conv2D(8, 3, padding="same", activation="sigmoid")(x)
    x = x * y + (1.0 - y)
    x = keras.ops.maximum(x, y) - keras.ops.minimum(x, y) / 2.0
    x = x[:, 1:-1, 1:-1, :] + x[:, 2:, 2:, :]
    x = keras.ops.relu(layers.Conv2D(8, 3)(x))
    return keras.Model(inputs, layers.Dense(3)(layers.GlobalAveragePooling2D()(x)))


def pilotnet() -> keras.Model:
    """NVIDIA's network that steers a car: cropping, 5x5 convolutions, ELU, one angle."""
    model = keras.Sequential(name="pilotnet")
    model.add(keras.Input((40, 64, 3), name="road"))
    model.add(layers.Cropping2D(((12, 4), (0, 0))))
    model.add(layers.Rescaling(1 / 127.5, offset=-1.0))
    model.add(layers.Conv2D(6, 5, strides=2, activation="elu"))
    model.add(layers.Conv2D(8, 5, strides=2, activation="elu"))
    model.add(layers.Flatten())
    model.add(layers.Dense(20, activation="elu"))
    model.add(layers.Dense(10, activation="elu"))
    model.add(layers.Dense(1, name="angle"))
    return model


def shared_towers() -> keras.Model:
    """Two pictures go through the same tower; the output says how much they differ."""
    left = keras.Input((24, 24, 3), name="left")
    right = keras.Input((24, 24, 3), name="right")
    tower = keras.Sequential(
        [
            keras.Input((24, 24, 3)),
            layers.Conv2D(8, 3, strides=2, activation="relu"),
            layers.Conv2D(8, 3, activation="relu"),
            layers.GlobalAveragePooling2D(),
        ],
        name="tower",
    )
    concatenated = layers.Concatenate()([tower(left), tower(right)])
    return keras.Model(
        [left, right], layers.Dense(1, activation="sigmoid")(layers.Dense(8, activation="relu")(concatenated))
    )


def siamese_embedding() -> keras.Model:
    """One tower of a siamese network: an embedding of length 1 for a face."""
    inputs = keras.Input((32, 32, 3), name="face")
    x = layers.Conv2D(8, 3, activation="relu")(inputs)
    x = layers.MaxPooling2D()(x)
    x = layers.Conv2D(16, 3, activation="relu")(x)
    x = layers.GlobalAveragePooling2D()(x)
    x = layers.Dense(16)(x)
    return keras.Model(inputs, layers.UnitNormalization(name="embedding")(x))


def two_inputs() -> keras.Model:
    """A picture and five numbers decide together."""
    photo = keras.Input((24, 24, 3), name="photo")
    vector = keras.Input((5,), name="numbers")
    x = layers.Conv2D(8, 3, activation="relu")(photo)
    x = layers.GlobalAveragePooling2D()(x)
    y = layers.Dense(8, activation="relu")(vector)
    x = layers.concatenate([x, y])
    x = layers.Dense(12, activation="relu")(x)
    return keras.Model([photo, vector], layers.Dense(3, activation="softmax")(x))
