"""Rows of reductions over an entire map or over the channels of a pixel: means, extremes, normalisations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from operator_table.row import Build, Group, K, L, Row, stem


def _of_stem(function: Callable[[Any], Any], channels: int = 8) -> Build:
    return lambda x: function(stem(x, channels))


def _map(name: str, axis: Any, options: str) -> Row:
    return Row(
        f"`keras.ops.{name}`",
        f"{options}, keepdims=True; 8 channels",
        _of_stem(lambda y: getattr(K, name)(y, axis=axis, keepdims=True)),
    )


def _vector(name: str) -> Row:
    pooled = _of_stem(lambda y: getattr(K, name)(y, axis=(1, 2)))
    return Row(f"`keras.ops.{name}`", "axis=(1, 2); 8 channels", pooled)


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
        Row(
            "`keras.ops.var`",
            "axis=(1, 2); 8 channels",
            lambda x: K.var(L.Rescaling(8.0, name="stem-more")(stem(x)), axis=(1, 2)),
            bound=0.02,
        ),
        *(_map(name, 3, "axis=3") for name in ("mean", "sum", "max", "min")),
        _map("mean", 1, "axis=1"),
        *(_number_row(name) for name in ("argmax", "argmin")),
    ),
)


def _inside(layer: Any) -> Build:
    """Return the builder of a layer followed by pooling and a convolution."""

    def build(x: Any) -> Any:
        pooled = L.MaxPooling2D(2, name="stem-pooled")(layer(stem(x)))
        return L.Conv2D(4, 1, activation="sigmoid", name="stem-behind")(pooled)

    return build


NORMALISATIONS = Group(
    "Normalisation by the contents of the map",
    "One pass for each slice: over channels (in `--layout planar` up to 28) it fetches every slice, twice where a mean "
    "is subtracted; over rows and columns five texels, after vectors of means and deviations. An activation after it "
    "costs no pass.",
    (
        Row("LayerNormalization", "over the channels; 8", _of_stem(lambda y: L.LayerNormalization()(y))),
        Row("RMSNormalization", "over the channels; 8", _of_stem(lambda y: L.RMSNormalization()(y))),
        Row("UnitNormalization", "of a map; 8", _inside(lambda y: L.UnitNormalization()(y))),
        Row("GroupNormalization", "4 groups of 8 channels", _of_stem(lambda y: L.GroupNormalization(4)(y))),
        Row("GroupNormalization", "groups=-1: of instances", _of_stem(lambda y: L.GroupNormalization(-1)(y))),
        Row("Softmax", "over the channels, inside; 8", _inside(lambda y: L.Softmax()(y))),
    ),
)

GROUPS = (REDUCTIONS, NORMALISATIONS)
