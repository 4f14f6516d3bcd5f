"""X22 and its layers match docs/engineering/design.md, to the parameter and to the byte of memory."""

from __future__ import annotations

import json
import re
import zipfile

import keras
import numpy as np
import pytest

from glsl_infer.compiler import lower
from glsl_infer.compiler.calibration_maps import compute_maps
from glsl_infer.compiler.memory import METHODS
from glsl_infer.compiler.optimize import optimize
from glsl_infer.compiler.ranges import prepare
from glsl_infer.importers.keras import to_graph
from glsl_infer.lowering.calibration_maps import CalibrationMaps
from glsl_infer.lowering.target import Target
from training import ChannelShuffle, PiecewiseLinearSigmoid
from training.layers import BlockDiagonalConv2D
from training.models import ACTIVATIONS, x22


def parameters(weights):
    return sum(int(np.prod(weight.shape)) for weight in weights)


def strided_sizes(model):
    return [
        layer.output.shape[1]
        for layer in model.layers
        if isinstance(layer, keras.layers.Conv2D) and layer.kernel_size != (1, 1) and layer.padding == "valid"
    ]


@pytest.fixture(scope="module")
def full():
    return x22()


def test_the_full_model_has_the_expected_number_of_parameters(full):
    assert full.count_params() == 225_112
    assert parameters(full.trainable_weights) == 216_152


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_every_activation_never_decreases_within_0_and_1(name):
    x = np.linspace(-10, 10, 801, dtype=np.float32)
    y = np.asarray(ACTIVATIONS[name](name="act")(x))
    assert y.min() == 0 and y.max() == 1 and np.diff(y).min() >= 0
    expected = {"hard_sigmoid": x / 6 + 0.5, "clipped_relu": x, "relu6_scaled": x / 6}.get(name)
    if expected is None:
        expected = np.interp(x, [-6.5, -2.5, -0.5, 0.5, 2.5, 6.5], [0, 0.2, 0.4, 0.6, 0.8, 1])
    assert np.abs(y - np.clip(expected, 0, 1)).max() < 1e-6


def test_activations_change_no_name_and_learn_8_numbers_a_layer():
    options = {"input_size": 33, "classes": 6, "stages": 2}
    plain, learnt = x22(**options), x22(**options, activation="learnable_sigmoid")
    assert [layer.name for layer in plain.layers] == [layer.name for layer in learnt.layers]
    layers = [layer for layer in learnt.layers if layer.name.endswith("-act")]
    assert len(layers) == 1 + 2 * 5 + 2 + 1
    assert parameters(learnt.trainable_weights) == parameters(plain.trainable_weights) + 8 * len(layers)
    x = np.random.default_rng(0).random((2, 33, 33, 3), np.float32)
    learnt.set_weights(carried(plain, learnt))
    assert np.abs(np.asarray(plain(x)) - np.asarray(learnt(x))).max() < 1e-4


def test_units_with_clipped_relu_begin_as_identities():
    network = x22(33, 3, stages=2, activation="clipped_relu")
    x = np.random.default_rng(1).random((2, 33, 33, 3), np.float32)
    for before, after in (("b0-conv-act", "b1-stage1-dw-act"), ("b1-stage1-dw-act", "b1-stage2-dw-act")):
        ends = [network.get_layer(name).output for name in (before, after)]
        first, second = keras.Model(network.input, ends)(x)
        assert np.array_equal(first, second) and np.ptp(first) > 0.5


def carried(plain, learnt):
    values = {weight.path: weight for weight in plain.weights}
    return [values.get(weight.path, weight) for weight in learnt.weights]


def test_an_unknown_activation_is_refused():
    with pytest.raises(ValueError, match="'tanh'"):
        x22(activation="tanh")


def test_input_and_output(full):
    assert full.input.shape == (None, 385, 385, 3) and full.input.dtype == "float32"
    assert full.output.shape == (None, 120)
    dense = full.layers[-1]
    assert isinstance(dense, keras.layers.Dense) and dense.activation is keras.activations.linear
    assert not any(isinstance(layer, (keras.layers.Rescaling, keras.layers.Softmax)) for layer in full.layers)


def test_spatial_sizes(full):
    assert strided_sizes(full) == [191, 95, 47, 23, 11, 5, 3]
    assert strided_sizes(x22(257)) == [127, 63, 31, 15, 7, 3, 1]
    assert strided_sizes(x22(129, 6, stages=4)) == [63, 31, 15, 7, 3, 1]


def test_convolutions_are_named_by_block_and_unit(full):
    convolutions = [layer.name for layer in full.layers if isinstance(layer, keras.layers.Conv2D)]
    expected = ["b0-conv"]
    for block, units in enumerate((2, 3, 3, 4, 5), start=1):
        for unit in range(1, units + 1):
            expected += [f"b{block}-stage{unit}-pw", f"b{block}-stage{unit}-dw"]
        expected.append(f"b{block}-scale")
    assert convolutions == [*expected, "b6-conv"]
    batch_norms = [layer.name for layer in full.layers if isinstance(layer, keras.layers.BatchNormalization)]
    assert batch_norms == [f"{name}-bn" for name in convolutions]
    assert full.layers[-1].name == "Dense"


def test_groups_and_biases(full):
    for layer in full.layers:
        if not isinstance(layer, keras.layers.Conv2D):
            continue
        channels = layer.input.shape[-1]
        if layer.name == "b0-conv":
            groups = 1
        elif layer.name.endswith("-pw"):
            groups = max(channels // 32, 1)
        else:
            groups = channels // (4 if layer.name.endswith("-dw") else 8)
        assert layer.groups == groups and not layer.use_bias, layer.name


def test_order_inside_a_unit(full):
    shuffles = [layer.name for layer in full.layers if isinstance(layer, ChannelShuffle)]
    assert len(shuffles) == 3 + 3 + 4 + 5 and not any(name.startswith("b1-") for name in shuffles)
    add = full.get_layer("b2-stage1-add")
    assert {tensor._keras_history.operation.name for tensor in add.input} == {"b2-stage1-dw-bn", "b1-scale-act"}
    assert full.get_layer("b2-stage1-dw-act").input is add.output
    assert full.get_layer("b2-stage1-pw").input is full.get_layer("b2-stage1-shuffle").output


def test_width_scales_the_channels():
    half = x22(129, 6, stages=4, width=0.5)
    assert half.get_layer("b0-conv").filters == 16 and half.get_layer("b3-scale").filters == 64


@pytest.mark.parametrize(
    "arguments, advice",
    [
        ({"input_size": 384}, "385 and 257 work with 5 stages"),
        ({"input_size": 129}, "ends in 1 pixels; 3 are needed; 385 and 257 work with 5 stages, 193 and 129 with 4"),
        ({"input_size": 3, "stages": 1}, "385"),
        ({"stages": 0}, "1 to 5"),
        ({"stages": 6}, "1 to 5"),
        ({"width": 0.3}, "of 8: 0.5, 1, 2, 3"),
        ({"width": 0.25, "stages": 4}, "of 8: 0.5, 1, 2, 3"),
        ({"width": 0.75, "stages": 3}, "of 8: 0.25, 0.5, 1, 2, 3"),
        ({"width": 0}, "0.5, 1, 2, 3"),
        ({"width": -1}, "0.5, 1, 2, 3"),
        ({"width": float("nan")}, "0.5, 1, 2, 3"),
        ({"classes": 1}, "at least 2"),
    ],
)
def test_inconsistent_arguments_are_refused(arguments, advice):
    with pytest.raises(ValueError, match=re.escape(advice)):
        x22(**arguments)


@pytest.mark.parametrize(
    "size, kernel, strides, padding, groups, bias",
    [
        (9, 3, 1, "same", 4, False),
        (9, 3, 2, "valid", 2, True),
        (8, 3, 2, "same", 8, False),
        (5, 1, 1, "valid", 1, True),
    ],
)
def test_block_diagonal_is_the_grouped_convolution(size, kernel, strides, padding, groups, bias):
    rng = np.random.default_rng(7)
    x = rng.normal(size=(2, size, size, 16)).astype(np.float32)
    options = {"strides": strides, "padding": padding, "groups": groups, "use_bias": bias}
    grouped, diagonal = keras.layers.Conv2D(24, kernel, **options), BlockDiagonalConv2D(24, kernel, **options)
    grouped.build(x.shape)
    diagonal.build(x.shape)
    weights = [rng.normal(size=weight.shape) for weight in grouped.get_weights()]
    grouped.set_weights(weights)
    diagonal.set_weights(weights)
    expected, values = np.asarray(grouped(x)), np.asarray(diagonal(x))
    assert values.shape == expected.shape and np.abs(expected).max() > 1
    assert np.abs(values - expected).max() < 1e-4


def test_block_diagonal_model_gives_the_same_logits():
    size, options = 33, {"stages": 2, "width": 1.0}
    plain, fast = x22(size, 6, **options), x22(size, 6, **options, conv=BlockDiagonalConv2D)
    plain.set_weights(fast.get_weights())
    x = np.random.default_rng(3).random((2, size, size, 3), np.float32)
    assert np.abs(np.asarray(plain(x)) - np.asarray(fast(x))).max() < 1e-4


def test_piecewise_linear_sigmoid():
    x = np.linspace(-10, 10, 4001, dtype=np.float32)
    y = np.asarray(PiecewiseLinearSigmoid()(x))
    steep, middle = np.clip(0.1 * x, -0.05, 0.05), np.clip(0.05 * x, -0.125, 0.125)
    assert np.abs(y - (np.clip(0.05 * x + steep + middle, -0.5, 0.5) + 0.5)).max() < 1e-6
    knots = np.interp(x, [-6.5, -2.5, -0.5, 0.5, 2.5, 6.5], [0, 0.2, 0.4, 0.6, 0.8, 1])
    assert np.abs(y - knots).max() < 1e-6


@pytest.mark.parametrize(
    "channels, start", [(64, [0, 8, 1, 9, 2, 10]), (128, [0, 8, 16, 24, 1, 9]), (32, [0, 1, 2, 3, 4, 5])]
)
def test_channel_shuffle(channels, start):
    slices = channels // 4
    x = np.broadcast_to(np.arange(channels, dtype=np.float32), (1, 2, 3, channels))
    y = np.asarray(ChannelShuffle(step=8)(x))
    order = [(8 * i) % slices + (8 * i) // slices for i in range(slices)]
    assert order[:6] == start and sorted(order) == list(range(slices))
    assert y[0, 1, 2].tolist() == [4 * s + lane for s in order for lane in range(4)]


def test_channel_shuffle_refuses_indivisible_channels():
    with pytest.raises(ValueError, match="40"):
        ChannelShuffle(step=8)(np.zeros((1, 1, 1, 40), np.float32))


def test_layers_survive_saving(tmp_path):
    inputs = keras.Input((3, 3, 64))
    model = keras.Model(inputs, PiecewiseLinearSigmoid(name="act")(ChannelShuffle(step=4, name="mix")(inputs)))
    model.save(tmp_path / "model.keras")
    with zipfile.ZipFile(tmp_path / "model.keras") as archive:
        layers = json.loads(archive.read("config.json"))["config"]["layers"]
    assert {layer["registered_name"] for layer in layers} >= {
        "glsl_infer>ChannelShuffle",
        "glsl_infer>PiecewiseLinearSigmoid",
    }
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert loaded.get_layer("mix").step == 4
    x = np.random.default_rng(1).normal(size=(1, 3, 3, 64)).astype(np.float32)
    assert np.array_equal(np.asarray(model(x)), np.asarray(loaded(x)))


BEATMUP, GOAL = 5.6e6, 3.8e6

TARGET_BYTES = {"naive": 10_046_296, "greedy": 3_739_280, "by-size": 3_737_516}
"""Bytes for each planner. The three largest layers, alive in one step, take 3,519,044."""


@pytest.fixture(scope="module")
def graph():
    return prepare(optimize(to_graph(x22(385)))).graph


@pytest.fixture(scope="module")
def maps(graph):
    return compute_maps(graph, ())


@pytest.fixture(scope="module")
def typical(maps):
    return CalibrationMaps(lambda: maps)


@pytest.mark.exhaustive
@pytest.mark.parametrize("method", METHODS)
def test_render_targets_in_an_atlas_take_the_expected_bytes(graph, typical, method):
    program = lower.to_program(graph, Target(weights="uniform", memory=method), maps=typical)
    total = sum(4 * texture.width * texture.height for texture in program.textures if texture.kind == "target")
    assert total <= (GOAL if method != "naive" else 2 * BEATMUP)
    assert total == TARGET_BYTES[method]


@pytest.mark.exhaustive
def test_planar_is_below_the_articles_engine(graph, maps):
    typical = CalibrationMaps(lambda: maps)
    program = lower.to_program(graph, Target(weights="uniform", layout="planar", memory="by-size"), maps=typical)
    assert (
        sum(4 * texture.width * texture.height for texture in program.textures if texture.kind == "target")
        == 4_115_468
        < BEATMUP
    )
