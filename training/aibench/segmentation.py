"""Test 7: segmentation of street images into 19 classes by ICNet (Zhao et al., 2017).

The network has three branches; the deeper a branch, the lower its resolution.
"""

from __future__ import annotations

from training.backend import keras

layers = keras.layers

CLASSES = 19


def _conv(
    x: keras.KerasTensor, filters: int, kernel: int, *, strides: int = 1, dilation: int = 1, active: bool = True
) -> keras.KerasTensor:
    """Return a convolution with batch norm, and ReLU if ``active``."""
    x = layers.Conv2D(filters, kernel, strides=strides, dilation_rate=dilation, padding="same", use_bias=False)(x)
    x = layers.BatchNormalization()(x)
    return layers.ReLU()(x) if active else x


def _bottleneck(x: keras.KerasTensor, inner: int, outer: int, strides: int = 1, dilation: int = 1) -> keras.KerasTensor:
    """Return a residual block of ResNet-50 with half of its channels."""
    y = _conv(_conv(x, inner, 1, strides=strides), inner, 3, dilation=dilation)
    y = _conv(y, outer, 1, active=False)
    if x.shape[-1] != outer or strides > 1:
        x = _conv(x, outer, 1, strides=strides, active=False)
    return layers.ReLU()(layers.Add()([x, y]))


def _larger(x: keras.KerasTensor, times: int = 2) -> keras.KerasTensor:
    return layers.UpSampling2D(times, interpolation="bilinear")(x)


def _pyramid(x: keras.KerasTensor) -> keras.KerasTensor:
    """Add to a map its means over 1x1, 2x2, 3x3 and 6x6 parts."""
    height, width = x.shape[1:3]
    parts = [x]
    for cuts in (1, 2, 3, 6):
        window = (height // cuts, width // cuts)
        mean = layers.AveragePooling2D(window)(x)
        parts.append(layers.UpSampling2D(window, interpolation="bilinear")(mean))
    return layers.Add()(parts)


def _fused(low: keras.KerasTensor, high: keras.KerasTensor) -> keras.KerasTensor:
    """Fuse a coarse map and one of twice its size (the paper's cascade feature fusion)."""
    return layers.ReLU()(
        layers.Add()([_conv(_larger(low), 128, 3, dilation=2, active=False), _conv(high, 128, 1, active=False)])
    )


def icnet(height: int = 384, width: int = 576) -> keras.Model:
    """Return ICNet with half of ResNet-50's channels, with logits (height, width, 19).

    Args:
        height: of the input, a multiple of 192, so that the pyramid's parts are equal.
        width: of the input, a multiple of 192.
    """
    image = keras.Input((height, width, 3))
    x = layers.AveragePooling2D(2)(image)
    x = _conv(_conv(_conv(x, 32, 3, strides=2), 32, 3), 64, 3)
    x = layers.MaxPooling2D(3, 2, padding="same")(x)
    for _ in range(3):
        x = _bottleneck(x, 32, 128)
    middle = x = _bottleneck(x, 64, 256, strides=2)
    x = layers.AveragePooling2D(2)(x)
    for _ in range(3):
        x = _bottleneck(x, 64, 256)
    for _ in range(6):
        x = _bottleneck(x, 128, 512, dilation=2)
    for _ in range(3):
        x = _bottleneck(x, 256, 1024, dilation=4)
    x = _fused(_conv(_pyramid(x), 256, 1), middle)
    features = _conv(_conv(_conv(image, 32, 3, strides=2), 32, 3, strides=2), 64, 3, strides=2)
    x = _larger(_fused(x, features))
    return keras.Model(image, _larger(layers.Conv2D(CLASSES, 1)(x), 4))
