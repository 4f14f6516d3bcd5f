"""Tests 4, 5, 6, 8 and 9: networks with images as outputs."""

from __future__ import annotations

from training.backend import keras

# isort: split

from glsl_infer.importers.keras.layers import DepthToSpace

layers = keras.layers

VDSR_LAYERS = 20
SRGAN_BLOCKS = 16
DPED_BLOCKS = 4


def _conv(x: keras.KerasTensor, filters: int, kernel: int, activation: str | None = None) -> keras.KerasTensor:
    return layers.Conv2D(filters, kernel, padding="same", activation=activation, kernel_initializer="he_normal")(x)


def _picture(x: keras.KerasTensor) -> keras.KerasTensor:
    """Clip to the range of an image."""
    return layers.ReLU(max_value=1.0)(x)


def srcnn(height: int = 300, width: int = 300) -> keras.Model:
    """Return SRCNN 9-5-5 (Dong et al., 2014) for colour images, with 64 and 32 channels."""
    image = keras.Input((height, width, 3))
    x = _conv(_conv(image, 64, 9, "relu"), 32, 5, "relu")
    return keras.Model(image, _picture(_conv(x, 3, 5)))


def vdsr(height: int = 192, width: int = 192) -> keras.Model:
    """Return VDSR (Kim et al., 2015): 20 convolutions whose result is added to an enlarged grey image."""
    image = x = keras.Input((height, width, 1))
    for _ in range(VDSR_LAYERS - 1):
        x = _conv(x, 64, 3, "relu")
    return keras.Model(image, _picture(layers.Add()([image, _conv(x, 1, 3)])))


def srgan(height: int = 128, width: int = 128) -> keras.Model:
    """Return the generator of SRGAN (Ledig et al., 2016): 4 times the size, 16 residual blocks."""

    def prelu(x: keras.KerasTensor) -> keras.KerasTensor:
        return layers.PReLU(shared_axes=[1, 2], alpha_initializer=keras.initializers.Constant(0.25))(x)

    image = keras.Input((height, width, 3))
    first = x = prelu(_conv(image, 64, 9))
    for _ in range(SRGAN_BLOCKS):
        y = prelu(layers.BatchNormalization()(_conv(x, 64, 3)))
        x = layers.Add()([x, layers.BatchNormalization()(_conv(y, 64, 3))])
    x = layers.Add()([first, layers.BatchNormalization()(_conv(x, 64, 3))])
    for _ in range(2):
        x = prelu(DepthToSpace(2)(_conv(x, 256, 3)))
    return keras.Model(image, layers.Activation("tanh")(_conv(x, 3, 9)))


def dped(height: int = 128, width: int = 192) -> keras.Model:
    """Return the generator of DPED (Ignatov et al., 2017): enhances a photograph, 4 residual blocks."""
    image = keras.Input((height, width, 3))
    x = _conv(image, 64, 9, "relu")
    for _ in range(DPED_BLOCKS):
        y = layers.ReLU()(layers.BatchNormalization()(_conv(x, 64, 3)))
        y = layers.ReLU()(layers.BatchNormalization()(_conv(y, 64, 3)))
        x = layers.Add()([x, y])
    x = _conv(_conv(x, 64, 3, "relu"), 64, 3, "relu")
    x = layers.Activation("tanh")(_conv(x, 3, 9))
    return keras.Model(image, layers.Rescaling(0.58, 0.5)(x))
