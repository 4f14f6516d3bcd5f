"""Cropping, resizing, flipping, indexing, padding, pooling, transposed and separable convolutions; then input ranges
and rescaling, which are folded into the input, and operations that are refused or run on the CPU."""

from __future__ import annotations

import math
from pathlib import Path

import keras
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from imported import check, close, cpu_operators, randomise
from pairwise import pairs_of

from glsl_infer.compiler.optimize import optimize
from glsl_infer.errors import InputError, ModelError
from glsl_infer.graph import reference
from glsl_infer.graph.picture import CENTER_SQUARE, picture_range
from glsl_infer.importers.keras import load, to_graph
from glsl_infer.ops.depth_to_space import block_of

L = keras.layers


def features(x: keras.KerasTensor, channels: int = 6) -> keras.KerasTensor:
    return L.Conv2D(channels, 1)(x)


@pytest.mark.parametrize("cropping", [1, (2, 0), ((1, 2), (0, 3))])
def test_cropping(cropping) -> None:
    x = keras.Input((8, 7, 3))
    graph = check(x, L.Cropping2D(cropping)(features(x)))
    assert graph.by_name[graph.output].op == "spatial_slice"


def test_center_crop() -> None:
    x = keras.Input((8, 7, 3))
    check(x, L.CenterCrop(5, 4)(features(x)))


@pytest.mark.parametrize("interpolation", ["nearest", "bilinear"])
@pytest.mark.parametrize("size", [(4, 4), (9, 13), (16, 14), (1, 3)])
def test_resizing(interpolation: str, size: tuple[int, int]) -> None:
    x = keras.Input((8, 7, 3))
    check(x, L.Resizing(*size, interpolation=interpolation)(features(x)))
    check(x, keras.ops.image.resize(features(x), size, interpolation=interpolation))


@pytest.mark.parametrize("interpolation", ["bicubic", "lanczos3", "bilinear"])
def test_smooth_resizing(interpolation: str) -> None:
    x = keras.Input((8, 7, 3))
    check(x, L.Resizing(9, 4, interpolation=interpolation, antialias=interpolation == "bilinear")(features(x)))
    check(x, L.UpSampling2D((1, 2), interpolation=interpolation)(features(x)))


def test_convolutions_by_constants() -> None:
    x = keras.Input((8, 7, 3))
    kernels = [np.random.default_rng(3).normal(size=(3, 2, count, 4)).astype(np.float32) for count in (6, 3)]
    check(x, keras.ops.conv(features(x), kernels[0], padding="same", dilation_rate=2))
    check(x, keras.ops.conv(features(x), kernels[0], strides=2, padding="same"))
    check(x, keras.ops.depthwise_conv(x, kernels[1], padding="valid"))


def test_maps_of_one_number_and_repeated_pixels() -> None:
    x = keras.Input((8, 7, 3))
    y = features(x)
    mean, variance = keras.ops.moments(y, axes=(1, 2), keepdims=True)
    wide = keras.ops.broadcast_to(mean - variance, (1, 8, 7, 6))
    parts = [wide, keras.ops.full_like(x, 0.5), keras.ops.zeros_like(x), keras.ops.stop_gradient(y)]
    check(x, L.Conv2D(4, 1)(keras.ops.concatenate(parts, axis=-1)))


@pytest.mark.parametrize(
    "index",
    [
        lambda x: x[:, 1:-1, ::2],
        lambda x: x[:, ::-1, 4:1:-1],
        lambda x: x[..., 4:],
        lambda x: x[:, :, :, 1:5],
        lambda x: x[..., :4],
        lambda x: x[:, 2:, :, ::-1],
    ],
)
def test_indices(index) -> None:
    x = keras.Input((8, 7, 3))
    check(x, index(features(x)))


def test_a_row_without_its_axis_runs_on_the_cpu() -> None:
    x = keras.Input((8, 7, 3))
    check(x, L.Dense(2)(L.Flatten()(features(x)[:, 0])))


@pytest.mark.parametrize("axis", [1, 2, (1, 2), -2])
def test_flip(axis) -> None:
    x = keras.Input((8, 7, 3))
    check(x, keras.ops.flip(features(x), axis))


@pytest.mark.parametrize("mode", ["constant", "reflect", "symmetric"])
def test_pad(mode: str) -> None:
    x = keras.Input((8, 7, 3))
    check(x, keras.ops.pad(features(x), ((0, 0), (1, 2), (3, 0), (0, 0)), mode))


@pytest.mark.parametrize("widths, value", [(((0, 0), (1, 2), (3, 0), (0, 0)), -1.5), (2, 0.0)])
def test_pad_with_a_number(widths, value: float) -> None:
    x = keras.Input((8, 7, 3))
    widths = widths if isinstance(widths, tuple) else ((0, 0), (widths, widths), (0, 0), (0, 0))
    graph = check(x, keras.ops.pad(features(x), widths, constant_values=value))
    assert graph.by_name[graph.output].op == ("constant_padding" if value else "zero_padding")


@pytest.mark.parametrize("rows", [(0, 0), (1, 2)])
def test_pad_channels_with_zeros(rows: tuple[int, int]) -> None:
    x = keras.Input((8, 7, 3))
    narrow = L.ReLU()(features(x))
    y = L.Add()(
        [keras.ops.pad(narrow, ((0, 0), rows, rows, (1, 6))), L.Conv2D(13, 1)(L.ZeroPadding2D((rows, rows))(x))]
    )
    check(x, y)


def test_pad_channels_with_a_number_runs_on_the_cpu() -> None:
    x = keras.Input((8, 7, 3))
    padded = keras.ops.pad(features(x), ((0, 0), (0, 0), (0, 0), (1, 0)), constant_values=2.0)
    check(x, L.Conv2D(2, 1)(padded))


@pairs_of(
    ("op", ["max", "average"]),
    ("padding", ["same", "valid"]),
    ("pool, strides", [((3, 2), (2, 1)), ((1, 4), (1, 3)), ((8, 7), None), ((5, 5), (3, 4)), (3, 2)]),
)
def test_pooling_with_unequal_windows(op: str, padding: str, pool, strides) -> None:
    x = keras.Input((8, 7, 3))
    layer = {"max": L.MaxPooling2D, "average": L.AveragePooling2D}[op](pool, strides, padding)
    check(x, layer(features(x)))


@pytest.mark.parametrize("kernel, strides", [((2, 4), (3, 1)), ((4, 2), (1, 2)), (2, 1), ((6, 1), (2, 3))])
def test_even_kernels_and_unequal_strides(kernel, strides) -> None:
    x = keras.Input((8, 7, 3))
    for padding in ("same", "valid"):
        y = L.Conv2D(5, kernel, strides, padding)(x)
        check(x, L.SeparableConv2D(4, kernel, padding=padding, depth_multiplier=2)(y) if padding == "same" else y)


def test_rows_and_columns_exchanged() -> None:
    x = keras.Input((8, 7, 3))
    check(x, L.Permute((2, 1, 3))(features(x)))
    check(x, keras.ops.transpose(features(x), (0, 2, 1, 3)))
    check(x, L.Permute((3, 1, 2))(features(x)))


@pytest.mark.parametrize("keepdims", [False, True])
def test_global_max(keepdims: bool) -> None:
    x = keras.Input((8, 7, 3))
    check(x, L.GlobalMaxPooling2D(keepdims=keepdims)(features(x)))


@given(
    kernel=st.tuples(st.integers(1, 5), st.integers(1, 5)),
    strides=st.tuples(st.integers(1, 4), st.integers(1, 4)),
    padding=st.sampled_from(["same", "valid"]),
    more=st.sampled_from([None, None, (0, 0), (1, 1), (2, 0), (0, 3)]),
    filters=st.integers(1, 5),
    activation=st.sampled_from([None, "relu"]),
    seed=st.integers(0, 1000),
)
@settings(max_examples=30, deadline=None)
def test_transposed_convolution(kernel, strides, padding, more, filters, activation, seed) -> None:
    x = keras.Input((4, 5, 3))
    if more is not None:
        assume(more[0] < strides[0] and more[1] < strides[1])
    layer = L.Conv2DTranspose(filters, kernel, strides, padding, output_padding=more, activation=activation)
    shape = layer.compute_output_shape((1, 4, 5, 3))
    # TensorFlow computes only sizes that its convolution maps back to the input's size.
    assume(padding == "valid" or [-(-size // step) for size, step in zip(shape[1:3], strides)] == [4, 5])
    check(x, layer(x), seed)


@pytest.mark.parametrize("padding", ["same", "valid"])
def test_transposed_with_dilation(padding: str) -> None:
    """Equal to a kernel with zeros between its weights: without oneDNN, TensorFlow cannot compute a dilated one."""
    x = keras.Input((4, 5, 3))
    layer = L.Conv2DTranspose(2, 3, padding=padding, dilation_rate=(2, 3))
    wide = L.Conv2DTranspose(2, (5, 7), padding=padding)
    model, expected_model = randomise(keras.Model(x, layer(x)), 0), keras.Model(x, wide(x))
    kernel = np.zeros((5, 7, 2, 3), np.float32)
    kernel[::2, ::3] = layer.get_weights()[0]
    wide.set_weights([kernel, layer.get_weights()[1]])
    picture = np.random.default_rng(0).integers(0, 256, (4, 5, 3), np.uint8)
    expected = np.asarray(expected_model(picture[None] / np.float32(255.0)))[0]
    for graph in (to_graph(model), optimize(to_graph(model))):
        close(reference.run(graph, picture, mode="float"), expected, 1e-5)


@pytest.mark.parametrize("strides", [8, (6, 8), (1, 5), 5])
def test_transposed_with_large_strides(strides) -> None:
    x = keras.Input((3, 2, 3))
    graph = check(x, L.Conv2DTranspose(2, 10, strides, "same")(x))
    assert all(math.prod(block_of(node)) <= 16 for node in graph.nodes if node.op == "depth_to_space")


def test_transposed_convolutions_use_padding_instead_of_a_crop_if_possible() -> None:
    x = keras.Input((4, 5, 3))
    graph = check(x, L.Conv2DTranspose(2, 3, 2, "same")(x))
    assert [node.op for node in graph.nodes] == ["input", "conv2d", "depth_to_space"]
    graph = check(x, L.Conv2DTranspose(2, 3, 1, "same")(x))
    assert [node.op for node in graph.nodes] == ["input", "conv2d"]


@given(
    kernel=st.tuples(st.integers(1, 4), st.integers(1, 4)),
    stride=st.integers(1, 2),
    padding=st.sampled_from(["same", "valid"]),
    multiplier=st.integers(1, 3),
    activation=st.sampled_from([None, "relu"]),
)
@settings(max_examples=8, deadline=None)
def test_separable_convolution(kernel, stride, padding, multiplier, activation) -> None:
    x = keras.Input((6, 7, 3))
    layer = L.SeparableConv2D(5, kernel, stride, padding, depth_multiplier=multiplier, activation=activation)
    check(x, layer(x))


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
    assert dict(graph.input.attrs) == {"shape": (5, 5, 3), "fit": CENTER_SQUARE, "scales": (1.0,), "zeros": (0.0,)}


@pytest.mark.parametrize(
    "first", [lambda x: (x - MEAN) / SPREAD, L.Rescaling((1 / SPREAD).tolist(), (-MEAN / SPREAD).tolist())]
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
    added = L.Add()([L.Conv2D(3, 1)(L.Rescaling(0.5)(x)), L.Conv2D(3, 1)(L.Rescaling(0.5)(x))])
    assert [node.op for node in check(x, added).nodes] == ["input", "conv2d", "conv2d"]


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


@pytest.mark.parametrize("outputs", [lambda x: x / 0.0, lambda x: keras.ops.transpose(x, (0, 3, 1, 2))])
def test_operations_of_the_cpu(outputs) -> None:
    x = pixels()
    assert cpu_operators(keras.Model(x, outputs(x)))
