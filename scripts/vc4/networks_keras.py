#!/usr/bin/env python3
"""Keras' part of networks.py: ``networks_keras.py NAME FOLDER [SIZE]`` writes FOLDER/NAME.graph.

FOLDER/pictures.npz has uint8 (n, size, size, 3) ``pictures``; batch norms get their statistics. If it also has ``test``
images, the network's ``outputs`` for them are written to FOLDER/NAME.npz. SIZE replaces the side in the name.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import graph_file
import keras
import numpy as np
from accuracy_keras import randomise_norms
from keras import layers

from glsl_infer.importers.keras import to_graph

SIGNED, POSITIVE = (-1.0, 1.0), (0.0, 1.0)


def mobilenet(size: int, alpha: float) -> keras.Model:
    """Return MobileNet v1 for logits."""
    shape = (size, size, 3)
    return keras.applications.MobileNet(weights=None, alpha=alpha, input_shape=shape, classifier_activation=None)


def mobilenet_v2(size: int) -> keras.Model:
    """Return MobileNet v2 for logits."""
    return keras.applications.MobileNetV2(weights=None, input_shape=(size, size, 3), classifier_activation=None)


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
    for number, (squeezed, expanded) in enumerate(
        [(16, 64), (16, 64), (32, 128), (32, 128), (48, 192), (48, 192), (64, 256), (64, 256)]
    ):
        if number in (2, 4):
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
    kept = []
    for filters in (16, 32, 64):
        x = twice(x, filters)
        kept.append(x)
        x = layers.MaxPooling2D(2)(x)
    x = twice(x, 128)
    for filters in (64, 32, 16):
        x = twice(layers.Concatenate()([layers.UpSampling2D(2)(x), kept.pop()]), filters)
    return keras.Model(image, layers.Conv2D(1, 1, activation="sigmoid")(x))


def srcnn(size: int) -> keras.Model:
    """Return SRCNN 9-5-5, with 64 and 32 channels."""
    image = keras.Input((size, size, 3))
    x = layers.Conv2D(64, 9, padding="same", activation="relu")(image)
    x = layers.Conv2D(32, 5, padding="same", activation="relu")(x)
    return keras.Model(image, layers.Conv2D(3, 5, padding="same", activation="sigmoid")(x))


NETWORKS = {
    "mobilenet-0.25-128": (lambda size: mobilenet(size, 0.25), SIGNED),
    "mobilenet-1.0-224": (lambda size: mobilenet(size, 1.0), SIGNED),
    "mobilenet-v2-224": (mobilenet_v2, SIGNED),
    "squeezenet-224": (squeezenet, POSITIVE),
    "resnet20-32": (resnet20, POSITIVE),
    "unet-128": (unet, POSITIVE),
    "srcnn-96": (srcnn, POSITIVE),
    "efficientnet-lite0-224": (efficientnet_lite0, SIGNED),
    "inception-v3-299": (lambda size: application("InceptionV3", size), SIGNED),
    "resnet50-224": (lambda size: application("ResNet50", size), SIGNED),
    "resnet50-v2-224": (lambda size: application("ResNet50V2", size), SIGNED),
    "densenet121-224": (lambda size: application("DenseNet121", size), SIGNED),
    "densenet169-224": (lambda size: application("DenseNet169", size), SIGNED),
    "densenet201-224": (lambda size: application("DenseNet201", size), SIGNED),
    "vgg16-224": (lambda size: application("VGG16", size, include_top=False), SIGNED),
    "vgg19-224": (lambda size: application("VGG19", size, include_top=False), SIGNED),
}
"""Builders, and the values of bytes 0 and 255. ImageNet's means are not subtracted, because weights are random."""


def main() -> None:
    """Write the graph, and the outputs."""
    name, folder = sys.argv[1], Path(sys.argv[2])
    size = int(sys.argv[3] if len(sys.argv) > 3 else name.rpartition("-")[2])
    make, (low, high) = NETWORKS[name]
    keras.utils.set_random_seed(21)
    with np.load(folder / "pictures.npz") as saved:
        given = {key: saved[key].astype(np.float32) / np.float32(255.0) for key in saved.files}
    given = {key: values * np.float32(high - low) + np.float32(low) for key, values in given.items()}
    model = make(size)
    if any(isinstance(layer, layers.BatchNormalization) for layer in model.layers):
        randomise_norms(model, given["pictures"], 21, varied=False)
    graph_file.write(to_graph(model, (low, high)), folder / f"{name}.graph")
    if "test" in given:
        np.savez(folder / f"{name}.npz", outputs=np.asarray(model.predict(given["test"], batch_size=1, verbose=0)))


if __name__ == "__main__":
    main()
