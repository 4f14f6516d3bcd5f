"""Rows of layers that move pixels: crops, resizing, mirrors, transposed convolutions."""

from __future__ import annotations

from typing import Any

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


PARTS = Group(
    "Parts, mirrors, other sizes",
    "One pass for all slices.",
    (
        Row("Cropping2D", "1; 8 channels", _on_stem(lambda x: L.Cropping2D(1)(x))),
        Row("CenterCrop", "to 6x4; 8 channels", _on_stem(lambda x: L.CenterCrop(6, 4)(x)), "not larger than the map"),
        Row("`x[:, 1:-1, ::2]`", "8 channels", _on_stem(lambda x: x[:, 1:-1, ::2]), "slices; not of the batch"),
        Row("`x[..., 2:7]`", "8 channels", _on_stem(lambda x: x[..., 2:7]), "slices of 4 are free"),
        Row("`keras.ops.flip`", "along rows; 8 channels", _on_stem(lambda x: K.flip(x, 1)), "rows and columns"),
        Row("`keras.ops.diff`", "axis=1; 8 channels", _on_stem(lambda x: K.diff(x, axis=1)), "not of the batch"),
        Row("Permute", "(2, 1, 3); 8 channels", _on_stem(lambda x: L.Permute((2, 1, 3))(x)), "channels stay last"),
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
        Row("`keras.ops.space_to_depth`", "blocks of 2x2; 8 channels", _on_stem(lambda x: K.space_to_depth(x, 2)), ""),
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
        Row("GlobalMaxPooling2D", "8x8", _on_stem(lambda x: L.GlobalMaxPooling2D()(x)), ""),
    ),
)


COMPOSED = Group(
    "Composed convolutions",
    "A transposed convolution is a convolution, then depth to space.",
    (
        Row("SeparableConv2D", "3x3 to 8 channels", _on_stem(lambda x: L.SeparableConv2D(8, 3, padding="same")(x))),
        Row(
            "Conv2DTranspose",
            "2x2, strides 2, to 4",
            _on_stem(lambda x: L.Conv2DTranspose(4, 2, 2)(x)),
            "any kernel and strides",
        ),
    ),
)

GROUPS = (PARTS, COMPOSED)
