"""Rows of vectors, the heads of networks; also rows of dropped layers and of nested models."""

from __future__ import annotations

from typing import Any

from operator_table.row import KERAS, Group, K, L, Row, stem, vector


def _dense(x: Any) -> Any:
    return L.Dense(5, name="dense")(vector(x))


def _pair(x: Any) -> list[Any]:
    """Return two vectors of 8."""
    return [vector(x), L.Dense(8, name="stem-dense")(L.GlobalAveragePooling2D(name="stem-other")(x))]


def _affine(x: Any) -> Any:
    return L.BatchNormalization(name="norm")(vector(x)) * 2.0 + 1.0


def _quotient(x: Any) -> Any:
    first, second = _pair(x)
    return first / L.Activation("exponential", name="stem-positive")(second)


def _two_maps(x: Any) -> list[Any]:
    """Return two maps whose pixels are rows of 4 values."""
    return [stem(x), L.Conv2D(4, 3, strides=2, activation="sigmoid", name="stem-far")(x)]


def _rows(x: Any) -> Any:
    return L.Concatenate(axis=1)([L.Reshape((-1, 4))(source) for source in _two_maps(x)])


_HOST = "[host steps](bundle-format.md#host-steps)"


def _map_to_classes(channels: int = 8, size: int = 8) -> Any:
    """Return a map of one pixel."""
    return lambda x: L.Conv2D(channels, size, activation="sigmoid", name="stem-last")(x)


_HEAD = _map_to_classes()

VECTORS = Group(
    "Vectors",
    "Vectors have 16-bit numbers, two in a texel. A Dense is one pass with up to 128 inputs, two with up to 256, else "
    "three, and fetches three quarters of a texel for each weight. A slice is 4 values here, norms have at most 1,024.",
    (
        Row("Dense", "8 to 5", _dense, "any numbers"),
        Row("Dense", "8 to 2,100", lambda x: L.Dense(2100)(vector(x)), "2,048 outputs at a time"),
        Row("Concatenate", "two vectors of 8", lambda x: L.Concatenate()(_pair(x)), "up to 4,096 values"),
        Row("Add", "two vectors of 8", lambda x: L.Add()(_pair(x)), "2 to 8 inputs"),
        Row(
            "Activation, ReLU ...",
            "on a vector that is not from a Dense",
            lambda x: L.Activation("hard_sigmoid")(vector(x)),
        ),
        Row(
            "Flatten",
            "a map of 2x2 pixels; 8 channels",
            lambda x: L.Flatten()(_map_to_classes(size=7)(x)),
            "up to 4,096 values",
        ),
        Row("Flatten, Dense", "a map of 8x8, 5 channels, to 3", lambda x: L.Dense(3)(L.Flatten()(stem(x, 5))), ""),
        Row("Reshape", "a map of 1x1 pixels to a vector; 8 channels", lambda x: L.Reshape((8,))(_HEAD(x)), "or (-1,)"),
        Row(
            "Reshape",
            "a vector to 4x4 pixels of 8 channels",
            lambda x: L.Reshape((4, 4, 8))(L.Dense(128, activation="sigmoid")(vector(x))),
            "",
        ),
        Row("BatchNormalization, `x * 2 + 1`", "on a vector; 8", _affine, "part of the Dense before or after"),
        *(
            Row(layer, "two vectors of 8", build, "or of 8 and 1")
            for layer, build in (
                ("Multiply", lambda x: L.Multiply()(_pair(x))),
                ("Subtract", lambda x: L.Subtract()(_pair(x))),
                ("Maximum", lambda x: L.Maximum()(_pair(x))),
                ("Minimum", lambda x: L.Minimum()(_pair(x))),
                ("`x / y`", _quotient),
            )
        ),
        *(
            Row(layer, "of a vector of 8, inside", build)
            for layer, build in (
                ("LayerNormalization", lambda x: L.Dense(3)(L.LayerNormalization()(vector(x)))),
                ("RMSNormalization", lambda x: L.Dense(3)(L.RMSNormalization()(vector(x)))),
                ("UnitNormalization", lambda x: L.Dense(3)(L.UnitNormalization()(vector(x)))),
            )
        ),
        Row("Softmax", "of a vector of 8, inside", lambda x: L.Dense(3)(L.Softmax()(vector(x)))),
        Row("`x[:, 1:7:2]`", "of a vector of 8", lambda x: vector(x)[:, 1:7:2]),
        *(
            Row(layer, "at the end of the model", build, "runners return logits", without=_dense, into="nothing")
            for layer, build in (
                ("Softmax", lambda x: L.Softmax()(_dense(x))),
                ("Activation('softmax')", lambda x: L.Activation("softmax")(_dense(x))),
                ("`keras.ops.softmax`", lambda x: K.softmax(_dense(x))),
            )
        ),
    ),
)


def _conv(x: Any) -> Any:
    return L.Conv2D(8, 1, activation="sigmoid", name="conv")(stem(x))


def _noisy(x: Any) -> Any:
    x = L.GaussianDropout(0.5)(L.AlphaDropout(0.5)(L.SpatialDropout2D(0.5)(L.Dropout(0.5)(_conv(x)))))
    return L.ActivityRegularization(0.1)(L.Identity()(L.GaussianNoise(1.0)(x)))


def _sequences(x: Any) -> Any:
    return L.Dense(5, name="dense")(L.Reshape((8,))(L.SpatialDropout1D(0.5)(L.Reshape((1, 8))(vector(x)))))


def _nested(x: Any) -> Any:
    free = KERAS.Input((None, None, 8))
    inner = KERAS.Model(free, L.Conv2D(8, 3, padding="same", activation="sigmoid", name="conv")(free), name="inner")
    return inner(inner(stem(x)))


def _sequential(x: Any) -> Any:
    head = KERAS.Sequential([L.Conv2D(4, 1, activation="relu"), L.GlobalAveragePooling2D(), L.Dense(3)], name="head")
    return head(stem(x))


STRUCTURE = Group(
    "Ignored layers, and nested models",
    "Each call of a layer becomes a layer.",
    (
        Row(
            "Dropout, SpatialDropout2D, AlphaDropout, GaussianDropout, GaussianNoise, Identity, ActivityRegularization",
            "any",
            _noisy,
            without=_conv,
            into="nothing",
        ),
        Row(
            "SpatialDropout1D", "between Reshape((1, n)) and Reshape((n,))", _sequences, without=_dense, into="nothing"
        ),
        Row(
            "Model",
            "functional, called twice; 3x3, 8 channels",
            _nested,
            "layers are named `inner/layer` and `inner~1/layer`",
        ),
        Row("Sequential", "called like a layer: Conv2D, GlobalAveragePooling2D, Dense to 3", _sequential),
    ),
)

ENDS = Group(
    "Ends of models",
    "The CPU computes these, also several, after the last pass.",
    (
        Row(
            "Activation('sigmoid')",
            "of a vector: tags",
            lambda x: L.Activation("sigmoid")(_dense(x)),
            _HOST,
            without=_dense,
            into="nothing",
        ),
        Row(
            "UnitNormalization",
            "of a vector: an embedding",
            lambda x: L.UnitNormalization()(_dense(x)),
            _HOST,
            without=_dense,
            into="nothing",
        ),
        Row("Reshape", "of a map to rows", lambda x: L.Reshape((-1, 4))(stem(x)), _HOST, without=stem, into="nothing"),
        Row(
            "Reshape, Concatenate(axis=1)",
            "rows of several maps, and Activation('sigmoid' or 'softmax'): a detector",
            lambda x: L.Activation("softmax")(_rows(x)),
            _HOST,
            without=_two_maps,
            into="nothing",
        ),
        Row(
            "`keras.ops.argmax`",
            "over the channels of a map: a mask",
            lambda x: K.argmax(stem(x), axis=-1),
            _HOST,
            without=stem,
            into="nothing",
            bound=1.0,
        ),
    ),
)

GROUPS = (VECTORS, ENDS, STRUCTURE)
