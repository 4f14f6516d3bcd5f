"""Test 3: face embeddings of length 128 by Inception-ResNet v1 (Szegedy et al., 2016)."""

from __future__ import annotations

from training.backend import keras

layers = keras.layers

EMBEDDING = 128


def _conv(
    x: keras.KerasTensor, filters: int, kernel: int | tuple[int, int], strides: int = 1, padding: str = "same"
) -> keras.KerasTensor:
    """Return a convolution with batch norm and ReLU."""
    x = layers.Conv2D(filters, kernel, strides=strides, padding=padding, use_bias=False)(x)
    return layers.ReLU()(layers.BatchNormalization(scale=False, epsilon=1e-3)(x))


def _residual(
    x: keras.KerasTensor, branches: list[keras.KerasTensor], scale: float, active: bool = True
) -> keras.KerasTensor:
    """Add a 1x1 convolution of the concatenated branches to ``x``, scaled by ``scale``."""
    change = layers.Conv2D(x.shape[-1], 1)(layers.Concatenate()(branches))
    y = layers.Add()([x, layers.Rescaling(scale)(change)])
    return layers.ReLU()(y) if active else y


def _block35(x: keras.KerasTensor) -> keras.KerasTensor:
    return _residual(
        x, [_conv(x, 32, 1), _conv(_conv(x, 32, 1), 32, 3), _conv(_conv(_conv(x, 32, 1), 32, 3), 32, 3)], 0.17
    )


def _block17(x: keras.KerasTensor) -> keras.KerasTensor:
    return _residual(x, [_conv(x, 128, 1), _conv(_conv(_conv(x, 128, 1), 128, (1, 7)), 128, (7, 1))], 0.1)


def _block8(x: keras.KerasTensor, scale: float = 0.2, active: bool = True) -> keras.KerasTensor:
    return _residual(
        x, [_conv(x, 192, 1), _conv(_conv(_conv(x, 192, 1), 192, (1, 3)), 192, (3, 1))], scale, active=active
    )


def inception_resnet_v1(height: int = 512, width: int = 512) -> keras.Model:
    """Return Inception-ResNet v1 with 5, 10 and 5 blocks, whose output is a unit vector of 128 elements."""
    image = keras.Input((height, width, 3))
    x = _conv(image, 32, 3, 2, "valid")
    x = _conv(_conv(x, 32, 3, padding="valid"), 64, 3)
    x = layers.MaxPooling2D(3, 2)(x)
    x = _conv(_conv(x, 80, 1, padding="valid"), 192, 3, padding="valid")
    x = _conv(x, 256, 3, 2, "valid")
    for _ in range(5):
        x = _block35(x)
    x = layers.Concatenate()(
        [
            _conv(x, 384, 3, 2, "valid"),
            _conv(_conv(_conv(x, 192, 1), 192, 3), 256, 3, 2, "valid"),
            layers.MaxPooling2D(3, 2)(x),
        ]
    )
    for _ in range(10):
        x = _block17(x)
    x = layers.Concatenate()(
        [
            _conv(_conv(x, 256, 1), 384, 3, 2, "valid"),
            _conv(_conv(x, 256, 1), 256, 3, 2, "valid"),
            _conv(_conv(_conv(x, 256, 1), 256, 3), 256, 3, 2, "valid"),
            layers.MaxPooling2D(3, 2)(x),
        ]
    )
    for _ in range(5):
        x = _block8(x)
    x = _block8(x, scale=1.0, active=False)
    x = layers.GlobalAveragePooling2D()(x)
    x = layers.BatchNormalization(scale=False, epsilon=1e-3)(layers.Dense(EMBEDDING, use_bias=False)(x))
    return keras.Model(image, layers.UnitNormalization()(x))
