"""Rows of elementwise operators: activations, batch normalisation, sums, constants."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from operator_table.row import Build, Group, K, L, Row, stem

_FUSED = "that has no activation and no other reader"


def _layer_scale(x: Any) -> Any:
    convnext = importlib.import_module("keras.src.applications.convnext")
    return convnext.LayerScale(0.5, 8)(stem(x))


def plain(x: Any) -> Any:
    """Return a convolution without an activation."""
    return L.Conv2D(8, 1, name="conv")(stem(x))


def _fused(options: str, layer: str, activation: Any, restrictions: str = "") -> Row:
    """Return the row of an activation after a convolution."""
    return Row(
        layer,
        ", ".join(filter(None, (options, "fused"))),
        lambda x: activation()(plain(x)),
        restrictions,
        without=plain,
        into="the layer before",
    )


def _pool(x: Any) -> Any:
    return L.MaxPooling2D(2, name="stem-max")(stem(x))


def _alone(options: str, layer: str, activation: Any, restrictions: str = "") -> Row:
    """Return the row of an activation after an operator without fusion."""
    how = ", ".join(filter(None, (options, "alone")))
    return Row(layer, how, lambda x: activation()(_pool(x)), restrictions)


def _each(make_row: Callable[..., Row], names: Sequence[str]) -> list[Row]:
    """Return a row for each of some functions of ``keras.activations``."""
    return [make_row(name, "Activation", partial(_function, name)) for name in names]


def _function(name: str) -> Any:
    return L.Activation(name)


def _prelu() -> Any:
    return L.PReLU(alpha_initializer="random_normal", shared_axes=[1, 2])


ACTIVATIONS = Group(
    "Activations",
    "*Fused*, after a convolution (and its batch normalisation and residual), an addition or a dense layer, an "
    "activation costs no pass. *Alone* it is one, of one fetch; where slopes or ranges differ between channels, each "
    "slice may be a draw. Parameters may have any values.",
    (
        _fused("sigmoid", "Activation", lambda: L.Activation("sigmoid")),
        _fused("hard_sigmoid", "Activation", lambda: L.Activation("hard_sigmoid")),
        _fused("of glsl-infer", "PiecewiseLinearSigmoid", lambda: L.PiecewiseLinearSigmoid()),
        _fused("of glsl-infer", "LearnableSigmoid", lambda: L.LearnableSigmoid()),
        _fused("of glsl-infer", "ClippedLinear", lambda: L.ClippedLinear(1 / 6)),
        _fused("relu", "Activation", lambda: L.Activation("relu")),
        _fused("relu6", "Activation", lambda: L.Activation("relu6")),
        _fused("linear", "Activation", lambda: L.Activation("linear")),
        *_each(_fused, ("tanh", "softsign", "hard_silu", "silu", "gelu", "mish", "elu", "selu", "softplus")),
        *_each(_fused, ("log_sigmoid", "exponential")),
        *_each(_fused, ("celu", "hard_shrink", "soft_shrink", "sparse_plus", "sparse_sigmoid", "squareplus")),
        *_each(_fused, ("tanh_shrink", "hard_tanh")),
        _alone("0.5, 0.25", "`keras.ops.threshold`", lambda: lambda y: K.threshold(y, 0.5, 0.25)),
        _fused("", "ReLU", lambda: L.ReLU()),
        _fused("max_value=6", "ReLU", lambda: L.ReLU(6.0)),
        _fused("max_value=0.5", "ReLU", lambda: L.ReLU(0.5)),
        _fused("max_value=2, negative_slope=0.25, threshold=0.5", "ReLU", lambda: L.ReLU(2.0, 0.25, 0.5)),
        _fused("negative_slope=0.2", "LeakyReLU", lambda: L.LeakyReLU(0.2)),
        _fused("alpha=0.5", "ELU", lambda: L.ELU(0.5)),
        _fused("shared_axes=[1, 2]", "PReLU", _prelu),
        _alone("sigmoid", "Activation", lambda: L.Activation("sigmoid")),
        _alone("hard_sigmoid", "Activation", lambda: L.Activation("hard_sigmoid")),
        *_each(_alone, ("tanh", "gelu", "silu", "softplus", "hard_silu")),
        _alone("shared_axes=[1, 2]", "PReLU", _prelu),
    ),
)


def _more(x: Any) -> Any:
    """Return a map of values from 0.25 to 1."""
    return K.clip(_pool(x), 0.25, 1.0)


def _of_more(text: str, function: Callable[[Any], Any], restrictions: str = "") -> Row:
    """Return the row of a function with undefined or infinite values at 0."""
    return Row(text, "alone", lambda x: function(_more(x)), restrictions)


_NEAR_0 = "at least 2^-40"

POWERS = Group(
    "Powers, roots and limits",
    "Also activations.",
    (
        _fused("", "`abs(x)`", lambda: abs),
        _fused("", "`x ** 2`", lambda: lambda y: y**2),
        _alone("", "`keras.ops.absolute`", lambda: K.absolute),
        _alone("", "`keras.ops.square`", lambda: K.square),
        _alone("", "`keras.ops.sin`", lambda: K.sin),
        _alone("", "`keras.ops.cos`", lambda: K.cos),
        _alone("", "`keras.ops.sqrt`", lambda: K.sqrt, "0 of negative numbers"),
        _alone("", "`keras.ops.clip`", lambda: lambda y: K.clip(y, 0.25, 0.75)),
        _alone("", "`keras.ops.maximum(x, 0.25)`", lambda: lambda y: K.maximum(y, 0.25)),
        _alone("", "`keras.ops.minimum(x, 0.5)`", lambda: lambda y: K.minimum(y, 0.5)),
        _alone("3", "`keras.ops.power`", lambda: lambda y: K.power(y, 3), "a number from -2 to 8, not 0"),
        _alone("1.5", "`x ** y`", lambda: lambda y: y**1.5, "0 of negative numbers if y has a fraction"),
        _of_more("`keras.ops.rsqrt`", lambda y: K.rsqrt(y), _NEAR_0),
        _of_more("`keras.ops.reciprocal`", lambda y: K.reciprocal(y), _NEAR_0),
        _of_more("`2 / x`", lambda y: 2.0 / y, _NEAR_0),
        _of_more("`keras.ops.log`", lambda y: K.log(y), _NEAR_0),
        _of_more("`keras.ops.log1p`", lambda y: K.log1p(y)),
        _of_more("`keras.ops.expm1`", lambda y: K.expm1(y)),
    ),
)


def _folded(layer: str, options: str, build: Build, restrictions: str = _FUSED) -> Row:
    """Return the row of a scale and an offset after a convolution; a sigmoid follows, whose range needs no images."""
    return Row(
        layer,
        options,
        lambda x: L.Activation("sigmoid")(build(plain(x))),
        restrictions,
        without=lambda x: L.Activation("sigmoid")(plain(x)),
        into="the layer before",
    )


def _valid(x: Any) -> Any:
    """Return a convolution without padding."""
    return L.Conv2D(8, 3, activation="sigmoid", name="conv")(x)


def _in_front(layer: str, options: str, build: Build) -> Row:
    """Return the row of a scale and an offset before a convolution."""
    return Row(
        layer,
        options,
        lambda x: _valid(build(stem(x))),
        "nothing else reads it",
        without=lambda x: _valid(stem(x)),
        into="the next layer",
    )


_BEFORE = "in front of a convolution that does not pad"
_AFTER = "after a convolution or a Dense"
_SCALES = [0.5, 1.0, 1.5, 2.0, -0.5, -1.0, 0.25, 3.0]

AFFINE = Group(
    "Batch normalisation and constants",
    "Behind a convolution or a dense layer, or in front of one that does not pad, these change its weights. Elsewhere "
    "each is a 1x1 convolution. Constants that differ between pixels are a map.",
    (
        _folded("BatchNormalization", _AFTER, lambda y: L.BatchNormalization()(y)),
        _in_front("BatchNormalization", _BEFORE, lambda y: L.BatchNormalization()(y)),
        Row("BatchNormalization", "alone; 8 channels", lambda x: L.BatchNormalization()(stem(x))),
        _folded("Rescaling", _AFTER, lambda y: L.Rescaling(0.5, 0.25)(y)),
        _in_front("Rescaling", _BEFORE, lambda y: L.Rescaling(0.5, 0.25)(y)),
        Row("Rescaling", "alone; 8 channels", lambda x: L.Rescaling(_SCALES, 0.5)(stem(x))),
        Row("LayerScale", "alone; 8 channels", _layer_scale),
        _folded("`x * 2`, `2 * x`", _AFTER, lambda y: y * 2.0, "and `+ - /`"),
        _folded("`-x`", _AFTER, lambda y: -y),
    ),
)


GROUPS = (ACTIVATIONS, POWERS, AFFINE)
