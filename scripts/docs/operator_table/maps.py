"""Rows of layers that move values: channel permutations, pooling, resizing."""

from __future__ import annotations

from typing import Any

from operator_table.row import Group, L, Row, stem


def _join(*channels: int, join: Any = None) -> Any:
    def build(x: Any) -> Any:
        parts = [stem(x, count, name=f"stem-{index}") for index, count in enumerate(channels)]
        return (join or L.Concatenate())(parts)

    return build


_VIEWS = "multiples of 4 channels, but the last"

CHANNELS = Group(
    "Channels in another order",
    "Slices of 4 channels that stay whole only change their places.",
    (
        Row("Concatenate", "channels; 8 and 4", _join(8, 4), _VIEWS),
        Row("Concatenate", "channels; 6 and 5", _join(6, 5), "other numbers cost passes"),
        Row(
            "ChannelShuffle",
            "of glsl-infer; step=2, 16 channels",
            lambda x: L.ChannelShuffle(2)(stem(x, 16)),
            "multiples of 4 channels, and of 4 x step above that",
        ),
    ),
)


def _max(*args: Any, **options: Any) -> Any:
    return lambda x: L.MaxPooling2D(*args, **options)(stem(x))


def _average(*args: Any, **options: Any) -> Any:
    return lambda x: L.AveragePooling2D(*args, **options)(stem(x))


POOLING = Group(
    "Pooling",
    "One pass for all slices, or one for each if windows reach beyond the map. Padding never counts.",
    (
        Row("MaxPooling2D", "2x2, `valid`; 8 channels", _max(2)),
        Row("MaxPooling2D", "3x3, strides 2, `same`; 8 channels", _max(3, 2, "same")),
        Row("AveragePooling2D", "2x2, `valid`; 8 channels", _average(2)),
        Row("GlobalAveragePooling2D", "8x8", lambda x: L.GlobalAveragePooling2D()(stem(x)), "up to 65,793 pixels"),
        Row(
            "GlobalAveragePooling2D",
            "keepdims=True, then Conv2D 1x1 to 3, Flatten",
            lambda x: L.Flatten()(L.Conv2D(3, 1)(L.GlobalAveragePooling2D(keepdims=True)(stem(x)))),
            "end with a Flatten",
        ),
    ),
)


def _padded_conv(x: Any) -> Any:
    y = L.ZeroPadding2D(1)(stem(x))
    return L.Conv2D(8, 3, activation="sigmoid", name="conv")(y)


def _same_conv(x: Any) -> Any:
    return L.Conv2D(8, 3, padding="same", activation="sigmoid", name="conv")(stem(x))


def _bilinear(size: Any) -> Any:
    return lambda x: L.UpSampling2D(size, interpolation="bilinear")(stem(x))


SIZES = Group(
    "Other sizes",
    "One pass for all slices, or one for each in bilinear UpSampling2D and DepthToSpace.",
    (
        Row(
            "ZeroPadding2D",
            "in front of a Conv2D that alone reads it",
            _padded_conv,
            "any of its forms",
            without=_same_conv,
            into="the convolution",
        ),
        Row(
            "ZeroPadding2D",
            "elsewhere: ((0, 1), (2, 0)); 8 channels",
            lambda x: L.ZeroPadding2D(((0, 1), (2, 0)))(stem(x)),
        ),
        Row("UpSampling2D", "nearest, 2; 8 channels", lambda x: L.UpSampling2D(2)(stem(x)), "whole factors"),
        Row("UpSampling2D", "bilinear, 2; 8 channels", _bilinear(2), "whole factors"),
        Row(
            "DepthToSpace",
            "of glsl-infer; block_size=2; 16 to 4",
            lambda x: L.DepthToSpace(2)(stem(x, 16)),
            "its input has one range for all channels",
        ),
    ),
)

GROUPS = (CHANNELS, POOLING, SIZES)
