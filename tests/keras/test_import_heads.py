"""Heads on 1x1 maps, several inputs and outputs, and the tails of outputs."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import pytest
from imported import check, close, randomise
from pairwise import pairs_of

from glsl_infer.compiler.build import build
from glsl_infer.errors import InputError, ModelError
from glsl_infer.graph import reference
from glsl_infer.graph.picture import CENTER_CROP, CENTER_SQUARE, LETTERBOX
from glsl_infer.importers.keras import IoOptions, to_graph

L = keras.layers


def body() -> tuple[keras.KerasTensor, keras.KerasTensor]:
    x = keras.Input((6, 6, 3))
    return x, L.Conv2D(8, 3, activation="relu")(x)


def tail_of(graph) -> list[str]:
    return [node.op for node in graph.nodes[2:]]


@pytest.mark.parametrize("kernel, padding", [(1, "same"), (1, "valid"), (3, "same"), ((2, 5), "same")])
@pytest.mark.parametrize("groups", [1, 4])
def test_the_head_of_mobilenet(kernel, padding, groups) -> None:
    x, y = body()
    y = L.Dropout(0.5)(L.GlobalAveragePooling2D(keepdims=True)(y))
    y = L.Conv2D(4, kernel, padding=padding, groups=groups, name="predictions")(y)
    graph = check(x, L.Softmax()(L.Reshape((4,))(y)))
    assert tail_of(graph) == ["global_average_pool", "dense"]
    assert graph.output == "predictions"


def test_elementwise_layers_move_to_the_vector() -> None:
    x, y = body()
    y = L.Rescaling(2.0, 1.0)(L.Conv2D(6, 1)(L.Reshape((1, 1, 8))(L.GlobalAveragePooling2D()(y))))
    y = L.ReLU()(L.BatchNormalization()(y))
    y = L.Dense(5, activation="relu")(y)
    y = L.DepthwiseConv2D(1)(L.GaussianNoise(1.0)(y))
    assert tail_of(check(x, L.Activation("softmax")(L.Flatten()(y)))) == ["global_average_pool"] + ["dense"] * 3


def test_softmax_before_the_last_reshape() -> None:
    x, y = body()
    y = L.Conv2D(4, 1, activation="softmax")(L.GlobalAveragePooling2D(keepdims=True)(y))
    assert tail_of(check(x, L.Reshape((-1,))(y))) == ["global_average_pool", "dense"]


@pytest.mark.parametrize(
    "flat", [L.Flatten(), L.Reshape((8,)), L.Reshape((-1,)), lambda y: keras.ops.reshape(y, (-1, 8))]
)
def test_a_map_of_one_pixel_is_flattened(flat) -> None:
    x = keras.Input((4, 4, 3))
    y = flat(L.Conv2D(8, 4)(x))
    assert tail_of(check(x, L.Dense(3)(L.Dense(5, activation="relu")(y)))) == ["flatten", "dense", "dense"]


def test_a_map_that_is_flattened_and_unflattened_stays_a_map() -> None:
    x = keras.Input((4, 4, 3))
    y = L.Reshape((1, 1, 8))(L.Flatten()(L.Conv2D(8, 4)(x)))
    assert tail_of(check(x, L.Conv2D(4, 1)(y))) == ["conv2d"]


def test_a_second_global_pooling_is_dropped() -> None:
    x, y = body()
    y = L.GlobalAveragePooling2D()(L.GlobalAveragePooling2D(keepdims=True)(y))
    assert tail_of(check(x, y)) == ["global_average_pool"]


def test_other_reshapes_go_by_way_of_vectors() -> None:
    x, y = body()
    assert tail_of(check(x, L.Reshape((2, 8, 8), name="other")(y))) == ["flatten", "vector_map"]
    odd = L.Reshape((2, 8, 3))(L.Conv2D(3, 1)(y))
    assert tail_of(check(x, odd)) == ["conv2d", "flatten_rows", "vector_gather", "vector_map"]
    y = L.Reshape((2, 2, 2))(L.GlobalAveragePooling2D()(y))
    assert tail_of(check(x, L.Conv2D(4, 2)(y))) == ["global_average_pool", "vector_map", "conv2d"]


def test_a_generator_and_an_autoencoder() -> None:
    x, y = body()
    y = L.Dense(6, activation="tanh")(L.Flatten()(y))
    y = L.LeakyReLU(0.2)(L.BatchNormalization()(L.Dense(3 * 3 * 10, use_bias=False)(y)))
    y = L.UpSampling2D()(L.Reshape((3, 3, 10))(y))
    assert tail_of(check(x, L.Conv2D(3, 3, activation="sigmoid")(y))) == [
        "flatten_rows",
        "dense",
        "dense",
        "vector_map",
        "upsample_nearest",
        "conv2d",
    ]


def test_softmax_between_dense_layers() -> None:
    x, y = body()
    y = L.Dense(4, activation="softmax")(L.GlobalAveragePooling2D()(y))
    assert tail_of(check(x, L.Dense(2)(y))) == ["global_average_pool", "dense", "vector_softmax", "dense"]


@pytest.mark.parametrize(
    "layer",
    [
        L.LayerNormalization(),
        L.LayerNormalization(center=False, scale=False),
        L.RMSNormalization(),
        L.UnitNormalization(),
    ],
)
def test_normalised_vectors(layer: keras.Layer) -> None:
    x, y = body()
    y = L.Activation("tanh")(layer(L.GlobalAveragePooling2D()(y)))
    assert tail_of(check(x, L.Dense(3)(y))) == ["global_average_pool", "vector_norm", "dense"]


def test_operations_and_constants_on_vectors() -> None:
    x, y = body()
    y = L.GlobalAveragePooling2D()(y)
    a, b = L.Dense(8, activation="silu")(y), L.Dense(8)(y)
    y = L.ReLU()(L.BatchNormalization()(L.Multiply()([a, b]))) - L.Dense(1)(y)
    y = L.Maximum()([y / 3.0, L.Minimum()([a, b])])
    assert tail_of(check(x, L.Dense(2)(y))) == [
        *["global_average_pool", "dense", "dense", "vector_binary", "vector_affine", "dense"],
        *["vector_binary", "vector_affine", "vector_binary", "vector_binary", "dense"],
    ]


@pairs_of(
    ("softmax", ["none", "in the convolution", "before the end", "behind the end"]),
    ("pool", [L.GlobalAveragePooling2D, L.GlobalMaxPooling2D]),
    ("end", [L.Flatten, lambda: L.Reshape((5,))]),
)
def test_a_convolution_of_a_pooled_pixel_ends_in_classes(pool, softmax, end) -> None:
    x, y = body()
    y = L.Activation("hard_silu")(L.Conv2D(12, 1)(pool(keepdims=True)(y)))
    y = L.Conv2D(5, 1, activation="softmax" if softmax == "in the convolution" else None)(L.Dropout(0.2)(y))
    if softmax == "before the end":
        y = L.Activation("softmax")(y)
    y = end()(y)
    if softmax == "behind the end":
        y = L.Activation("softmax")(y)
    pictures = [np.random.default_rng(seed).integers(0, 256, (6, 6, 3), np.uint8) for seed in range(2)]
    bundle, _, _ = build(to_graph(keras.Model(x, y)), list("abcde"), calibration=pictures)
    assert [output.purpose for output in bundle.manifest.outputs] == ["classes"]


RANGES = {"picture": (-1.0, 1.0), "numbers": (-3.0, 3.0), "heat": (-1.0, 2.0)}


def model() -> keras.Model:
    """Return a model with every kind of input and of output tail."""
    keras.utils.clear_session()
    picture = keras.Input((12, 16, 1), name="picture")
    features, heat = keras.Input((6,), name="numbers"), keras.Input((6, 8, 5), name="heat")
    x = L.Conv2D(8, 3, strides=2, padding="same", activation="sigmoid")(picture)
    x = L.Conv2D(8, 3, padding="same", activation="relu6")(L.Concatenate()([x, heat]))
    coarse, dense = L.Conv2D(12, 3, strides=2, padding="same")(x), L.Conv2D(6, 1)(x)
    rows = L.Activation("sigmoid")(L.Concatenate(axis=1)([L.Reshape((-1, 6))(coarse), L.Reshape((-1, 6))(dense)]))
    mask = keras.ops.argmax(L.Conv2D(4, 1, activation="softmax")(x), axis=-1)
    vector = L.Concatenate()(
        [L.GlobalAveragePooling2D()(x), L.Normalization(mean=[1.0] * 6, variance=[2.0] * 6)(features)]
    )
    vector = L.Add()([L.Dense(9, activation="relu")(vector), L.Dense(9)(features)])
    outputs = {
        "rows": rows,
        "mask": mask,
        "classes": L.Dense(3, activation="softmax")(vector),
        "embedding": L.UnitNormalization()(L.Dense(5)(vector)),
        "tags": L.Dense(4, activation="sigmoid")(vector),
    }
    return randomise(keras.Model([picture, features, heat], outputs), 0, 0.3)


def sample(seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    return {
        "picture": rng.integers(0, 256, (12, 16, 1), np.uint8),
        "numbers": rng.normal(0, 1, 6),
        "heat": rng.uniform(-1, 2, (6, 8, 5)),
    }


def test_every_kind_of_input_and_ending() -> None:
    network, inputs = model(), sample(1)
    graph = to_graph(network, io_options=IoOptions(RANGES, {"picture": "center-crop"}))
    values = [inputs["picture"] / 127.5 - 1.0, inputs["numbers"], inputs["heat"]]
    expected = network([value[None].astype(np.float32) for value in values], training=False)
    results = reference.run(graph, inputs)
    assert list(results) == ["rows", "mask", "classes", "embedding", "tags"]
    for name, result in results.items():
        close(result, np.asarray(expected[name])[0], 1e-5)
    bundle, _, _ = build(graph, ["a", "b", "c"], calibration=[sample(seed) for seed in range(2, 5)])
    purposes = {output.name: output.purpose for output in bundle.manifest.outputs}
    assert purposes == {"rows": "values", "mask": "mask", "classes": "classes", "embedding": "values", "tags": "values"}
    assert [(model_input.name, model_input.kind, model_input.fit) for model_input in bundle.manifest.inputs] == [
        ("picture", "picture", CENTER_CROP),
        ("numbers", "numbers", None),
        ("heat", "numbers", None),
    ]
    for name, stored in reference.run(bundle, inputs).items():
        if name == "mask":
            assert (stored == results[name]).mean() > 0.85
        else:
            assert np.abs(stored - results[name]).mean() < 0.05, name


def test_names_of_layers_are_those_of_outputs() -> None:
    x = keras.Input((8, 8, 3), name="photo")
    pooled = L.GlobalAveragePooling2D()(L.Conv2D(4, 3, activation="sigmoid")(x))
    graph = to_graph(keras.Model(x, [L.Dense(2, name="first")(pooled), L.Dense(3, name="second")(pooled)]))
    assert [output.name for output in graph.outputs] == ["first", "second"]
    assert [graph.purpose(output) for output in graph.outputs] == ["values", "values"]


@pytest.mark.parametrize("channels, fit", [(1, CENTER_SQUARE), (2, None), (3, CENTER_SQUARE), (4, CENTER_SQUARE)])
def test_pictures_have_1_3_or_4_channels(channels: int, fit: str | None) -> None:
    x = keras.Input((28, 28, channels))
    graph = to_graph(keras.Model(x, L.Conv2D(4, 3, activation="sigmoid")(x)))
    assert graph.input.attrs["fit"] == fit


def test_an_input_with_three_channels_can_be_numeric() -> None:
    x = keras.Input((8, 8, 3), name="depths")
    network = keras.Model(x, L.Conv2D(4, 3, activation="sigmoid")(x))
    graph = to_graph(network, io_options=IoOptions({"depths": (0.0, 50.0)}, {"depths": "none"}))
    assert (graph.input.attrs["fit"], graph.input.attrs["scales"]) == (None, (50.0,))
    assert to_graph(network, io_options=IoOptions(fits={"": "letterbox"})).input.attrs["fit"] == LETTERBOX


def test_ranges_of_numbers_are_declared_or_learnt() -> None:
    x = keras.Input((3,), name="speed")
    graph = to_graph(randomise(keras.Model(x, L.Dense(2)(x)), 0))
    with pytest.raises(ModelError, match="'speed'"):
        build(graph, ["a", "b"])
    bundle, _, _ = build(graph, ["a", "b"], calibration=[{"speed": np.array([1.0, -90.0, 5.0])}])
    assert bundle.manifest.inputs[0].value.scale == 2.0  # 1.5 * 90 fits into 128 * 2


@pytest.mark.parametrize(
    "io_options, message",
    [
        (IoOptions(ranges={"nothing": (0.0, 1.0)}), "the model has no such name; it has picture, numbers"),
        (IoOptions(ranges={"numbers": (1.0, 1.0)}), "give two different numbers"),
        (IoOptions(fits={"picture": "round"}), "choose one of center-square, center-crop, letterbox, stretch, none"),
        (IoOptions(fits={"numbers": "stretch"}), "the input takes a vector of numbers"),
        (IoOptions(purposes={"y": "joy"}), "choose one of classes, image, mask, values"),
    ],
)
def test_options_that_do_not_fit_the_model_are_refused(io_options: IoOptions, message: str) -> None:
    picture, vector = keras.Input((8, 8, 3), name="picture"), keras.Input((3,), name="numbers")
    concatenated = L.Concatenate()([L.GlobalAveragePooling2D()(picture), vector])
    with pytest.raises(InputError, match=message):
        to_graph(keras.Model([picture, vector], L.Dense(2, name="y")(concatenated)), io_options=io_options)


def test_a_single_vector_that_ends_in_a_sigmoid_is_for_tags() -> None:
    x = keras.Input((8, 8, 3))
    tags = L.Dense(4, activation="sigmoid")(L.GlobalAveragePooling2D()(L.Conv2D(4, 3, activation="sigmoid")(x)))
    bundle, _, _ = build(to_graph(randomise(keras.Model(x, tags), 0)), ["a", "b", "c", "d"])
    (output,) = bundle.manifest.outputs
    assert (output.purpose, [step.step for step in output.steps]) == ("classes", ["sigmoid"])


def test_rows_that_end_differently_are_the_cpus() -> None:
    x = keras.Input((8, 8, 3))
    coarse, dense = (L.Reshape((-1, 4))(L.Conv2D(4, size, activation="sigmoid")(x)) for size in (1, 3))
    rows = L.Concatenate(axis=1, name="both")([L.Activation("softmax")(coarse), dense])
    graph = to_graph(keras.Model(x, rows))
    (output,) = graph.outputs
    assert output.layers == ("both",) and not output.steps and graph.by_name["both"].op == "tensor_concat"
