"""Means, sums, extremes and deviations over rows, columns and channels, and the layers that read them."""

from __future__ import annotations

from collections.abc import Callable

import keras
import pytest
from imported import check, cpu_operators

from glsl_infer.errors import ModelError
from glsl_infer.importers.keras import to_graph

L, K = keras.layers, keras.ops


def features(x: keras.KerasTensor) -> keras.KerasTensor:
    return L.Conv2D(6, 3, activation="elu")(x)


@pytest.mark.parametrize("axis", [1, 2, 3, (1, 2), (1, 3), (2, 3), (1, 2, 3), (-3, -2)])
@pytest.mark.parametrize("operation", [K.mean, K.sum, K.max, K.min])
def test_reductions_that_keep_their_axes(operation: Callable, axis: int | tuple[int, ...]) -> None:
    x = keras.Input((7, 6, 3))
    y = features(x)
    check(x, y - operation(y, axis=axis, keepdims=True))


@pytest.mark.parametrize("operation", [K.mean, K.sum, K.max, K.min, K.var, K.std, K.amax, K.amin])
def test_whole_maps_become_vectors(operation: Callable) -> None:
    x = keras.Input((7, 6, 3))
    graph = check(x, L.Dense(3)(operation(features(x), axis=(1, 2))))
    assert len(graph.shapes[graph.output]) == 1


@pytest.mark.parametrize("operation", [K.var, K.std])
def test_spreads_that_keep_their_axes(operation: Callable) -> None:
    x = keras.Input((7, 6, 3))
    y = features(x)
    check(x, y * operation(y, axis=(1, 2), keepdims=True))


@pytest.mark.parametrize("operation", [K.argmax, K.argmin])
def test_the_number_of_a_channel_inside_a_network(operation: Callable) -> None:
    x = keras.Input((7, 6, 3))
    y = features(x)
    graph = check(x, L.Conv2D(2, 1)(K.cast(operation(y, axis=-1, keepdims=True), "float32")))
    assert "channel_argmax" in [node.op for node in graph.nodes]


@pytest.mark.parametrize(
    "reduce, message",
    [
        (lambda y: K.sum(y, axis=(0, 1), keepdims=True), "axis=0; give one axis, not that of the batch"),
    ],
)
def test_unsupported_reductions_are_refused(reduce: Callable, message: str) -> None:
    x = keras.Input((7, 6, 3))
    y = reduce(features(x))
    with pytest.raises(ModelError, match=message):
        to_graph(keras.Model(x, L.Activation("relu")(y)))


@pytest.mark.parametrize("reduce", [lambda y: K.mean(y, axis=-1), lambda y: K.max(y, axis=1)])
def test_tensors_of_two_axes_are_the_cpu_s(reduce: Callable) -> None:
    x = keras.Input((7, 6, 3))
    assert cpu_operators(keras.Model(x, L.Activation("relu")(reduce(features(x)))))
