"""Rows of convolutions."""

from __future__ import annotations

from typing import Any

from operator_table.row import Group, L, Row, stem


def _conv(filters: int, kernel: Any, channels: int = 8, **options: Any) -> Any:
    """Return the builder of a convolution with a sigmoid, after a stem with ``channels`` channels."""
    options = {"activation": "sigmoid", **options}
    return lambda x: L.Conv2D(filters, kernel, **options)(stem(x, channels))


def _depthwise(kernel: Any, channels: int = 8, **options: Any) -> Any:
    options = {"activation": "sigmoid", **options}
    return lambda x: L.DepthwiseConv2D(kernel, **options)(stem(x, channels))


CONVOLUTIONS = Group(
    "Convolutions",
    "One pass for each output slice. Fetches: height x width of the kernel, times the input slices of its group. Bias, "
    "batch normalisation, residual and activation are included; strides, dilation and padding cost nothing. Too many "
    "weights for a shader, or an input in more than 8 textures (`--layout planar`), take more passes, which store "
    "16-bit partial sums.",
    (
        Row("Conv2D", "1x1; 8 to 8", _conv(8, 1)),
        Row("Conv2D", "3x3, `same`; 8 to 8", _conv(8, 3, padding="same")),
        Row("Conv2D", "3x3, `valid`, on the image; 3 to 8", lambda x: L.Conv2D(8, 3, activation="sigmoid")(x)),
        Row("Conv2D", "groups of 4, 3x3; 16 to 16", _conv(16, 3, 16, groups=4)),
        Row("Conv2D", "groups of 3, 3x3; 12 to 12", _conv(12, 3, 12, groups=4), "multiples of 4 are cheaper"),
        Row("Conv2D", "without activation; 8 to 8", _conv(8, 1, activation=None)),
        Row(
            "Dense", "on a feature map; 8 to 8", lambda x: L.Dense(8, activation="sigmoid")(stem(x)), "is a 1x1 Conv2D"
        ),
    ),
)

DEPTHWISE = Group(
    "Depthwise convolutions",
    "One pass for each output slice. Fetches: height x width of the kernel.",
    (
        Row("DepthwiseConv2D", "3x3, `same`; 8 channels", _depthwise(3, padding="same")),
        Row("DepthwiseConv2D", "depth_multiplier 2, 3x3; 8 to 16", _depthwise(3, depth_multiplier=2)),
    ),
)

GROUPS = (CONVOLUTIONS, DEPTHWISE)
