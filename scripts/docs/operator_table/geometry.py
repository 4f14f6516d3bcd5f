"""Rows of layers that move pixels: crops, resizing, mirrors, transposed convolutions."""

from __future__ import annotations

from typing import Any

import numpy as np

from operator_table.row import Group, K, L, Row, stem


def _on_stem(layer: Any, channels: int = 8) -> Any:
    return lambda x: layer(stem(x, channels))


def _concatenated(x: Any) -> Any:
    first, second = K.split(x, 2, axis=-1)
    return L.Concatenate()([second, first])


def _shuffled(x: Any) -> Any:
    return L.Reshape((8, 8, 8))(L.Permute((1, 2, 4, 3))(L.Reshape((8, 8, 2, 4))(x)))


def _gated(x: Any) -> Any:
    features = stem(x)
    gate = L.Dense(8, activation="sigmoid", name="stem-gate")(L.GlobalAveragePooling2D(name="stem-pool")(features))
    return features * gate[:, None, None]


def _zeros_beside(x: Any) -> Any:
    return L.Concatenate()([x, K.zeros_like(x)])


def _wide(x: Any) -> Any:
    return x - K.broadcast_to(L.GlobalMaxPooling2D(keepdims=True)(x), (1, 8, 8, 8))


def _moments(x: Any) -> Any:
    mean, variance = K.moments(x, axes=(1, 2), keepdims=True)
    return (x - mean) * (variance + 1.0)


PARTS = Group(
    "Parts, mirrors, other sizes",
    "One pass for all slices.",
    (
        Row("Cropping2D", "1; 8 channels", _on_stem(lambda x: L.Cropping2D(1)(x))),
        Row("CenterCrop", "to 6x4; 8 channels", _on_stem(lambda x: L.CenterCrop(6, 4)(x)), "not larger than the map"),
        Row("`x[:, 1:-1, ::2]`", "8 channels", _on_stem(lambda x: x[:, 1:-1, ::2]), "slices; not of the batch"),
        Row("`x[..., 2:7]`", "8 channels", _on_stem(lambda x: x[..., 2:7]), "slices of 4 are free"),
        Row("`keras.ops.flip`", "along rows; 8 channels", _on_stem(lambda x: K.flip(x, 1)), "rows and columns"),
        Row("`keras.ops.repeat`", "columns; 8 channels", _on_stem(lambda x: K.repeat(x, 2, axis=2)), listed=False),
        Row("`keras.ops.roll`", "8 channels", _on_stem(lambda x: K.roll(x, 3, axis=-1)), listed=False),
        Row("`keras.ops.take`", "8 channels", _on_stem(lambda x: K.take(x, [5, 1, 2], axis=-1)), listed=False),
        Row("`keras.ops.tile`", "8 channels", _on_stem(lambda x: K.tile(x, (1, 1, 1, 2))), listed=False),
        Row("`keras.ops.norm`", "8 channels", _on_stem(lambda x: K.norm(x, axis=-1, keepdims=True)), listed=False),
        Row("`keras.ops.glu`", "8 to 4", _on_stem(lambda x: K.glu(x)), listed=False),
        Row("Permute", "(2, 1, 3); 8 channels", _on_stem(lambda x: L.Permute((2, 1, 3))(x)), "channels stay last"),
        Row("`keras.ops.transpose`", "(0, 2, 1, 3)", _on_stem(lambda x: K.transpose(x, (0, 2, 1, 3))), listed=False),
        Row(
            "`keras.ops.pad`",
            "reflect; 8 channels",
            _on_stem(lambda x: K.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)), "reflect")),
            "`constant`, `reflect`, `symmetric`",
        ),
        Row(
            "`keras.ops.pad`",
            "constant_values=2; 8 channels",
            _on_stem(lambda x: K.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)), constant_values=2.0)),
            "",
        ),
        Row(
            "`keras.ops.pad`",
            "channels, 8 to 16",
            _on_stem(lambda x: K.pad(x, ((0, 0), (0, 0), (0, 0), (2, 6)))),
            "zeros only",
        ),
        Row("Resizing", "to 12x5, `bilinear`; 8 channels", _on_stem(lambda x: L.Resizing(12, 5)(x))),
        Row(
            "Resizing",
            "to 12x5, `nearest`; 8 channels",
            _on_stem(lambda x: L.Resizing(12, 5, interpolation="nearest")(x)),
        ),
        Row(
            "`keras.ops.image.resize`",
            "to 4x4, `bilinear`; 8 channels",
            _on_stem(lambda x: K.image.resize(x, (4, 4))),
            listed=False,
        ),
        Row(
            "Resizing",
            "to 12x5, `bicubic`; 8 channels",
            _on_stem(lambda x: L.Resizing(12, 5, interpolation="bicubic")(x)),
            listed=False,
        ),
        Row(
            "UpSampling2D",
            "2x2, `bicubic`; 8 channels",
            _on_stem(lambda x: L.UpSampling2D(2, interpolation="bicubic")(x)),
            bound=0.03,  # it exceeds the range seen in a few images
            listed=False,
        ),
        Row("`keras.ops.full_like`", "8 channels", _on_stem(lambda x: x * K.full_like(x, 0.5)), listed=False),
        Row("`keras.ops.ones_like`", "8 channels", _on_stem(lambda x: K.ones_like(x) - x), listed=False),
        Row("`keras.ops.zeros_like`", "8 channels", _on_stem(_zeros_beside), listed=False),
        Row("`keras.ops.stop_gradient`", "8 channels", _on_stem(lambda x: -K.stop_gradient(x)), listed=False),
        Row("`keras.ops.broadcast_to`", "a pixel of 8 channels, to 8x8", _on_stem(_wide), listed=False),
        Row("`keras.ops.moments`", "over 8x8; 8 channels", _on_stem(_moments), listed=False),
        Row("`x[..., 4:]`", "12 channels", _on_stem(lambda x: x[..., 4:], 12), "", listed=False),
        Row(
            "`keras.ops.space_to_depth`",
            "blocks of 2x2; 8 channels",
            _on_stem(lambda x: K.space_to_depth(x, 2)),
            "",
        ),
        Row(
            "`keras.ops.split`",
            "into 2; 8 channels",
            _on_stem(_concatenated),
            "channels, rows or columns; of maps and vectors",
        ),
        Row(
            "Reshape, Permute, Reshape",
            "channels in another order; 8 channels",
            _on_stem(_shuffled),
            "if an operator here does the same",
        ),
        Row("`x[:, None, None]`", "a vector of 8, as a gate", _gated, "and `x[:, 0, 0]`"),
        Row(
            "GlobalMaxPooling2D",
            "8x8",
            _on_stem(lambda x: L.GlobalMaxPooling2D()(x)),
            "",
        ),
    ),
)


def _by_constants(operation: str, filters: int) -> Any:
    """Return the builder of a convolution with a constant kernel, not a layer's weight."""
    kernel = np.random.default_rng(3).normal(0.0, 0.2, (3, 3, 8, filters)).astype(np.float32)
    return _on_stem(lambda x: getattr(K, operation)(x, kernel, padding="same"))


COMPOSED = Group(
    "Composed convolutions",
    "A transposed convolution is a convolution, then depth to space.",
    (
        Row(
            "SeparableConv2D",
            "3x3 to 8 channels",
            _on_stem(lambda x: L.SeparableConv2D(8, 3, padding="same")(x)),
        ),
        Row(
            "Conv2DTranspose",
            "2x2, strides 2, to 4",
            _on_stem(lambda x: L.Conv2DTranspose(4, 2, 2)(x)),
            "any kernel and strides",
        ),
        Row(
            "Conv2DTranspose",
            "3x3, strides 2, `same`, to 4",
            _on_stem(lambda x: L.Conv2DTranspose(4, 3, 2, "same")(x)),
            listed=False,
        ),
        Row(
            "Conv2DTranspose",
            "4x4, strides 2, `same`, to 4 channels",
            _on_stem(lambda x: L.Conv2DTranspose(4, 4, 2, "same")(x)),
            listed=False,
        ),
        Row(
            "Conv2DTranspose",
            "3x2, strides (3, 1), output_padding (1, 0), to 4 channels",
            _on_stem(lambda x: L.Conv2DTranspose(4, (3, 2), (3, 1), output_padding=(1, 0))(x)),
            listed=False,
        ),
        Row("`keras.ops.conv`", "3x3 constants, `same`; 8 to 4", _by_constants("conv", 4), listed=False),
        Row("`keras.ops.depthwise_conv`", "3x3 constants; 8", _by_constants("depthwise_conv", 1), listed=False),
    ),
)

GROUPS = (PARTS, COMPOSED)
