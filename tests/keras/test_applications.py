"""Complete networks of keras.applications, with random weights and statistics."""

from __future__ import annotations

from pathlib import Path

import keras
import numpy as np
import pytest
from imported import check_model
from keras.src.applications import convnext

from glsl_infer.importers.keras import load

OPTIONS = {"weights": None, "input_shape": (32, 32, 3), "classes": 7, "classifier_activation": None}
NETWORKS = {
    "mobilenet": lambda **options: keras.applications.MobileNet(alpha=0.25, **options),
    "mobilenet-v2": lambda **options: keras.applications.MobileNetV2(alpha=0.35, **options),
    "resnet50": keras.applications.ResNet50,
}
EXPECTED = {
    ("mobilenet", True): {"input", "conv2d", "global_average_pool", "dense"},
    ("mobilenet", False): {"input", "conv2d"},
    ("mobilenet-v2", True): {"input", "conv2d", "global_average_pool", "dense"},
    ("mobilenet-v2", False): {"input", "conv2d"},
    ("resnet50", True): {"input", "conv2d", "zero_padding", "max_pool", "global_average_pool", "dense"},
}


def lively(model: keras.Model) -> keras.Model:
    """Set random statistics, and weights that keep values from vanishing or exploding."""
    rng = np.random.default_rng(0)
    for weight in model.weights:
        kind, shape = weight.path.rsplit("/", 1)[1], weight.shape
        if kind in ("gamma", "moving_variance"):
            weight.assign(rng.uniform(0.5, 1.5, shape))
        elif kind in ("beta", "moving_mean", "bias"):
            weight.assign(rng.normal(0, 0.3, shape))
        else:
            weight.assign(rng.normal(0, 1.5 / np.sqrt(np.prod(shape[:-1] if shape[-1] > 1 else shape[:-2])), shape))
    return model


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name, top", list(EXPECTED))
def test_published_architectures_compute_keras_outputs(name: str, top: bool) -> None:
    model = lively(NETWORKS[name](include_top=top, **OPTIONS))
    outputs = model(np.random.default_rng(1).uniform(-1, 1, (2, 32, 32, 3)), training=False)
    assert np.std(outputs[0] - outputs[1]) > 1e-2, "the comparison below would show nothing"
    graph = check_model(model, input_range=(-1, 1), fed=(-1.0, 1.0), tolerance=1e-4)
    assert {node.op for node in graph.nodes} == EXPECTED[name, top]


def test_the_head_of_mobilenet_with_its_softmax() -> None:
    model = lively(NETWORKS["mobilenet"](**{**OPTIONS, "classifier_activation": "softmax"}))
    graph = check_model(model, input_range=(-1, 1), fed=(-1.0, 1.0), tolerance=1e-4)
    assert [node.name for node in graph.nodes[-2:]] == [
        next(layer.name for layer in model.layers if isinstance(layer, keras.layers.GlobalAveragePooling2D)),
        "conv_preds",
    ]


def test_a_saved_file_with_the_layer_of_convnext(tmp_path: Path) -> None:
    image = keras.Input((6, 6, 3))
    scaled = convnext.LayerScale(0.5, 4)(keras.layers.Conv2D(4, 1)(image))
    keras.Model(image, scaled).save(tmp_path / "scaled.keras")
    assert [node.op for node in load(tmp_path / "scaled.keras").nodes] == ["input", "conv2d", "rescaling"]
