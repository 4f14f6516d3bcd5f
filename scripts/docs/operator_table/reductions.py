"""Rows of reductions over an entire map or over the channels of a pixel: means, extremes, normalisations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from operator_table.row import Build, Group, K, L, Row, stem, vector


def _of_stem(function: Callable[[Any], Any], channels: int = 8) -> Build:
    return lambda x: function(stem(x, channels))


def _map(name: str, axis: Any, options: str, listed: bool = True) -> Row:
    return Row(
        f"`keras.ops.{name}`",
        f"{options}, keepdims=True; 8 channels",
        _of_stem(lambda y: getattr(K, name)(y, axis=axis, keepdims=True)),
        listed=listed,
    )


def _vector(name: str, listed: bool = True) -> Row:
    pooled = _of_stem(lambda y: getattr(K, name)(y, axis=(1, 2)))
    return Row(f"`keras.ops.{name}`", "axis=(1, 2); 8 channels", pooled, listed=listed)


def _less(name: str, axis: Any) -> Build:
    """Return the builder of a map minus a reduction of that map."""

    def build(x: Any) -> Any:
        y = stem(x)
        return L.Subtract()([y, getattr(K, name)(y, axis=axis, keepdims=True)])

    return build


def _number_row(name: str) -> Row:
    """Return the row of the index of a pixel's largest or smallest channel."""

    def numbers(y: Any) -> Any:
        return L.Rescaling(0.125)(K.cast(getattr(K, name)(y, axis=-1, keepdims=True), "float32"))

    where = "axis=3, keepdims=True, inside"
    return Row(f"`keras.ops.{name}`", where, _of_stem(numbers), "up to 256 channels", bound=1.0)


REDUCTIONS = Group(
    "Reductions",
    "Over rows and columns the result is a vector in 16 bits. Without keepdims, others run on the CPU.",
    (
        *(_vector(name) for name in ("mean", "sum", "max", "min", "std")),
        *(_vector(name, listed=False) for name in ("amax", "amin")),
        Row(
            "`keras.ops.var`",
            "axis=(1, 2); 8 channels",
            lambda x: K.var(L.Rescaling(8.0, name="stem-more")(stem(x)), axis=(1, 2)),
            bound=0.02,
        ),
        *(_map(name, 3, "axis=3") for name in ("mean", "sum", "max", "min")),
        *(_map(name, 1, "axis=1", listed=name == "mean") for name in ("mean", "max", "min")),
        Row("`keras.ops.sum`", "axis=2, keepdims=True, less than the map", _less("sum", 2), listed=False),
        Row("`keras.ops.mean`", "axis=(1, 2, 3), keepdims=True, less than it", _less("mean", (1, 2, 3)), listed=False),
        *(_number_row(name) for name in ("argmax", "argmin")),
        Row(
            "Rescaling",
            "on a vector without a Dense",
            lambda x: L.Rescaling(2.0)(vector(x)),
            listed=False,
        ),
    ),
)


def _inside(layer: Any) -> Build:
    """Return the builder of a layer followed by pooling and a convolution."""

    def build(x: Any) -> Any:
        pooled = L.MaxPooling2D(2, name="stem-pooled")(layer(stem(x)))
        return L.Conv2D(4, 1, activation="sigmoid", name="stem-behind")(pooled)

    return build


_WHOLE = "no weights for each pixel"

NORMALISATIONS = Group(
    "Normalisation by the contents of the map",
    "One pass for each slice: over channels (in `--layout planar` up to 28) it fetches every slice, twice where a mean "
    "is subtracted; over rows and columns five texels, after vectors of means and deviations. An activation after it "
    "costs no pass.",
    (
        Row("LayerNormalization", "over the channels; 8", _of_stem(lambda y: L.LayerNormalization()(y))),
        Row(
            "LayerNormalization",
            "axis=(1, 2, 3), center=False, scale=False",
            _of_stem(lambda y: L.LayerNormalization(axis=(1, 2, 3), center=False, scale=False)(y)),
            _WHOLE,
            listed=False,
        ),
        Row("RMSNormalization", "over the channels; 8", _of_stem(lambda y: L.RMSNormalization()(y))),
        Row("UnitNormalization", "of a map; 8", _inside(lambda y: L.UnitNormalization()(y))),
        Row("GroupNormalization", "4 groups of 8 channels", _of_stem(lambda y: L.GroupNormalization(4)(y))),
        Row("GroupNormalization", "groups=-1: of instances", _of_stem(lambda y: L.GroupNormalization(-1)(y))),
        *(
            Row(
                layer,
                "of a vector; 8 values",
                lambda x, layer=layer: L.Dense(3)(getattr(L, layer)()(vector(x))),
                listed=False,
            )
            for layer in ("LayerNormalization", "RMSNormalization", "UnitNormalization")
        ),
        *(
            Row(f"`keras.ops.{name}`", "8 channels", build, listed=False)
            for name, build in (
                ("layer_normalization", _of_stem(lambda y: K.layer_normalization(y))),
                ("rms_normalization", _of_stem(lambda y: K.rms_normalization(y))),
                ("normalize", _inside(lambda y: K.normalize(y, axis=-1))),
            )
        ),
        Row("Softmax", "over the channels, inside; 8", _inside(lambda y: L.Softmax()(y))),
    ),
)

GROUPS = (REDUCTIONS, NORMALISATIONS)
