"""Splits, slices, and chains of reshapes and transpositions that only rearrange values."""

from __future__ import annotations

from collections.abc import Callable

import keras
import numpy as np
import pytest
from imported import check, cpu_operators

from glsl_infer.errors import ModelError
from glsl_infer.graph import Graph
from glsl_infer.importers.keras import to_graph

L, K = keras.layers, keras.ops
Tensor = keras.KerasTensor


def tail_of(graph: Graph) -> list[str]:
    return [node.op for node in graph.nodes[2:]]


def body(channels: int = 12) -> tuple[Tensor, Tensor]:
    x = keras.Input((6, 4, 3))
    return x, L.Conv2D(channels, 1, activation="relu")(x)


def shuffle_by_layers(y: Tensor) -> Tensor:
    return L.Reshape((6, 4, 12))(L.Permute((1, 2, 4, 3))(L.Reshape((6, 4, 3, 4))(y)))


def shuffle_by_operations(y: Tensor) -> Tensor:
    return K.reshape(K.transpose(K.reshape(y, (-1, 6, 4, 3, 4)), (0, 1, 2, 4, 3)), (-1, 6, 4, 12))


def shuffle_by_swapping(y: Tensor) -> Tensor:
    return K.reshape(K.swapaxes(K.reshape(y, (-1, 6, 4, 3, 4)), 3, 4), (-1, 6, 4, 12))


@pytest.mark.parametrize("shuffle", [shuffle_by_layers, shuffle_by_operations, shuffle_by_swapping])
def test_a_channel_shuffle_by_hand_becomes_a_gather(shuffle: Callable[[Tensor], Tensor]) -> None:
    x, y = body()
    graph = check(x, L.Conv2D(2, 1)(shuffle(y)))
    assert tail_of(graph) == ["channel_gather", "conv2d"]
    assert graph.nodes[2].attrs["channels"] == (0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11)


@pytest.mark.parametrize(
    "order, ops",
    [((0, 1, 3, 2, 4, 5), ["depth_to_space"]), ((0, 1, 4, 2, 5, 3), ["channel_gather", "depth_to_space"])],
)
def test_a_pixel_shuffle_by_hand_becomes_depth_to_space(order: tuple[int, ...], ops: list[str]) -> None:
    x, y = body()
    parts = (2, 2, 3) if len(ops) == 1 else (3, 2, 2)
    y = K.reshape(K.transpose(K.reshape(y, (-1, 6, 4, *parts)), order), (-1, 12, 8, 3))
    assert tail_of(check(x, L.Conv2D(2, 1)(y))) == [*ops, "conv2d"]


def test_space_to_depth_by_hand_becomes_slices() -> None:
    x, y = body(3)
    y = K.reshape(K.transpose(K.reshape(y, (-1, 3, 2, 2, 2, 3)), (0, 1, 3, 2, 4, 5)), (-1, 3, 2, 12))
    assert tail_of(check(x, L.Conv2D(2, 1)(y))) == ["spatial_slice"] * 4 + ["concat_copy", "conv2d"]


def test_a_chain_without_effect_is_dropped() -> None:
    x, y = body()
    y = L.Reshape((6, 4, 12))(L.Reshape((24, 12))(y))
    assert tail_of(check(x, L.Conv2D(2, 1)(y))) == ["conv2d"]


def test_chains_without_an_operator_run_on_the_cpu() -> None:
    x, y = body()
    y = K.reshape(K.transpose(K.reshape(y, (-1, 24, 12)), (0, 2, 1)), (-1, 6, 4, 12))
    assert cpu_operators(keras.Model(x, y))


def test_expanded_and_squeezed_axes_are_dropped() -> None:
    x, y = body()
    pooled = L.GlobalAveragePooling2D()(y)
    gate = K.expand_dims(K.expand_dims(L.Dense(12, activation="sigmoid")(pooled), 1), 1)
    y = K.squeeze(L.GlobalAveragePooling2D(keepdims=True)(y * gate), (1, 2))
    assert tail_of(check(x, L.Dense(3)(y))) == [
        "global_average_pool",
        "dense",
        "binary",
        "global_average_pool",
        "dense",
    ]


@pytest.mark.parametrize("sections", [3, [2, 7]])
@pytest.mark.parametrize("axis", [-1, 3])
def test_a_split_of_channels_becomes_gathers(sections: int | list[int], axis: int) -> None:
    x, y = body()
    a, b, c = K.split(y, sections, axis=axis)
    graph = check(x, L.Concatenate()([c, a, L.Conv2D(3, 1)(b)]))
    gathers = {"channel_gather", "channel_view"}
    assert sum(node.op in gathers for node in graph.nodes) == 3


def test_a_split_of_rows_of_which_a_part_is_not_used() -> None:
    x, y = body()
    _, middle, _ = K.split(y, 3, axis=1)
    assert tail_of(check(x, L.Conv2D(2, 1)(middle))) == ["spatial_slice", "conv2d"]


def test_vectors_are_split_and_sliced() -> None:
    x, y = body()
    a, b = K.split(L.GlobalAveragePooling2D()(y), 2, axis=-1)
    y = L.Concatenate()([b[:, 1:5], a[:, ::-2]])
    assert sorted(tail_of(check(x, L.Dense(2)(y)))) == sorted(
        ["global_average_pool", *["vector_gather"] * 4, "vector_concat", "dense"]
    )


def test_indices_that_make_and_take_axes() -> None:
    x, y = body()
    gate = L.Dense(12, activation="sigmoid")(L.GlobalAveragePooling2D()(y))
    y = (y * gate[:, None, None, :])[:, 2, -1]
    assert tail_of(check(x, L.Dense(3)(y)))[2:] == ["binary", "spatial_slice", "flatten", "dense"]


def test_strided_slices_read_only_their_pixels() -> None:
    x, y = body()
    graph = check(x, y[:, ::2, 1:-1, :])
    assert graph.nodes[-1].attrs["size"] == (3, 2)
    assert tail_of(check(x, y[..., 2:6])) == ["channel_gather"]


@pytest.mark.parametrize(
    "key, message",
    [
        (np.s_[:2, :], "an index .*and ':' for the batch"),
        (np.s_[:, 5:5], "an index that leaves nothing"),
    ],
)
def test_indices_that_are_refused(key: object, message: str) -> None:
    x, y = body()
    with pytest.raises(ModelError, match=message):
        to_graph(keras.Model(x, y[key]))
