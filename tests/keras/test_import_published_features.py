"""Features of published models: sums of many tensors, reordered channels, resizes that keep the shape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
from imported import check
from pairwise import each_of

from glsl_infer.compiler.ranges import data_free
from glsl_infer.errors import ModelError
from glsl_infer.graph import Graph, reference
from glsl_infer.importers.keras import to_graph

L, K = keras.layers, keras.ops
X = keras.Input((8, 6, 3), name="shared")  # a name unlike any later layer's


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
    blue = [X[..., channel] for channel in (2, 1, 0)]
    graph = check(X, L.Conv2D(4, 3)(K.stack(blue, axis=-1) - 0.4))
    assert "tensor_concat" not in operators(graph)
    x = stem()
    check(X, K.stack([x[:, :, :, 4], x[:, :, :, -2], x[:, :, :, 4]], axis=3))
    check(X, K.stack([x[:, 1, :, 4], x[:, 2, :, 0]], axis=-1))
    check(X, K.stack([x[..., 0], x[..., 1]], axis=1))


@each_of(
    ("size", [(4, 6), (9, 4), (16, 12), (5, 5)]),
    ("option", [{"crop_to_aspect_ratio": True}, {"pad_to_aspect_ratio": True, "fill_value": 0.5}]),
)
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
    values = np.asarray(reference.run(to_graph(model), picture, mode="float"))
    expected = np.asarray(model(picture[None] / np.float32(255)))[0]
    assert np.abs(values - expected).max() <= 0.02 * np.abs(expected).max()  # Keras rounds inputs of both to int8, too


@pytest.mark.parametrize("strides", [1, 2, (3, 2)])
def test_softmax_of_a_transposed_convolution_is_over_channels(strides: Any) -> None:
    for kernel, activation in ((3, "softmax"), (2, "log_softmax")):
        y = L.Conv2DTranspose(3, kernel, strides=strides, padding="same", activation=activation)(stem())
        check(X, L.Conv2D(2, 1)(y))


@pytest.mark.parametrize(
    "before",
    [
        lambda x: L.Rescaling(1 / 255)(L.CenterCrop(6, 4)(L.Resizing(8, 6, crop_to_aspect_ratio=True)(x))),
        lambda x: K.image.resize(x, (5, 4), interpolation="bicubic") / 127.5 - 1.0,
        lambda x: L.Rescaling(1 / 255)(L.MaxPooling2D(2)(L.ZeroPadding2D(1)(x))),
    ],
)
def test_input_range_is_recognised_when_resizing_precedes_rescaling(before: Callable[[Any], Any]) -> None:
    x = keras.Input((12, 9, 3))
    check(x, L.Conv2D(4, 3)(before(x)), fed=(0.0, 255.0))


@pytest.mark.parametrize("dtype", ["uint8", "int32"])
def test_pictures_of_integers_are_bytes(dtype: str) -> None:
    x = keras.Input((8, 6, 3), dtype=dtype)
    check(x, L.Conv2D(4, 3)(K.cast(x, "float32") * 0.1), fed=(0.0, 255.0))
    graph = to_graph(keras.Model(x, L.Conv2D(4, 3)(K.cast(x, "float32"))), (0.0, 1.0))
    assert graph.inputs[0].attrs["scales"] == (1.0,)


def test_spectral_normalization_imports_as_its_inner_layer() -> None:
    y = L.SpectralNormalization(L.Conv2D(5, 4, strides=2, padding="same", activation="relu"))(stem())
    graph = check(X, L.SpectralNormalization(L.Dense(3))(L.Flatten()(y)))
    assert operators(graph) == ["conv2d", "conv2d", "flatten_rows", "dense"]
    rows = L.Reshape((12, 20))(stem())
    check(X, L.SpectralNormalization(L.Dense(4))(rows))
    check(X, L.SpectralNormalization(L.Conv1D(4, 3, padding="same"))(rows))


@pytest.mark.parametrize(
    "norm",
    [
        L.UnitNormalization(),
        L.UnitNormalization(axis=1),
        L.UnitNormalization(axis=(1, 2)),
        L.RMSNormalization(),
        L.GroupNormalization(2),
        L.GroupNormalization(-1, scale=False),
        lambda x: K.normalize(x, axis=1),
    ],
)
def test_norms_of_sequences(norm: Callable[[Any], Any]) -> None:
    check(X, L.Dense(3)(norm(L.Reshape((24, 10))(stem()))))


def test_unit_norms_of_a_map_over_several_axes() -> None:
    check(X, L.UnitNormalization(axis=(1, 2, 3))(stem()) + K.normalize(stem(), axis=2))


def test_data_free_ranges_of_maps_weighted_by_a_vector_element() -> None:
    weights = L.Dense(2, activation="softmax")(L.GlobalAveragePooling2D()(stem()))
    parts = [L.BatchNormalization()(stem()) * K.reshape(weights[:, index], (-1, 1, 1, 1)) for index in range(2)]
    graph = check(X, L.Conv2D(3, 1)(L.Add()(parts)))
    data_free.from_norms(graph)  # does not raise


MATRIX = np.random.default_rng(0).normal(0.0, 0.5, (5, 4)).astype(np.float32)


@pytest.mark.parametrize(
    "multiply",
    [
        lambda x: K.matmul(x, MATRIX),
        lambda x: K.dot(x, MATRIX),
        lambda x: K.tensordot(x, MATRIX, axes=1),
        lambda x: K.tensordot(x, MATRIX.T, axes=[[-1], [1]]),
        lambda x: K.einsum("bhwc,dc->bhwd" if len(x.shape) == 4 else "bc,dc->bd", x, MATRIX.T),
    ],
)
def test_products_with_a_constant_matrix_stay_in_shaders(multiply: Callable[[Any], Any]) -> None:
    assert operators(check(X, L.Conv2D(3, 3)(multiply(stem())))) == ["conv2d", "conv2d", "conv2d"]
    assert operators(check(X, multiply(L.GlobalAveragePooling2D()(stem()))))[1:] == ["global_average_pool", "dense"]


def test_sequences_times_a_constant_matrix() -> None:
    rows = L.Reshape((12, 20))(stem())
    tall_matrix = np.tile(MATRIX, (4, 1))
    check(X, K.tensordot(rows, tall_matrix, axes=1) + K.dot(rows, tall_matrix))
    with pytest.raises(ModelError, match="multiply the last axis of a tensor by a constant"):
        to_graph(keras.Model(X, K.tensordot(stem(), np.ones((6, 2)), axes=[[2], [0]])))


@pytest.mark.parametrize("sides", [{"top": 1, "left": 2}, {"bottom": 1, "left": 2}, {"top": 1, "right": 0}])
def test_pictures_cut_and_padded(sides: dict[str, int]) -> None:
    croppings = {f"{side}_cropping": count for side, count in sides.items()}
    padded = {f"{side}_padding": count for side, count in sides.items()}
    y = K.image.crop_images(stem(), **croppings, target_height=5, target_width=3)
    check(X, L.Conv2D(3, 3)(K.image.pad_images(y, **padded, target_height=9, target_width=8)))
