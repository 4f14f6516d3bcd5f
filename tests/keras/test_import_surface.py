"""Typical user code: keras.ops, sequences, and operators without a shader, imported with Keras' semantics."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import keras
import numpy as np
import pytest
from imported import check, check_model, cpu_operators, randomise
from keras import layers as L
from keras import ops as K

from glsl_infer.errors import InputError, ModelError
from glsl_infer.graph import reference
from glsl_infer.importers.keras import IoOptions, to_graph
from models import build

Build = Callable[[Any], Any]


def _unfolded(x: Any) -> Any:
    return K.stack(
        [K.pad(x, [[0, 0], [1, 1], [1, 1], [0, 0]])[:, a : a + 8, b : b + 8] for a in (0, 1) for b in (0, 2)], 3
    )


def _sequence(x: Any) -> Any:
    return L.Reshape((16, 16))(x)


def _through(layers: Callable[[], Sequence[Any]]) -> Build:
    def build(x: Any) -> Any:
        x = _sequence(x)
        for layer in layers():  # made with the model: layers of two models can have one name
            x = layer(x)
        return x

    return build


FACTORS_PER_PIXEL = np.random.default_rng(2).uniform(0.5, 1.5, (1, 8, 8, 4)).astype(np.float32)

NETWORKS: dict[str, tuple[Build, set[str]]] = {
    "a norm over the map": (lambda x: x / (K.norm(x, axis=(1, 2), keepdims=True) + 1e-3), set()),
    "a norm of a vector": (lambda x: K.norm(L.GlobalAveragePooling2D()(x), axis=-1, keepdims=True), {"tensor_reduce"}),
    "norms of other orders": (
        lambda x: K.norm(x, ord=1, axis=-1, keepdims=True) + K.norm(x, ord=np.inf, axis=-1, keepdims=True),
        set(),
    ),
    "a gate": (K.glu, set()),
    "constants of pixels": (
        lambda x: (
            K.subtract(FACTORS_PER_PIXEL, x * FACTORS_PER_PIXEL[0, :, :, :1]) / FACTORS_PER_PIXEL + FACTORS_PER_PIXEL
        ),
        set(),
    ),
    "maps joined along both axes": (
        lambda x: L.Concatenate(axis=2)([K.concatenate([x, x * 2.0], axis=1), K.concatenate([x, -x], axis=1)]),
        set(),
    ),
    "channels moved": (lambda x: K.roll(K.repeat(K.take(x, [3, 1, -1], axis=-1), 2, axis=-1), 1, axis=-1), set()),
    "rows rolled": (lambda x: K.roll(K.roll(x, (-2, 3), axis=(1, 2)), 9, axis=2), set()),
    "one pixel as a map": (
        lambda x: x * K.tile(K.mean(x, axis=(1, 2), keepdims=True), (1, 8, 8, 1)) + K.repeat(x[:, ::2], 2, axis=1),
        set(),
    ),
    "involution": (
        lambda x: K.sum(K.expand_dims(L.Conv2D(4, 1)(x), -1) * _unfolded(x), axis=3),
        {"tensor_concat", "tensor_binary", "tensor_reduce", "reshape"},
    ),
    "truth": (
        lambda x: K.where(K.logical_and(x > 0.1, K.logical_not(K.equal(x, 0.5))), x, K.round(x * 4.0, 1)),
        {"tensor_binary", "tensor_unary", "select"},
    ),
    "powers": (lambda x: 2.0**x + x**9, {"tensor_binary"}),
    "waves": (lambda x: K.sin(x) + K.tan(x) + K.floor(x) * K.cast(x * 3.0, "int32"), {"tensor_unary"}),
    "probabilities": (
        lambda x: K.log_softmax(L.GlobalAveragePooling2D()(x)) + K.logsumexp(K.std(x, axis=2), axis=-2),
        {"tensor_reduce", "tensor_binary", "tensor_function", "tensor_reshape"},
    ),
    "a constant in a sum": (lambda x: K.einsum("bhwc,kc->bkhw", x, np.ones((2, 4), np.float32)), {"tensor_transpose"}),
    "EinsumDense": (
        _through(lambda: [L.EinsumDense("abc,cde->aebd", (3, None, 2), bias_axes="de", activation="relu")]),
        {"reshape", "tensor_transpose", "tensor_reshape", "linear", "tensor_binary"},
    ),
    "adaptive pools": (
        lambda x: L.AdaptiveAveragePooling2D((3, 5))(x) + L.AdaptiveMaxPooling2D((3, 5))(x),
        {"tensor_transpose", "linear", "tensor_reshape", "gather_points", "tensor_reduce"},
    ),
    "convolutions of a sequence": (
        _through(
            lambda: [
                L.Conv1D(6, 3, padding="causal", dilation_rate=2, activation="elu"),
                L.DepthwiseConv1D(4, strides=2, padding="same", depth_multiplier=2),
                L.SeparableConv1D(5, 3, padding="same"),
                L.Conv1DTranspose(4, 5, strides=3, padding="same", activation="tanh"),
                L.Cropping1D((1, 2)),
                L.ZeroPadding1D((0, 3)),
                L.MaxPooling1D(3, 2, padding="same"),
                L.UpSampling1D(2),
                L.AveragePooling1D(2),
                L.Flatten(),
            ]
        ),
        {"reshape"},
    ),
    "sequences both ways": (
        _through(
            lambda: [
                L.Bidirectional(L.LSTM(3, return_sequences=True), merge_mode="ave"),
                L.Bidirectional(L.GRU(4, return_sequences=True)),
                L.GRU(
                    3,
                    return_sequences=True,
                    go_backwards=True,
                    reset_after=False,
                    activation="relu",
                    recurrent_activation="hard_sigmoid",
                ),
                L.SimpleRNN(4, activation="relu", use_bias=False),
            ]
        ),
        {"reshape", "lstm", "gru", "recurrent", "tensor_slice", "tensor_reshape", "tensor_concat", "tensor_binary"},
    ),
    "a vector repeated": (lambda x: L.RepeatVector(5)(L.GlobalMaxPooling2D()(x)), {"reshape"}),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_a_network(name: str) -> None:
    build, on_cpu = NETWORKS[name]
    x = keras.Input((8, 8, 3))
    y = L.Flatten()(build(L.Conv2D(4, 1, activation="sigmoid")(x)))
    model = randomise(keras.Model(x, y), 1, spread=0.4)
    check_model(model)
    assert set(cpu_operators(model)) | ({"reshape"} & on_cpu) == on_cpu


def test_a_convolution_along_channels_stays_on_the_gpu() -> None:
    assert not cpu_operators(build("eca"))


@pytest.mark.parametrize(
    "build, message",
    [
        (lambda x: K.norm(x, ord=2, axis=(1, 2)), "a norm with ord=2.* of two of them, give no ord"),
        (lambda x: K.roll(x, 2), "it has no axis"),
        (lambda x: K.cast(x, "uint8"), "cast to float32, int32 or bool"),
        (lambda x: L.GRU(2, return_state=True)(_sequence(x))[0], "states in or out"),
    ],
)
def test_unsupported_operations_are_refused(build: Build, message: str) -> None:
    x = keras.Input((8, 8, 3))
    with pytest.raises(ModelError, match=message):
        to_graph(keras.Model(x, build(L.Conv2D(4, 1)(x))))


def open_model() -> keras.Model:
    x = keras.Input((None, None, 3), name="photo")
    y = L.UpSampling2D()(L.MaxPooling2D()(L.Conv2D(4, 3, padding="same")(x)))
    inner = keras.Sequential([L.Conv2D(2, 1), L.ReLU()])
    return randomise(keras.Model(x, K.mean(inner(y), axis=1, keepdims=True)), 3)


def test_an_open_size_is_set_by_an_option() -> None:
    graph = to_graph(open_model(), io_options=IoOptions(sizes={"": (12, 20)}))
    assert graph.shapes["photo"] == (12, 20, 3)
    assert graph.shapes[graph.outputs[0].layers[0]] == (1, 20, 2)


def test_a_sequential_model_of_any_size() -> None:
    layers = [keras.Input((None, None, 3)), L.Conv2D(4, 3, strides=2), L.GlobalAveragePooling2D(), L.Dense(2)]
    model = keras.Sequential(layers)
    graph = to_graph(model, io_options=IoOptions(sizes={"": (9, 11)}))
    assert graph.inputs[0].attrs["shape"] == (9, 11, 3)
    picture = np.random.default_rng(4).integers(0, 256, (9, 11, 3), np.uint8)
    expected = np.asarray(model(picture[None] / np.float32(255)))[0]
    np.testing.assert_allclose(reference.run(graph, picture, mode="float"), expected, atol=1e-5)


def test_any_axis_takes_a_size() -> None:
    """A size is set for a sequence of any length, or replaces the size in the file."""
    x = keras.Input((None, 4), name="steps")
    model = keras.Model(x, L.GlobalAveragePooling1D()(L.Conv1D(3, 3)(x)))
    with pytest.raises(InputError, match="'steps'"):
        to_graph(model)
    assert to_graph(model, io_options=IoOptions(shapes={"": (1, 12, 4)})).inputs[0].attrs["shape"] == (1, 12, 4)
    photo = keras.Input((8, 6, 3), name="photo")
    graph = to_graph(keras.Model(photo, L.Conv2D(2, 3)(photo)), io_options=IoOptions(shapes={"photo": (1, 9, 11, 3)}))
    assert graph.shapes[graph.outputs[0].layers[0]] == (7, 9, 2)
    with pytest.raises(InputError, match="input 'photo'"):
        to_graph(keras.Model(photo, L.Conv2D(2, 3)(photo)), io_options=IoOptions(shapes={"photo": (9, 11)}))


@pytest.mark.parametrize(
    "sizes, message",
    [
        ({}, r"'photo': an input of any size, \(None, None, 3\); give --input-size photo=HEIGHTxWIDTH"),
        ({"other": (8, 8)}, "--input-size other: the model has no such input; it has photo"),
    ],
)
def test_an_open_size_without_an_option_is_refused(sizes: dict[str, tuple[int, int]], message: str) -> None:
    with pytest.raises(InputError, match=message):
        to_graph(open_model(), io_options=IoOptions(sizes=sizes))


def test_a_fixed_size_is_kept() -> None:
    x = keras.Input((8, 6, 3), name="photo")
    model = keras.Model(x, L.Conv2D(2, 3)(x))
    with pytest.raises(InputError, match="input 'photo'"):
        to_graph(model, io_options=IoOptions(sizes={"photo": (9, 9)}))
    with pytest.raises(InputError, match="no input of the model is an image of free height and width"):
        to_graph(model, io_options=IoOptions(sizes={"": (9, 9)}))


def test_logarithms_of_probabilities_end_a_layer() -> None:
    x = keras.Input((8, 8, 3))
    y = L.Dense(5, activation="log_softmax")(L.GlobalAveragePooling2D()(x))
    check(x, y)
    check(x, L.Activation("log_softmax")(y))
