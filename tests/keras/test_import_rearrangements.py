"""Splits, slices, reshapes, transpositions and windows that only rearrange values, and spatial transformers."""

from __future__ import annotations

from collections.abc import Callable

import keras
import numpy as np
import pytest
from imported import check, check_model, cpu_operators, randomise
from pairwise import each_of

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
    "order, ops", [((0, 1, 3, 2, 4, 5), ["depth_to_space"]), ((0, 1, 4, 2, 5, 3), ["channel_gather", "depth_to_space"])]
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
    [(np.s_[:2, :], "an index .*and ':' for the batch"), (np.s_[:, 5:5], "an index with an empty result")],
)
def test_indices_that_are_refused(key: object, message: str) -> None:
    x, y = body()
    with pytest.raises(ModelError, match=message):
        to_graph(keras.Model(x, y[key]))


def windows(x: keras.KerasTensor, flat: bool) -> keras.KerasTensor:
    """Return the 4 windows of 4x4 pixels of a map of 8x8 pixels and 8 channels."""
    y = K.transpose(K.reshape(x, (-1, 2, 4, 2, 4, 8)), (0, 1, 3, 2, 4, 5))
    return K.reshape(y, (-1, 16, 8)) if flat else K.reshape(K.reshape(y, (-1, 4, 4, 8)), (-1, 16, 8))


def windows_to_map(x: keras.KerasTensor) -> keras.KerasTensor:
    y = K.reshape(K.reshape(x, (-1, 4, 4, 8)), (-1, 2, 2, 4, 4, 8))
    return K.reshape(K.transpose(y, (0, 1, 3, 2, 4, 5)), (-1, 8, 8, 8))


@pytest.mark.parametrize("flat", [True, False])
def test_attention_in_windows(flat: bool) -> None:
    x = keras.Input((8, 8, 3))
    stem = L.Conv2D(8, 3, padding="same", activation="sigmoid")(x)
    y = windows(K.roll(L.LayerNormalization()(stem), (-2, -2), (1, 2)), flat)
    y = L.MultiHeadAttention(2, 4)(y, y)
    check(x, stem + K.roll(windows_to_map(y), (2, 2), (1, 2)))


def test_attention_by_hand_with_a_mask_for_each_window() -> None:
    x = keras.Input((8, 8, 3))
    y = windows(L.Conv2D(8, 3, padding="same", activation="sigmoid")(x), True)
    qkv = K.transpose(K.reshape(L.Dense(24)(y), (-1, 16, 3, 2, 4)), (0, 2, 3, 1, 4))
    q, k, v = qkv[:, 0], qkv[:, 1], qkv[:, 2]
    scores = K.matmul(q * 0.5, K.swapaxes(k, -1, -2))
    bias = np.random.default_rng(0).random((1, 2, 16, 16), np.float32)
    mask = np.random.default_rng(1).random((1, 4, 1, 16, 16), np.float32)
    scores = K.reshape(K.reshape(scores + bias, (-1, 4, 2, 16, 16)) + mask, (-1, 2, 16, 16))
    y = K.matmul(K.softmax(scores, axis=-1), v)
    y = K.reshape(K.transpose(y, (0, 2, 1, 3)), (-1, 16, 8))
    check(x, windows_to_map(L.Dense(8)(L.LayerNormalization()(y))))


def test_einsum() -> None:
    x = keras.Input((8, 8, 3))
    y = windows(L.Conv2D(8, 3, padding="same", activation="sigmoid")(x), True)
    check(x, windows_to_map(K.einsum("bij,bkj->bik", y, y) @ np.eye(16, 8, dtype=np.float32)))


def test_windows_as_output_and_long_sequences_are_refused() -> None:
    x = keras.Input((8, 8, 3))
    y = windows(L.Conv2D(8, 3, padding="same", activation="sigmoid")(x), True)
    with pytest.raises(ModelError, match="an output with 4 parts of each image in its batch"):
        to_graph(keras.Model(x, y))
    pixels = L.Conv1D(4, 3, padding="same")(K.reshape(L.Conv2D(8, 1)(x), (-1, 1, 4)))
    with pytest.raises(ModelError, match=r"^layer 'conv1d.*': a Conv1D over 128 steps; give it at most 64$"):
        to_graph(keras.Model(x, K.reshape(pixels, (-1, 8, 8, 8))))


@pytest.mark.parametrize(
    "unpack",
    [
        lambda qkv: (qkv[0], qkv[1], qkv[2]),
        K.unstack,
        lambda qkv: tuple(K.squeeze(part, 0) for part in K.split(qkv * 0.5, 3, axis=0)),
    ],
)
def test_query_key_and_value_in_front_of_the_windows(unpack: Callable) -> None:
    x = keras.Input((8, 8, 3))
    y = L.Dense(24)(windows(L.Conv2D(8, 3, padding="same")(x), flat=True))
    q, k, v = unpack(K.transpose(K.reshape(y, (-1, 16, 3, 2, 4)), (2, 0, 3, 1, 4)))
    y = K.matmul(K.softmax(K.matmul(q, K.transpose(k, (0, 1, 3, 2))), axis=-1), v)
    check(x, windows_to_map(K.reshape(K.transpose(y, (0, 2, 1, 3)), (-1, 16, 8))))


X = keras.Input((8, 6, 3), name="shared")  # a name unlike any later layer's
TURN = np.array([[0.83, 0.31, 0.72, -0.21, 1.13, -0.64, 0.011, -0.017]], np.float32)


@each_of(("mode", ["bilinear", "nearest"]), ("fill", ["constant", "nearest", "reflect"]))
def test_constant_transforms(mode: str, fill: str) -> None:
    y = L.Conv2D(4, 3, padding="same", activation="sigmoid")(X)
    check(X, L.Conv2D(2, 3)(K.image.affine_transform(y, TURN, mode, fill)))


def test_a_transform_that_the_network_computes() -> None:
    y = L.Conv2D(4, 3, padding="same", activation="sigmoid")(X)
    rotation = L.Dense(8, activation="tanh")(L.GlobalAveragePooling2D()(y)) * 0.05 + TURN
    check(X, L.Conv2D(2, 3)(K.image.affine_transform(y, rotation)))


def test_unsupported_fill_modes_are_refused() -> None:
    with pytest.raises(ModelError, match="'wrap'"):
        to_graph(keras.Model(X, K.image.affine_transform(X, TURN, fill_mode="wrap")))


def names(model: keras.Model) -> list[str]:
    return [node.name for node in to_graph(model).nodes]


def test_a_functional_and_a_sequential_model_inside() -> None:
    free = keras.Input((None, None, 3))  # its size depends on the caller
    inner = keras.Model(
        free, L.Conv2D(4, 3, strides=2, padding="same", activation="relu", name="conv")(free), name="base"
    )
    x = keras.Input((7, 8, 3), name="pixels")
    head = keras.Sequential([L.Conv2D(2, 1, name="conv"), L.GlobalAveragePooling2D(name="pool")], name="head")
    y = head(inner(L.Conv2D(3, 1, name="conv")(x)))
    check(x, y)
    expected = ["pixels", "conv", "base/conv", "base/conv-activation", "head/conv", "head/pool"]
    assert names(keras.Model(x, y)) == expected


def test_augmentation_in_front_of_a_sequential_model() -> None:
    augment = keras.Sequential([L.RandomFlip(), L.RandomRotation(0.1)], name="augment")
    layers = [keras.Input((6, 6, 3)), augment, L.Rescaling(1 / 255), L.Conv2D(4, 3), L.Flatten(), L.Dense(2)]
    graph = check_model(randomise(keras.Sequential(layers), 1), fed=(0.0, 255.0))
    assert [node.op for node in graph.nodes] == ["input", "conv2d", "flatten_rows", "dense"]


def test_a_model_that_is_called_twice_and_models_three_deep() -> None:
    a = keras.Input((6, 6, 3))
    deep = keras.Model(a, L.ReLU(name="relu")(a), name="deep")
    b = keras.Input((6, 6, 3))
    middle = keras.Model(b, deep(L.Conv2D(3, 3, padding="same", name="conv")(b)), name="middle")
    x = keras.Input((6, 6, 3), name="pixels")
    y = middle(middle(x))
    check(x, y)
    expected = ["pixels", "middle/conv", "middle/deep/relu", "middle~1/conv", "middle~1/deep/relu"]
    assert names(keras.Model(x, y)) == expected


def test_an_inner_model_can_have_several_inputs_and_outputs() -> None:
    image, other = keras.Input((4, 4, 2)), keras.Input((4, 4, 2))
    inner = keras.Model([image, other], [L.Concatenate()([other, image]), L.Add()([image, other]), image], name="inner")
    x = keras.Input((4, 4, 3))
    left, middle, right = inner([L.Conv2D(2, 1)(x), L.Conv2D(2, 1)(x)])
    check(x, L.Concatenate()([right, left, middle]))


def test_equal_names_get_numbers() -> None:
    x = keras.Input((4, 4, 3), name="pixels")
    y = L.Conv2D(3, 1, activation="relu", name="conv")(x)
    shared = L.Conv2D(3, 1, activation="relu", name="conv-activation")
    check(x, shared(shared(y)))
    result = names(keras.Model(x, shared(shared(y))))
    assert result[:3] == ["pixels", "conv", "conv-activation"]
    assert len(set(result)) == 7
