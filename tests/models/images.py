"""Networks whose output is an image: restoration, super-resolution, generators."""

import keras
from keras import layers

from glsl_infer.importers.keras.layers import DepthToSpace


def autoencoder() -> keras.Model:
    """A convolutional autoencoder that takes noise out of pictures, as in Keras' examples."""
    inputs = keras.Input((28, 28, 1), name="picture")
    x = layers.Conv2D(8, 3, activation="relu", padding="same")(inputs)
    x = layers.MaxPooling2D(2, padding="same")(x)
    x = layers.Conv2D(8, 3, activation="relu", padding="same")(x)
    x = layers.MaxPooling2D(2, padding="same")(x)
    x = layers.Conv2DTranspose(8, 3, strides=2, activation="relu", padding="same")(x)
    x = layers.Conv2DTranspose(8, 3, strides=2, activation="relu", padding="same")(x)
    return keras.Model(inputs, layers.Conv2D(1, 3, activation="sigmoid", padding="same")(x))


def reflected_convolution(x, filters):
    x = keras.ops.pad(x, [[0, 0], [1, 1], [1, 1], [0, 0]], mode="reflect")
    return layers.GroupNormalization(groups=-1)(layers.Conv2D(filters, 3)(x))


def cyclegan_block() -> keras.Model:
    """A residual block of CycleGAN: reflection padding, instance normalisation."""
    inputs = keras.Input((24, 24, 3), name="picture")
    x = layers.Conv2D(8, 7, padding="same", activation="relu")(inputs)
    y = layers.ReLU()(reflected_convolution(x, 8))
    x = layers.add([reflected_convolution(y, 8), x])
    return keras.Model(inputs, layers.Conv2D(3, 7, padding="same", activation="tanh")(x))


def dcgan_generator() -> keras.Model:
    """The generator of DCGAN (Radford, 2015): noise becomes a picture."""
    return keras.Sequential(
        [
            keras.Input((16,), name="noise"),
            layers.Dense(4 * 4 * 16, use_bias=False),
            layers.BatchNormalization(),
            layers.LeakyReLU(),
            layers.Reshape((4, 4, 16)),
            layers.Conv2DTranspose(8, 5, strides=1, padding="same", use_bias=False),
            layers.BatchNormalization(),
            layers.LeakyReLU(),
            layers.Conv2DTranspose(8, 5, strides=2, padding="same", use_bias=False),
            layers.BatchNormalization(),
            layers.LeakyReLU(),
            layers.Conv2DTranspose(3, 5, strides=2, padding="same", use_bias=False, activation="tanh"),
        ]
    )


def dncnn() -> keras.Model:
    """DnCNN (Zhang, 2016): the noise is estimated, then taken away from the picture."""
    inputs = keras.Input((24, 24, 1), name="noisy")
    x = layers.Conv2D(12, 3, padding="same", activation="relu")(inputs)
    for _ in range(3):
        x = layers.Conv2D(12, 3, padding="same", use_bias=False)(x)
        x = layers.Activation("relu")(layers.BatchNormalization(epsilon=1e-3)(x))
    noise = layers.Conv2D(1, 3, padding="same", use_bias=False)(x)
    return keras.Model(inputs, layers.Subtract()([inputs, noise]))


def edge_filter() -> keras.Model:
    """No training at all: Sobel's filters by a depthwise convolution, and the length of the gradient."""
    inputs = keras.Input((24, 24, 1), name="grey")
    x = layers.DepthwiseConv2D(3, depth_multiplier=2, padding="same", use_bias=False)(inputs)
    x = keras.ops.square(x)
    x = x[..., 0:1] + x[..., 1:2]
    return keras.Model(inputs, keras.ops.sqrt(x))


def espcn() -> keras.Model:
    """ESPCN (Shi, 2016): twice the size by sub-pixel convolution."""
    inputs = keras.Input((16, 16, 3), name="small")
    x = layers.Conv2D(12, 5, padding="same", activation="tanh")(inputs)
    x = layers.Conv2D(8, 3, padding="same", activation="tanh")(x)
    x = layers.Conv2D(3 * 4, 3, padding="same")(x)
    return keras.Model(inputs, DepthToSpace(2)(x))


def down(x, filters, norm=True):
    x = layers.Conv2D(filters, 4, strides=2, padding="same", use_bias=False)(x)
    x = layers.BatchNormalization()(x) if norm else x
    return layers.LeakyReLU()(x)


def up(x, filters):
    x = layers.Conv2DTranspose(filters, 4, strides=2, padding="same", use_bias=False)(x)
    return layers.ReLU()(layers.Dropout(0.5)(layers.BatchNormalization()(x)))


def pix2pix() -> keras.Model:
    """The generator of pix2pix (Isola, 2016), three levels deep: LeakyReLU down, transposed convolutions up."""
    inputs = keras.Input((32, 32, 3), name="picture")
    first = down(inputs, 4, norm=False)
    second = down(first, 8)
    x = up(down(second, 12), 8)
    x = up(layers.Concatenate()([x, second]), 4)
    x = layers.Concatenate()([x, first])
    return keras.Model(inputs, layers.Conv2DTranspose(3, 4, strides=2, padding="same", activation="tanh")(x))


def srgan_generator() -> keras.Model:
    """The generator of SRGAN (Ledig, 2016): residual blocks with PReLU, upsampling, tanh."""
    inputs = keras.Input((16, 16, 3), name="small")
    x = layers.Conv2D(8, 9, padding="same")(inputs)
    first = x = layers.PReLU(shared_axes=[1, 2])(x)
    for _ in range(2):
        y = layers.BatchNormalization()(layers.Conv2D(8, 3, padding="same")(x))
        y = layers.PReLU(shared_axes=[1, 2])(y)
        y = layers.BatchNormalization()(layers.Conv2D(8, 3, padding="same")(y))
        x = layers.Add()([x, y])
    x = layers.BatchNormalization()(layers.Conv2D(8, 3, padding="same")(x))
    x = layers.Add()([x, first])
    x = layers.UpSampling2D(2)(layers.Conv2D(16, 3, padding="same")(x))
    x = layers.PReLU(shared_axes=[1, 2])(x)
    return keras.Model(inputs, layers.Conv2D(3, 9, padding="same", activation="tanh")(x))
