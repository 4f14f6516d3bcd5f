"""A small trained segmentation network for waste and its material, which is not one of the nine tests."""

from __future__ import annotations

from training.aibench.pasted import CLASSES
from training.aibench.pretrain_masks import WIDTHS
from training.backend import keras

layers = keras.layers


def masks(height: int = 96, width: int = 96) -> keras.Model:
    """Return the network, with logits (height, width, 7) for an image in [0, 1].

    Args:
        height: of the image, a multiple of 16.
        width: of the image, a multiple of 16.
    """

    def conv(x: keras.KerasTensor, filters: int, kernel: int = 3, strides: int = 1) -> keras.KerasTensor:
        return layers.Conv2D(filters, kernel, strides=strides, padding="same")(x)

    image = x = keras.Input((height, width, 3))
    maps = []
    for level, filters in enumerate(WIDTHS):
        x = layers.ReLU()(conv(x, filters, strides=1 if level == 0 else 2))
        x = layers.ReLU()(conv(x, filters))
        maps.append(x)
    for level in range(len(WIDTHS) - 2, 0, -1):
        x = _larger(conv(x, WIDTHS[level], 1))
        x = layers.ReLU()(conv(layers.Add()([x, maps[level]]), WIDTHS[level]))
    return keras.Model(image, _larger(conv(x, len(CLASSES), 1)))


def _larger(x: keras.KerasTensor) -> keras.KerasTensor:
    return layers.UpSampling2D(2, interpolation="bilinear")(x)
