"""EfficientNet-Lite: teachers for distillation, which are trained here and not shipped.

M. Tan and Q. Le, "EfficientNet: Rethinking Model Scaling for Convolutional Neural Networks", 2019. The Lite variants
have ReLU6, no squeeze-and-excitation, and a stem and a head of fixed width. ``training/imagenet.py`` loads published
weights.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import keras


class Stage(NamedTuple):
    """``repeats`` inverted residual blocks; only the first has the stride and changes the channels."""

    repeats: int
    kernel: int
    stride: int
    expansion: int
    out: int


STAGES = (
    Stage(1, 3, 1, 1, 16),
    Stage(2, 3, 2, 6, 24),
    Stage(2, 5, 2, 6, 40),
    Stage(3, 3, 2, 6, 80),
    Stage(3, 5, 1, 6, 112),
    Stage(4, 5, 2, 6, 192),
    Stage(1, 3, 1, 6, 320),
)
"""Stages of variant 0, from table 1 of the paper."""

SCALES = ((1.0, 1.0), (1.0, 1.1), (1.1, 1.2), (1.2, 1.4), (1.4, 1.8))
"""Width and depth of variants 0 to 4."""

STEM_CHANNELS, HEAD_CHANNELS = 32, 1280


def efficientnet_lite(
    variant: int, input_size: int, classes: int, *, conv: Any = keras.layers.Conv2D, momentum: float = 0.99
) -> keras.Model:
    """Build EfficientNet-Lite ``variant``.

    Args:
        variant: 0 to 4.
        input_size: side of the square input in pixels, 32 or more; the paper uses 224, 240, 260, 280 and 300.
        classes: length of the logits.
        conv: layer class for all convolutions except depthwise ones.
        momentum: of the running statistics of batch norm.

    Returns:
        A functional model from ``(batch, input_size, input_size, 3)`` float32 in [0, 1] to logits ``(batch, classes)``.

    Raises:
        ValueError: the variant does not exist, or the input is too small.
    """
    if not 0 <= variant < len(SCALES):
        raise ValueError(f"EfficientNet-Lite: variant={variant}; 0 to {len(SCALES) - 1} exist")
    if input_size < 32:
        raise ValueError(f"EfficientNet-Lite: input_size={input_size}; 32 or more are needed")
    width, depth = SCALES[variant]

    def normalized(x: Any, name: str, *, activated: bool = True) -> Any:
        x = keras.layers.BatchNormalization(momentum=momentum, epsilon=1e-3, name=f"{name}-bn")(x)
        return keras.layers.ReLU(6.0, name=f"{name}-act")(x) if activated else x

    def convolution(x: Any, name: str, filters: int, kernel: int = 1, stride: int = 1) -> Any:
        return conv(filters, kernel, strides=stride, padding="same", use_bias=False, name=name)(x)

    inputs = keras.Input((input_size, input_size, 3), name="image")
    x = keras.layers.Rescaling(255.0 / 128.0, -127.0 / 128.0, name="scaled")(
        inputs
    )  # the input range of the published weights
    x = normalized(convolution(x, "stem", STEM_CHANNELS, 3, 2), "stem")
    channels, block = STEM_CHANNELS, 0
    for index, stage in enumerate(STAGES):
        fixed = index in (0, len(STAGES) - 1)
        out = _rounded(stage.out * width)
        for repeat in range(stage.repeats if fixed else math.ceil(stage.repeats * depth)):
            stride = stage.stride if repeat == 0 else 1
            name, y = f"block{block}", x
            if stage.expansion != 1:
                y = normalized(convolution(y, f"{name}-expand", channels * stage.expansion), f"{name}-expand")
            y = keras.layers.DepthwiseConv2D(
                stage.kernel, strides=stride, padding="same", use_bias=False, name=f"{name}-depthwise"
            )(y)
            y = normalized(y, f"{name}-depthwise")
            y = normalized(convolution(y, f"{name}-project", out), f"{name}-project", activated=False)
            x = keras.layers.Add(name=f"{name}-add")([y, x]) if stride == 1 and channels == out else y
            channels, block = out, block + 1
    x = normalized(convolution(x, "head", HEAD_CHANNELS), "head")
    x = keras.layers.GlobalAveragePooling2D(name="pool")(x)
    return keras.Model(inputs, keras.layers.Dense(classes, name="Dense")(x), name=f"efficientnet_lite{variant}")


def _rounded(channels: float) -> int:
    """Return the nearest multiple of 8 that is at least nine tenths of ``channels``."""
    nearest = max(8, int(channels + 4) // 8 * 8)
    return nearest + 8 if nearest < 0.9 * channels else nearest
