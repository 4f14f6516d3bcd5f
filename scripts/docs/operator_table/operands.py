"""Rows of operations on two tensors: products, differences, extremes, gates."""

from __future__ import annotations

from typing import Any

from operator_table.row import Build, Group, K, L, Row, stem


def _two(join: Any, channels: int = 8) -> Build:
    return lambda x: join([stem(x, channels), stem(x, channels, name="stem-b")])


def _operator(join: Any) -> Build:
    return lambda x: join(stem(x), stem(x, name="stem-b"))


def _gate(x: Any) -> Any:
    features = stem(x)
    gate = L.GlobalAveragePooling2D(name="stem-pool")(features)
    gate = L.Reshape((1, 1, 8), name="stem-shape")(L.Dense(8, activation="sigmoid", name="stem-gate")(gate))
    return L.Multiply()([features, gate])


OPERANDS = Group(
    "Two tensors, value by value",
    "One pass for all slices. Axes of length 1 are broadcast, as in NumPy.",
    (
        Row("Multiply", "two maps; 8 channels", _two(lambda parts: L.Multiply()(parts))),
        Row("Multiply", "a map and a gate for each channel", _gate),
        Row("Subtract", "two maps; 8 channels", _two(lambda parts: L.Subtract()(parts))),
        Row("Maximum", "two maps; 8 channels", _two(lambda parts: L.Maximum()(parts))),
        Row("Minimum", "two maps; 8 channels", _two(lambda parts: L.Minimum()(parts))),
        Row("Average", "two maps; 8 channels", _two(lambda parts: L.Average()(parts)), "a sum, then a pass"),
        Row("Add", "a map of 8 channels and one of 1", lambda x: L.Add()([stem(x), stem(x, 1, name="stem-b")])),
        Row("`keras.ops.logaddexp`", "two maps; 8 channels", _operator(lambda a, b: K.logaddexp(a, b))),
        Row("`x / y`", "two maps; 8 channels", _operator(lambda a, b: a / (b + 1.0)), "y must not be 0"),
    ),
)

GROUPS = (OPERANDS,)
