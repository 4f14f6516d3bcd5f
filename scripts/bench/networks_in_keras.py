#!/usr/bin/env python3
"""Create a network with Keras: ``networks_in_keras.py NAME FOLDER [SIZE]`` writes FOLDER/NAME.graph.

FOLDER/pictures.npz has uint8 (n, size, size, 3) images: batch norms get the statistics of ``calibration``. If it also
has ``test`` images, the network's outputs are written to FOLDER/NAME.npz. SIZE replaces the side in the name. NAME can
be a ``.keras`` file as well; its graph is FOLDER/STEM.graph. The network ``efficientnet-lite0`` takes its weights, with
PyTorch's names, from FOLDER/weights.npz.

``keras_graphs.run`` starts this script: TensorFlow and Mesa's LLVM cannot share a process
(glsl_infer/support/llvm_clash.py).
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # this checkout's packages, even with a wheel installed

import keras
import keras_graphs
import numpy as np
from keras import layers
from numpy.typing import NDArray

from glsl_infer.importers.keras import load, to_graph
from glsl_infer.importers.keras.reader import load_model
from training import imagenet
from training.batch_norm import Recalibrator

SIGNED, POSITIVE = (-1.0, 1.0), (0.0, 1.0)


def randomise_norms(model: keras.Model, pictures: NDArray[np.float32], seed: int, *, varied: bool = True) -> None:
    """Set the statistics of every batch norm to those of ``pictures``, (n, height, width, 3), scaled for the model.

    If ``varied`` is true, its factors and offsets are drawn first, to make channels as different as in a trained
    network.
    """
    rng = np.random.default_rng(seed)
    for layer in model.layers:
        if varied and isinstance(layer, keras.layers.BatchNormalization):
            channels = layer.gamma.shape
            layer.gamma.assign(rng.uniform(0.5, 2.5, channels))
            layer.beta.assign(rng.normal(0.0, 0.7, channels))
    Recalibrator(model, scale=1.0).recalibrate(pictures, len(pictures))


def application(name: str, size: int, **options: object) -> keras.Model:
    """Return a network of keras.applications with random weights and, if it has a head, logits as output."""
    shape = (size, size, 3)
    model: keras.Model = getattr(keras.applications, name)(
        weights=None, input_shape=shape, classifier_activation=None, **options
    )
    return model


def efficientnet_lite0(size: int) -> keras.Model:
    """Return EfficientNet-Lite0 for logits: EfficientNet-B0 without squeeze-and-excite, with ReLU6 for swish."""

    def normed(x: keras.KerasTensor, *, active: bool = True) -> keras.KerasTensor:
        x = layers.BatchNormalization(epsilon=1e-3)(x)
        return layers.ReLU(6.0)(x) if active else x

    def pointwise(x: keras.KerasTensor, filters: int, *, active: bool = True) -> keras.KerasTensor:
        return normed(layers.Conv2D(filters, 1, use_bias=False)(x), active=active)

    image = keras.Input((size, size, 3))
    x = normed(layers.Conv2D(32, 3, strides=2, padding="same", use_bias=False)(image))
    stages = [  # expansion, channels, blocks, stride, window
        (1, 16, 1, 1, 3),
        (6, 24, 2, 2, 3),
        (6, 40, 2, 2, 5),
        (6, 80, 3, 2, 3),
        (6, 112, 3, 1, 5),
        (6, 192, 4, 2, 5),
        (6, 320, 1, 1, 3),
    ]
    for expansion, channels, blocks, stride, window in stages:
        for block in range(blocks):
            y = pointwise(x, expansion * x.shape[-1]) if expansion > 1 else x
            step = stride if block == 0 else 1
            y = normed(layers.DepthwiseConv2D(window, strides=step, padding="same", use_bias=False)(y))
            y = pointwise(y, channels, active=False)
            x = layers.Add()([x, y]) if block else y
    x = layers.GlobalAveragePooling2D()(pointwise(x, 1280))
    return keras.Model(image, layers.Dense(1000)(x))


def squeezenet(size: int) -> keras.Model:
    """Return a network after SqueezeNet 1.1: eight fire modules, of which each squeezes and expands."""
    x = image = keras.Input((size, size, 3))
    x = layers.Conv2D(64, 3, strides=2, activation="relu")(x)
    x = layers.MaxPooling2D(3, 2)(x)
    for index, (squeezed, expanded) in enumerate(
        [(16, 64), (16, 64), (32, 128), (32, 128), (48, 192), (48, 192), (64, 256), (64, 256)]
    ):
        if index in (2, 4):
            x = layers.MaxPooling2D(3, 2)(x)
        x = layers.Conv2D(squeezed, 1, activation="relu")(x)
        sides = [layers.Conv2D(expanded, side, padding="same", activation="relu")(x) for side in (1, 3)]
        x = layers.Concatenate()(sides)
    x = layers.GlobalAveragePooling2D()(layers.Conv2D(1000, 1, activation="relu")(x))
    return keras.Model(image, layers.Dense(10)(x))


def resnet20(size: int) -> keras.Model:
    """Return the residual network of 20 layers for CIFAR."""

    def convolution(x: keras.KerasTensor, filters: int, stride: int = 1, side: int = 3) -> keras.KerasTensor:
        return layers.BatchNormalization()(layers.Conv2D(filters, side, strides=stride, padding="same")(x))

    image = keras.Input((size, size, 3))
    x = layers.ReLU()(convolution(image, 16))
    for filters in (16, 32, 64):
        for unit in range(3):
            stride = 2 if unit == 0 and filters > 16 else 1
            y = convolution(layers.ReLU()(convolution(x, filters, stride)), filters)
            x = x if stride == 1 else convolution(x, filters, stride, 1)
            x = layers.ReLU()(layers.Add()([x, y]))
    return keras.Model(image, layers.Dense(10)(layers.GlobalAveragePooling2D()(x)))


def unet(size: int) -> keras.Model:
    """Return a U-Net of 16 to 128 channels."""

    def twice(x: keras.KerasTensor, filters: int) -> keras.KerasTensor:
        for _ in range(2):
            x = layers.Conv2D(filters, 3, padding="same", activation="relu")(x)
        return x

    x = image = keras.Input((size, size, 3))
    skips = []
    for filters in (16, 32, 64):
        x = twice(x, filters)
        skips.append(x)
        x = layers.MaxPooling2D(2)(x)
    x = twice(x, 128)
    for filters in (64, 32, 16):
        x = twice(layers.Concatenate()([layers.UpSampling2D(2)(x), skips.pop()]), filters)
    return keras.Model(image, layers.Conv2D(1, 1, activation="sigmoid")(x))


def srcnn(size: int) -> keras.Model:
    """Return SRCNN 9-5-5, with 64 and 32 channels."""
    image = keras.Input((size, size, 3))
    x = layers.Conv2D(64, 9, padding="same", activation="relu")(image)
    x = layers.Conv2D(32, 5, padding="same", activation="relu")(x)
    return keras.Model(image, layers.Conv2D(3, 5, padding="same", activation="sigmoid")(x))


@dataclass(frozen=True)
class Network:
    """A network with random weights.

    Attributes:
        build: function from the side of its image in pixels to the model.
        ends: the values of bytes 0 and 255. ImageNet's means are not subtracted, because weights are random.
        varied, seed: see ``randomise_norms``.
    """

    build: Callable[[int], keras.Model]
    ends: tuple[float, float]
    varied: bool = False
    seed: int = 21


def _application(name: str, **options: object) -> Network:
    return Network(lambda size: application(name, size, **options), SIGNED)


NETWORKS = {
    "mobilenet-0.25-128": _application("MobileNet", alpha=0.25),
    "mobilenet-1.0-224": _application("MobileNet", alpha=1.0),
    "mobilenet-v2-224": _application("MobileNetV2"),
    "squeezenet-224": Network(squeezenet, POSITIVE),
    "resnet20-32": Network(resnet20, POSITIVE),
    "unet-128": Network(unet, POSITIVE),
    "srcnn-96": Network(srcnn, POSITIVE),
    "efficientnet-lite0-224": Network(efficientnet_lite0, SIGNED),
    "inception-v3-299": _application("InceptionV3"),
    "resnet50-224": _application("ResNet50"),
    "resnet50-v2-224": _application("ResNet50V2"),
    "densenet121-224": _application("DenseNet121"),
    "densenet169-224": _application("DenseNet169"),
    "densenet201-224": _application("DenseNet201"),
    "vgg16-224": _application("VGG16", include_top=False),
    "vgg19-224": _application("VGG19", include_top=False),
    "mobilenet-varied-64": Network(
        lambda size: application("MobileNet", size, alpha=0.25, classes=120), SIGNED, True, 25
    ),
    "mobilenet-v2-0.35-96": Network(lambda size: application("MobileNetV2", size, alpha=0.35), SIGNED, True, 35),
}


def create(name: str, size: int, pictures: NDArray[np.uint8]) -> keras.Model:
    """Return a network of ``NETWORKS``, with the batch norm statistics of uint8 images (n, size, size, 3)."""
    network = NETWORKS[name]
    keras.utils.set_random_seed(network.seed)
    model = network.build(size)
    if any(isinstance(layer, layers.BatchNormalization) for layer in model.layers):
        randomise_norms(model, scaled(pictures, network.ends), network.seed, varied=network.varied)
    return model


def scaled(pictures: NDArray[np.uint8], bounds: tuple[float, float]) -> NDArray[np.float32]:
    """Return bytes as the values of a network's input, of which ``bounds`` are those of 0 and 255."""
    low, high = bounds
    return pictures.astype(np.float32) / np.float32(255.0) * np.float32(high - low) + np.float32(low)


def main() -> int:
    """Write the graph, and the outputs; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split(":")[0], allow_abbrev=False)
    parser.add_argument("network", metavar="NAME", help=f"a .keras file, efficientnet-lite0, {', '.join(NETWORKS)}")
    parser.add_argument("folder", type=Path)
    parser.add_argument("size", type=int, nargs="?")
    args = parser.parse_args()
    name, bounds = args.network, POSITIVE
    arrays = {}
    if (args.folder / "pictures.npz").exists():
        with np.load(args.folder / "pictures.npz") as saved:
            arrays = dict(saved)
    if name.endswith(".keras"):
        model, graph = load_model(name), load(Path(name))
        name = Path(name).stem
    elif name == "efficientnet-lite0":
        with np.load(args.folder / "weights.npz") as saved:
            model = imagenet.with_weights(0, dict(saved))
        graph = to_graph(model)
    else:
        bounds = NETWORKS[name].ends
        model = create(name, args.size or int(name.rpartition("-")[2]), arrays["calibration"])
        graph = to_graph(model, bounds)
    keras_graphs.write(graph, args.folder / f"{name}.graph")
    if "test" in arrays:
        outputs = np.asarray(model.predict(scaled(arrays["test"], bounds), batch_size=1, verbose=0))
        np.savez(args.folder / f"{name}.npz", outputs=outputs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
