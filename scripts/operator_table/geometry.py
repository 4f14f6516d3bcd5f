"""Rows of layers that move pixels: parts, other sizes, mirrors, transposed convolutions."""

from __future__ import annotations

from typing import Any

from operator_table.row import Group, K, L, Row, stem


def _on_stem(layer: Any, channels: int = 8) -> Any:
    return lambda x: layer(stem(x, channels))


def _joined(x: Any) -> Any:
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
        Row("Resizing", "to 12x5, `bilinear`; 8 channels", _on_stem(lambda x: L.Resizing(12, 5)(x)), "no antialias"),
        Row(
            "Resizing",
            "to 12x5, `nearest`; 8 channels",
            _on_stem(lambda x: L.Resizing(12, 5, interpolation="nearest")(x)),
            "no antialias",
        ),
        Row(
            "`keras.ops.image.resize`",
            "to 4x4, `bilinear`; 8 channels",
            _on_stem(lambda x: K.image.resize(x, (4, 4))),
            listed=False,
        ),
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
            _on_stem(_joined),
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

COMPOSED = Group(
    "Composed convolutions",
    "A transposed convolution is a convolution, then depth to space.",
    (
        Row(
            "SeparableConv2D",
            "3x3 to 8 channels",
            _on_stem(lambda x: L.SeparableConv2D(8, 3, padding="same")(x)),
            bound=0.02,
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
    ),
)

GROUPS = (PARTS, COMPOSED)
