"""Rows of sums of feature maps."""

from __future__ import annotations

import importlib
from typing import Any

from operator_table.row import Build, Group, L, Row, stem


def _two(x: Any) -> tuple[Any, Any]:
    return stem(x), stem(x, name="stem-b")


def _scaled(x: Any) -> Any:
    resnet = importlib.import_module("keras.src.applications.inception_resnet_v2")
    return resnet.CustomScaleLayer(0.25)(list(_two(x)))


def _residual(x: Any) -> Any:
    features = stem(x)
    y = L.Conv2D(8, 3, padding="same", name="conv")(features)
    return L.Activation("sigmoid")(L.Add()([features, y]))


def _no_residual(x: Any) -> Any:
    return L.Conv2D(8, 3, padding="same", activation="sigmoid", name="conv")(stem(x))


def _many(count: int) -> Build:
    def build(x: Any) -> Any:
        return L.Activation("sigmoid")(L.Add()([stem(x, name=f"stem-{index}") for index in range(count)]))

    return build


_SHAPES = "equal shapes"


SUMS = Group(
    "Sums",
    "Other sums than residuals are one pass for all slices (or for each, if ranges differ).",
    (
        Row(
            "Add",
            "of a Conv2D without activation and a map: a residual; 8 channels",
            _residual,
            f"{_SHAPES}; nothing else reads the convolution",
            without=_no_residual,
            into="the convolution",
        ),
        Row("Add", "of 2; 8 channels", lambda x: L.Add()(list(_two(x))), _SHAPES),
        Row("Add", "of 5, then an Activation; 8 channels", _many(5), _SHAPES),
        Row("CustomScaleLayer", "of InceptionResNetV2, of 2; 8 channels", _scaled),
    ),
)
