"""The range of the input bytes, rescaling, and arithmetic."""

from __future__ import annotations

from pathlib import Path

import keras
import numpy as np
import pytest
from imported import check, cpu_operators

from glsl_infer.compiler.optimize import optimize
from glsl_infer.errors import InputError, ModelError
from glsl_infer.graph.picture import CENTER_SQUARE, picture_range
from glsl_infer.importers.keras import load, to_graph

L = keras.layers
BYTES = (0.0, 255.0)
MEAN, SPREAD = np.array([103.9, 116.8, 123.7], np.float32), np.array([58.4, 57.1, 57.4], np.float32)


def pixels() -> keras.KerasTensor:
    return keras.Input((5, 5, 3), name="pixels")


@pytest.mark.parametrize(
    "requested, scales, zeros",
    [
        (None, (1.0,), (0.0,)),
        ((0, 1), (1.0,), (0.0,)),
        ((0, 255), (255.0,), (0.0,)),
        ((-1, 1), (2.0,), (127.5,)),
        ((1.0, -1.0), (-2.0,), (127.5,)),
        ((2, 3), (1.0,), (-510.0,)),
    ],
)
def test_the_range_that_is_given(requested, scales, zeros, tmp_path: Path) -> None:
    x = pixels()
    y = L.Conv2D(4, 3, padding="same")(x)
    graph = check(x, y, input_range=requested, fed=(0.0, 1.0) if requested is None else requested)
    assert picture_range(graph.input) == (scales, zeros)
    keras.Model(x, y).save(tmp_path / "model.keras")
    assert picture_range(load(tmp_path / "model.keras", requested).input) == (scales, zeros)


@pytest.mark.parametrize("requested", [(1, 1), (0, float("inf")), (float("nan"), 1)])
def test_invalid_input_ranges_are_refused(requested) -> None:
    x = pixels()
    with pytest.raises(InputError, match=r"an input_range of \(.*\); give two different numbers"):
        to_graph(keras.Model(x, L.ReLU()(x)), requested)


@pytest.mark.parametrize(
    "first, fed, scales, zeros",
    [
        (L.Rescaling(1 / 255), BYTES, (1.0,), (0.0,)),
        (L.Rescaling(1 / 127.5, -1), BYTES, (2.0,), (127.5,)),
        (lambda x: L.Rescaling(-1 / 127.5, 1)(L.RandomFlip()(x)), BYTES, (-2.0,), (127.5,)),
        (L.Rescaling(2, -1), (0.0, 1.0), (2.0,), (127.5,)),
        (lambda x: x / 127.5 - 1.0, BYTES, (2.0,), (127.5,)),
        (lambda x: (x - 127.5) * (1 / 127.5), BYTES, (2.0,), (127.5,)),
        (lambda x: -(1.0 - x / 255.0), BYTES, (1.0,), (255.0,)),
        (keras.applications.mobilenet_v2.preprocess_input, BYTES, (2.0,), (127.5,)),
    ],
)
def test_rescaling_of_the_picture_is_folded_into_its_range(first, fed, scales, zeros) -> None:
    x = pixels()
    graph = check(x, L.Conv2D(4, 3, padding="same")(first(x)), fed=fed)
    assert [node.op for node in graph.nodes] == ["input", "conv2d"]
    result = picture_range(graph.input)
    np.testing.assert_allclose(result[0], scales, rtol=1e-12)
    np.testing.assert_allclose(result[1], zeros, rtol=1e-12)


def test_the_usual_rescaling_gives_the_default_exactly() -> None:
    x = pixels()
    graph = optimize(to_graph(keras.Model(x, L.Conv2D(4, 3)(L.Rescaling(1.0 / 255)(x)))))
    assert dict(graph.input.attrs) == {
        "shape": (5, 5, 3),
        "fit": CENTER_SQUARE,
        "scales": (1.0,),
        "zeros": (0.0,),
    }


@pytest.mark.parametrize(
    "first",
    [
        lambda x: (x - MEAN) / SPREAD,
        L.Rescaling((1 / SPREAD).tolist(), (-MEAN / SPREAD).tolist()),
    ],
)
def test_rescaling_of_each_channel(first) -> None:
    x = pixels()
    y = L.Conv2D(4, 3, padding="same")(first(x))
    graph = check(x, y, fed=BYTES, input_range=BYTES)
    assert [node.op for node in graph.nodes] == ["input", "conv2d"]
    np.testing.assert_allclose(picture_range(graph.input), [255 / SPREAD, MEAN], rtol=1e-6)


def test_a_rescaling_that_not_all_readers_see_is_a_convolution() -> None:
    x = pixels()
    y = L.Add()([L.Conv2D(3, 3, padding="same")(L.Rescaling(0.5, 0.25, name="half")(x)), x])
    graph = check(x, y)
    assert graph.by_name["half"].op == "conv2d"
    assert picture_range(graph.input) == ((1.0,), (0.0,))
    both = L.Add()([L.Conv2D(3, 1)(L.Rescaling(0.5)(x)), L.Conv2D(3, 1)(L.Rescaling(0.5)(x))])
    assert [node.op for node in check(x, both).nodes] == ["input", "conv2d", "conv2d"]


def test_rescaling_of_maps_and_vectors() -> None:
    x = pixels()
    y = L.ReLU()(L.Conv2D(4, 3)(x))
    y = L.Rescaling([1.0, 2.0, 3.0, 4.0], 0.5, name="alone")(y)
    y = L.Rescaling(0.5, -1.0)(L.Conv2D(3, 1)(L.ReLU()(y)))
    y = L.Rescaling(3.0, [1.0, 2.0, 3.0, 4.0])(L.Dense(4)(L.GlobalAveragePooling2D()(y)))
    graph = check(x, y)
    assert graph.by_name["alone"].attrs["groups"] == 4
    assert [node.op for node in graph.nodes] == ["input", "conv2d", "conv2d", "conv2d", "global_average_pool", "dense"]


def test_sums_and_functions_as_operations() -> None:
    x = pixels()
    y = keras.ops.relu(L.Conv2D(4, 3, padding="same")(x)) + L.Conv2D(4, 1)(x)
    y = keras.ops.sigmoid(L.Conv2D(4, 1)(keras.ops.relu6(y)))
    y = keras.ops.softmax(keras.ops.hard_sigmoid(L.Conv2D(4, 1)(3.0 + y * 2.0)))
    check(x, y)


@pytest.mark.parametrize(
    "outputs, message",
    [
        (
            keras.ops.erfinv,
            "layer 'erfinv.*': an Erfinv cannot be exported; these operations can be exported: Absolute, Add",
        ),
        (keras.ops.histogram, "layer 'histogram.*': a Histogram cannot be exported"),
    ],
)
def test_refused_operations(outputs, message: str) -> None:
    x = pixels()
    with pytest.raises(ModelError, match=message):
        to_graph(keras.Model(x, outputs(x)))


@pytest.mark.parametrize(
    "outputs",
    [
        lambda x: x / 0.0,
        lambda x: keras.ops.transpose(x, (0, 3, 1, 2)),
    ],
)
def test_operations_of_the_cpu(outputs) -> None:
    x = pixels()
    assert cpu_operators(keras.Model(x, outputs(x)))
