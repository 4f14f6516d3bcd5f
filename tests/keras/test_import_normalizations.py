"""Normalisations by the statistics of the map itself, and softmax inside a network."""

from __future__ import annotations

from collections.abc import Callable

import keras
import numpy as np
import pytest
from imported import check, cpu_operators

from glsl_infer.errors import ModelError
from glsl_infer.importers.keras import to_graph

L, K = keras.layers, keras.ops


def features(x: keras.KerasTensor) -> keras.KerasTensor:
    return L.Conv2D(6, 3, activation="elu")(x)


LAYERS: dict[str, Callable[[], keras.layers.Layer]] = {
    "layer": L.LayerNormalization,
    "layer, no weights": lambda: L.LayerNormalization(center=False, scale=False, epsilon=0.1),
    "layer, whole map": lambda: L.LayerNormalization(axis=(1, 2, 3), center=False, scale=False),
    "rms": L.RMSNormalization,
    "group": lambda: L.GroupNormalization(3),
    "group, one": lambda: L.GroupNormalization(1, scale=False),
    "instance": lambda: L.GroupNormalization(-1),
    "unit": L.UnitNormalization,
}


@pytest.mark.parametrize("name", sorted(LAYERS))
def test_each_layer_becomes_a_fused_norm(name: str) -> None:
    x = keras.Input((7, 6, 3))
    graph = check(x, L.ReLU()(LAYERS[name]()(features(x))))
    assert graph.by_name[graph.output].op in ("channel_norm", "map_norm")  # the activation is fused


@pytest.mark.parametrize("layer", [L.LayerNormalization, L.RMSNormalization, L.UnitNormalization])
def test_layers_of_vectors(layer: Callable) -> None:
    x = keras.Input((7, 6, 3))
    graph = check(x, L.Dense(3)(layer()(L.GlobalAveragePooling2D()(features(x)))))
    assert "vector_norm" in [node.op for node in graph.nodes]


@pytest.mark.parametrize(
    "operation",
    [
        K.layer_normalization,
        K.rms_normalization,
        lambda y: K.layer_normalization(y, np.full(6, 2.0, "float32"), np.full(6, 0.5, "float32")),
        lambda y: K.normalize(y, axis=-1),
    ],
)
def test_each_operation_equals_keras(operation: Callable) -> None:
    x = keras.Input((7, 6, 3))
    check(x, L.Conv2D(4, 1)(operation(features(x))))


@pytest.mark.parametrize("soften", [L.Softmax(), L.Activation("softmax"), K.softmax])
def test_softmax_inside_a_network(soften: Callable) -> None:
    x = keras.Input((7, 6, 3))
    graph = check(x, L.Conv2D(4, 1)(L.MaxPooling2D(2)(soften(features(x)))))
    assert [node.op for node in graph.nodes] == ["input", "conv2d", "channel_softmax", "max_pool", "conv2d"]


@pytest.mark.parametrize(
    "layer, message",
    [
        (lambda: lambda y: K.normalize(y, axis=-1, order=1), "a normalisation of order 1; use order=2"),
    ],
)
def test_unsupported_normalisations_are_refused(layer: Callable, message: str) -> None:
    x = keras.Input((7, 6, 3))
    y = L.Conv2D(4, 1)(layer()(features(x)))
    with pytest.raises(ModelError, match=message):
        to_graph(keras.Model(x, y))


@pytest.mark.parametrize(
    "layer",
    [
        lambda: L.LayerNormalization(axis=1),
        lambda: L.UnitNormalization(axis=1),
        lambda: L.LayerNormalization(axis=(1, 2, 3), gamma_initializer="random_normal"),
    ],
)
def test_normalisations_over_other_axes_run_on_the_cpu(layer: Callable) -> None:
    x = keras.Input((7, 6, 3))
    assert cpu_operators(keras.Model(x, L.Conv2D(4, 1)(layer()(features(x)))))
