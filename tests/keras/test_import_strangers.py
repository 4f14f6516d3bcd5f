"""What models of strangers had: sums of many tensors, channels in another order, resizes that keep the shape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
from imported import check

from glsl_infer.graph import Graph, reference
from glsl_infer.importers.keras import to_graph

L, K = keras.layers, keras.ops
X = keras.Input((8, 6, 3))


def stem(channels: int = 5) -> keras.KerasTensor:
    return L.Conv2D(channels, 3, padding="same", activation="sigmoid")(X)


def operators(graph: Graph) -> list[str]:
    return [node.op for node in graph.nodes if node.op != "input"]


@pytest.mark.parametrize("layer", [L.Add, L.Average])
def test_sums_of_more_tensors_than_a_pass_reads_stay_in_shaders(layer: Callable[[], Any]) -> None:
    graph = check(X, layer()([stem(4) for _ in range(17)]))
    sums = [node for node in graph.nodes if node.op == "add"]
    assert [len(node.inputs) for node in sums] == [8, 8, 3]


def test_channels_in_reverse() -> None:
    assert operators(check(X, K.flip(stem(), -1)))[1:] == ["channel_gather"]
    assert operators(check(X, K.flip(stem(), (1, 3))))[1:] == ["spatial_slice", "channel_gather"]


def test_channels_stacked_one_by_one() -> None:
    blue = [X[..., number] for number in (2, 1, 0)]
    graph = check(X, L.Conv2D(4, 3)(K.stack(blue, axis=-1) - 0.4))
    assert "tensor_concat" not in operators(graph)
    x = stem()
    check(X, K.stack([x[:, :, :, 4], x[:, :, :, -2], x[:, :, :, 4]], axis=3))
    check(X, K.stack([x[:, 1, :, 4], x[:, 2, :, 0]], axis=-1))
    check(X, K.stack([x[..., 0], x[..., 1]], axis=1))


@pytest.mark.parametrize("size", [(4, 6), (9, 4), (16, 12), (5, 5)])
@pytest.mark.parametrize("option", [{"crop_to_aspect_ratio": True}, {"pad_to_aspect_ratio": True, "fill_value": 0.5}])
def test_resizes_that_keep_the_shape(size: tuple[int, int], option: dict[str, Any]) -> None:
    check(X, L.Resizing(*size, **option)(stem()))
    if "fill_value" not in option:
        check(X, K.image.resize(stem(), size, interpolation="nearest", **option))


def test_dense_layers_quantised_to_int8() -> None:
    model = keras.Model(X, L.Dense(4)(L.Dense(16, activation="relu")(L.GlobalAveragePooling2D()(stem()))))
    picture = np.random.default_rng(0).integers(0, 256, (8, 6, 3), np.uint8)
    for layer in model.layers:
        if isinstance(layer, L.Dense):
            layer.quantize("int8")
    found = np.asarray(reference.run(to_graph(model), picture, mode="float"))
    wanted = np.asarray(model(picture[None] / np.float32(255)))[0]
    assert np.abs(found - wanted).max() <= 0.02 * np.abs(wanted).max()  # Keras rounds inputs of both to int8, too
